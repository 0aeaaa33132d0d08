package dispatch

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// leaseStore reads and writes the Lease of an origin, regardless of its holder.
type leaseStore struct {
	cluster *fleet.Cluster
	kind    delegation.Kind
	origin  Ref
}

func (s *leaseStore) name() string { return s.kind.LeaseName(s.origin.Name) }

func (s *leaseStore) leases() coordinationclient.LeaseInterface {
	return s.cluster.Kubernetes().CoordinationV1().Leases(s.origin.Namespace)
}

func leaseResource() schema.GroupVersionResource {
	return coordinationv1.SchemeGroupVersion.WithResource("leases")
}

func (s *leaseStore) get(ctx context.Context) (*coordinationv1.Lease, error) {
	ctx, cancel := fleet.WithRequestTimeout(ctx)
	defer cancel()
	found, err := s.leases().Get(ctx, s.name(), metav1.GetOptions{})
	return found, s.cluster.Checked(err, leaseResource(), s.name())
}

// find returns the Lease of our origin, nil if it does not exist.
func (s *leaseStore) find(ctx context.Context) (*coordinationv1.Lease, error) {
	found, err := s.get(ctx)
	if s.isGone(err) || err == nil && !s.isOurs(found) {
		return nil, nil
	}
	return found, err
}

// isGone reports whether the error of an API server means that the Lease does not exist.
func (s *leaseStore) isGone(err error) bool {
	return kubecontext.IsGone(err, leaseResource().GroupResource(), s.name())
}

// isOurs reports whether a Lease belongs to our origin, and not to another one with the same
// name.
func (s *leaseStore) isOurs(found *coordinationv1.Lease) bool {
	return delegation.IsLeaseOf(s.origin.UID, found.Labels[delegation.OriginUIDLabel])
}

// originExists asks the server whether our origin exists. It returns false only if its absence
// is proven.
func (s *leaseStore) originExists(ctx context.Context) (bool, error) {
	live, err := s.cluster.Get(ctx, s.kind.Resource, s.origin.Namespace, s.origin.Name)
	if err != nil || live != nil && string(live.GetUID()) == s.origin.UID {
		return err == nil, err
	}
	return false, s.cluster.ProveGone(ctx, s.kind.Resource, s.origin.Namespace, s.origin.Name, s.origin.UID)
}

// mark adds our label and a target to a Lease of ours. The zero target means none.
func (s *leaseStore) mark(o *metav1.ObjectMeta, target delegation.Place) {
	metav1.SetMetaDataLabel(o, delegation.OriginUIDLabel, s.origin.UID)
	if !target.IsZero() {
		metav1.SetMetaDataAnnotation(o, delegation.TargetAnnotation, target.String())
	}
}

// create creates the Lease with our marks, and with its origin as the owner.
func (s *leaseStore) create(ctx context.Context, spec coordinationv1.LeaseSpec, target delegation.Place) (*coordinationv1.Lease, error) {
	desired := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name: s.name(), Namespace: s.origin.Namespace,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: s.origin.APIVersion, Kind: s.origin.Kind, Name: s.origin.Name, UID: originUID(s.origin)}},
		},
		Spec: spec,
	}
	s.mark(&desired.ObjectMeta, target)
	ctx, cancel := fleet.WithRequestTimeout(ctx)
	defer cancel()
	created, err := s.leases().Create(ctx, desired, metav1.CreateOptions{FieldManager: fleet.FieldManager})
	return created, s.cluster.Checked(err, leaseResource(), "")
}

// update writes the Lease if it is unchanged. While the Lease is acquired, the elector sets no
// time limit.
func (s *leaseStore) update(ctx context.Context, next *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	ctx, cancel := fleet.WithRequestTimeout(ctx)
	defer cancel()
	written, err := s.leases().Update(ctx, next, metav1.UpdateOptions{FieldManager: fleet.FieldManager})
	return written, s.cluster.Checked(err, leaseResource(), s.name())
}

// delete deletes the Lease if it is unchanged.
func (s *leaseStore) delete(ctx context.Context, found *coordinationv1.Lease) error {
	ctx, cancel := fleet.WithRequestTimeout(ctx)
	defer cancel()
	err := s.leases().Delete(ctx, s.name(), metav1.DeleteOptions{Preconditions: fleet.IsAs(found)})
	return s.cluster.Checked(err, leaseResource(), s.name())
}

// removeUnheld deletes the Lease of an origin that needs no more copying, unless a dispatcher that may be
// alive holds it: then it returns that holder, which deletes the Lease itself.
func (s *leaseStore) removeUnheld(ctx context.Context, c clock.PassiveClock) (holder string, err error) {
	err = retryRemoval(ctx, func(ctx context.Context) error {
		holder, err = s.removeUnless(ctx, func(found *coordinationv1.Lease) bool { return s.isHeld(found, c.Now()) })
		return err
	})
	return holder, err
}

// removeUnless deletes the Lease as it was read, unless isHeld reports that another dispatcher has it.
// Then it returns the holder.
func (s *leaseStore) removeUnless(ctx context.Context, isHeld func(*coordinationv1.Lease) bool) (holder string, err error) {
	found, err := s.get(ctx)
	if err == nil && s.isOurs(found) {
		if isHeld(found) {
			return holderOf(found), nil
		}
		err = s.delete(ctx, found)
	}
	if s.isGone(err) {
		return "", nil
	}
	return "", err
}

// retryRemoval retries the removal of a Lease after errors that may pass, because no other client would
// delete it later. Each try has the time limit of a request.
func retryRemoval(ctx context.Context, remove func(context.Context) error) error {
	var failed error
	// Six seconds in total, plus the time of the requests.
	tries := wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Steps: 6}
	err := wait.ExponentialBackoffWithContext(ctx, tries, func(ctx context.Context) (bool, error) {
		bounded, cancel := context.WithTimeout(ctx, fleet.RequestTimeout)
		defer cancel()
		failed = remove(bounded)
		return failed == nil || !mayPass(failed), nil
	})
	if failed == nil && err != nil {
		return err
	}
	return failed
}
