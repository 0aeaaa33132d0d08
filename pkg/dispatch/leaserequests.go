package dispatch

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

func (l *lease) leases() coordinationclient.LeaseInterface {
	return l.cluster.Kubernetes().CoordinationV1().Leases(l.origin.Namespace)
}

func (l *lease) get(ctx context.Context) (*coordinationv1.Lease, error) {
	return l.leases().Get(ctx, l.name(), metav1.GetOptions{})
}

// isOurs says whether a Lease is for our origin, and not for another one that has, or
// had, its name.
func (l *lease) isOurs(found *coordinationv1.Lease) bool {
	uid := found.Labels[delegation.OriginUIDLabel]
	return uid == l.origin.UID || uid == ""
}

// isOriginThere asks the server whether our origin is there, and no other has its
// name.
func (l *lease) isOriginThere(ctx context.Context) (bool, error) {
	live, err := l.cluster.Get(ctx, l.kind.Resource, l.origin.Namespace, l.origin.Name)
	return live != nil && string(live.GetUID()) == l.origin.UID, err
}

// create creates the Lease, with its origin as the owner.
func (l *lease) create(ctx context.Context, spec coordinationv1.LeaseSpec) (*coordinationv1.Lease, error) {
	return l.leases().Create(ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name: l.name(), Namespace: l.origin.Namespace,
			Labels:          map[string]string{delegation.OriginUIDLabel: l.origin.UID},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: l.origin.APIVersion, Kind: l.origin.Kind, Name: l.origin.Name, UID: originUID(l.origin)}},
		},
		Spec: spec,
	}, metav1.CreateOptions{FieldManager: fleet.FieldManager})
}

// delete deletes the Lease as it was found, and no other.
func (l *lease) delete(ctx context.Context, found *coordinationv1.Lease) error {
	return l.leases().Delete(ctx, l.name(), metav1.DeleteOptions{Preconditions: fleet.IsAs(found)})
}

// confirm asks the server whether the Lease is held by us now. What was known of it
// may be old: a process can stand still, and the time it was held for be over.
func (l *lease) confirm(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, fleet.RequestTimeout)
	defer cancel()
	found, err := l.get(ctx)
	if err != nil {
		return l.cluster.Failed(err)
	}
	if !l.isOurs(found) || holderOf(found) != l.identity {
		l.foreign.Store(true)
		return conflict(l.kind, l.origin.Name)
	}
	return nil
}

func heldBy(found *coordinationv1.Lease) *HeldError {
	e := &HeldError{Lease: found.Namespace + "/" + found.Name, Holder: holderOf(found), Within: durationOf(found)}
	if found.Spec.AcquireTime != nil {
		e.Since = found.Spec.AcquireTime.Time
		if found.Spec.RenewTime != nil {
			e.For = max(0, found.Spec.RenewTime.Sub(e.Since))
		}
	}
	return e
}

func holderOf(l *coordinationv1.Lease) string {
	if l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

func durationOf(l *coordinationv1.Lease) time.Duration {
	if l.Spec.LeaseDurationSeconds == nil {
		return 0
	}
	return time.Duration(*l.Spec.LeaseDurationSeconds) * time.Second
}
