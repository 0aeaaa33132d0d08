package dispatch

import (
	"context"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

func (l *lease) leases() coordinationclient.LeaseInterface {
	return l.cluster.Kubernetes().CoordinationV1().Leases(l.origin.Namespace)
}

func (l *lease) get(ctx context.Context) (*coordinationv1.Lease, error) {
	found, err := l.leases().Get(ctx, l.name(), metav1.GetOptions{})
	return found, l.cluster.Checked(err, leaseResource(), l.name())
}

func leaseResource() schema.GroupVersionResource {
	return coordinationv1.SchemeGroupVersion.WithResource("leases")
}

// isGone reports whether the error of an API server means that the Lease does not exist.
func (l *lease) isGone(err error) bool {
	return kubecontext.IsGone(err, leaseResource().GroupResource(), l.name())
}

// targetOf returns the place of the mirror that a Lease names; zero if it names none.
func targetOf(found *coordinationv1.Lease) delegation.Place {
	target, _ := delegation.ParsePlace(found.Annotations[delegation.TargetAnnotation])
	return target
}

// checkTarget returns a *TargetError if another dispatcher has started with another target that
// was not searched.
func (l *lease) checkTarget(found *coordinationv1.Lease) error {
	target := targetOf(found)
	isSame := target.Namespace == l.target.Namespace && target.Name == l.target.Name && target.On(l.worker) == delegation.CertainlySame
	if target.IsZero() || isSame || l.isFound || slices.Contains(l.cleared, target) || holderOf(found) == l.identity {
		return nil
	}
	return &TargetError{Lease: found.Namespace + "/" + found.Name, Target: target}
}

// mark adds our label and the target to a Lease of ours.
func (l *lease) mark(o *metav1.ObjectMeta) {
	metav1.SetMetaDataLabel(o, delegation.OriginUIDLabel, l.origin.UID)
	if !l.target.IsZero() {
		metav1.SetMetaDataAnnotation(o, delegation.TargetAnnotation, l.target.String())
	}
}

// isOurs reports whether a Lease belongs to our origin, and not to another one with the same
// name.
func (l *lease) isOurs(found *coordinationv1.Lease) bool {
	uid := found.Labels[delegation.OriginUIDLabel]
	return uid == l.origin.UID || uid == ""
}

// originExists asks the server whether our origin exists. It returns false only if its absence
// is proven.
func (l *lease) originExists(ctx context.Context) (bool, error) {
	live, err := l.cluster.Get(ctx, l.kind.Resource, l.origin.Namespace, l.origin.Name)
	if err != nil || live != nil && string(live.GetUID()) == l.origin.UID {
		return err == nil, err
	}
	return false, l.cluster.ProveGone(ctx, l.kind.Resource, l.origin.Namespace, l.origin.Name, l.origin.UID)
}

// create creates the Lease, with its origin as the owner.
func (l *lease) create(ctx context.Context, spec coordinationv1.LeaseSpec) (*coordinationv1.Lease, error) {
	desired := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name: l.name(), Namespace: l.origin.Namespace,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: l.origin.APIVersion, Kind: l.origin.Kind, Name: l.origin.Name, UID: originUID(l.origin)}},
		},
		Spec: spec,
	}
	l.mark(&desired.ObjectMeta)
	created, err := l.leases().Create(ctx, desired, metav1.CreateOptions{FieldManager: fleet.FieldManager})
	return created, l.cluster.Checked(err, leaseResource(), "")
}

// delete deletes the Lease if it is unchanged.
func (l *lease) delete(ctx context.Context, found *coordinationv1.Lease) error {
	err := l.leases().Delete(ctx, l.name(), metav1.DeleteOptions{Preconditions: fleet.IsAs(found)})
	return l.cluster.Checked(err, leaseResource(), l.name())
}

// confirm asks the server whether we hold the Lease now. Earlier knowledge may be outdated: a
// suspended process can outlive its Lease.
func (l *lease) confirm(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, fleet.RequestTimeout)
	defer cancel()
	found, err := l.get(ctx)
	if err != nil {
		return l.cluster.Failed(err)
	}
	if !l.isOurs(found) || holderOf(found) != l.identity {
		l.heldByOther.Store(true)
		return conflict(l.kind, l.origin.Name)
	}
	switch target := targetOf(found); {
	case l.target.IsZero(), target == l.target:
		return nil
	case !target.IsZero() && !slices.Contains(l.cleared, target):
		return &TargetError{Lease: found.Namespace + "/" + found.Name, Target: target}
	}
	// The target annotation was removed. Without it, no dispatcher would know where to search.
	l.mark(&found.ObjectMeta)
	_, err = l.leases().Update(ctx, found, metav1.UpdateOptions{FieldManager: fleet.FieldManager})
	return l.cluster.Failed(err)
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
