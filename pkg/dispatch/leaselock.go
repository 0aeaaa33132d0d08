package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// leaseLock is the elector's access to the Lease. client-go's own lock would take any Lease of
// that name, recreate one for an origin that is gone, and release one that another dispatcher
// holds. It also does not report who holds the Lease, when it was renewed, and which requests
// fail.
type leaseLock struct {
	lease  *lease
	events leaseEvents
	// stop ends the election. isOriginGone is whether the reason is that the origin is gone.
	stop         func()
	isOriginGone bool
	// otherTarget is another reason: the Lease names a target that was not searched.
	otherTarget error
	// found is the Lease as last read or written. isRead is whether it was read right before the
	// election, so that the first Get needs no request. Writes name its resource version, and
	// fail if it is outdated.
	found  *coordinationv1.Lease
	isRead bool
}

// errRemoving keeps the elector from releasing a Lease that will be deleted.
var errRemoving = errors.New("the Lease is removed")

// Get reads the Lease. It ends the election if the Lease belongs to another Job of the same name.
func (k *leaseLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	if k.lease.removing.Load() {
		return nil, nil, errRemoving
	}
	limited, cancel := k.limit(ctx)
	defer cancel()
	found, err := k.read(limited)
	if err == nil && !k.lease.isOurs(found) {
		k.lease.heldByOther.Store(true)
		k.stop()
		err = conflict(k.lease.kind, k.lease.origin.Name)
	}
	if err == nil && holderOf(found) == "" {
		if k.otherTarget = k.lease.checkTarget(found); k.otherTarget != nil {
			k.lease.heldByOther.Store(true)
			k.stop()
			return nil, nil, k.otherTarget
		}
	}
	if err != nil {
		k.failed(ctx, err)
		return nil, nil, err
	}
	k.found = found
	record := resourcelock.LeaseSpecToLeaderElectionRecord(&found.Spec)
	raw, err := json.Marshal(record)
	if err != nil {
		return nil, nil, err
	}
	isForeign := record.HolderIdentity != "" && record.HolderIdentity != k.lease.identity
	k.lease.heldByOther.Store(isForeign)
	if isForeign {
		// The elector would try to renew it until its deadline.
		k.stop()
	}
	return record, raw, nil
}

// limit returns a context for one request of the elector. If the Lease names us, it leaves time for a second request
// before the deadline, so that one without an answer does not cost the Lease. client-go's own lock has the same limit
// (client-go: tools/leaderelection/resourcelock/interface.go, NewFromKubeconfig). The flag leading does not say so: the
// elector starts to renew before it is set.
func (k *leaseLock) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if k.found == nil || holderOf(k.found) != k.lease.identity {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, k.lease.timing.deadline/2)
}

func (k *leaseLock) read(ctx context.Context) (*coordinationv1.Lease, error) {
	if !k.isRead {
		return k.lease.get(ctx)
	}
	k.isRead = false
	if k.found == nil {
		return nil, apierrors.NewNotFound(coordinationv1.Resource("leases"), k.lease.name())
	}
	return k.found, nil
}

// Create recreates a deleted Lease if the origin still exists. A user may delete a held Lease
// because of another Job of that name.
func (k *leaseLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	exists, err := k.lease.originExists(ctx)
	if err == nil && !exists {
		k.lease.heldByOther.Store(true)
		k.isOriginGone = true
		k.stop()
		return errOriginGone
	}
	var created *coordinationv1.Lease
	sentAt := k.lease.clock.Now()
	if err == nil {
		created, err = k.lease.create(ctx, resourcelock.LeaderElectionRecordToLeaseSpec(&record), k.lease.target)
	}
	return k.recordWrite(ctx, record, sentAt, created, err)
}

// Update takes, renews or releases the Lease. It does not release a Lease that another dispatcher
// holds by now.
func (k *leaseLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if k.found == nil {
		return errors.New("the Lease was not read so far")
	}
	if record.HolderIdentity == "" && (holderOf(k.found) != k.lease.identity || k.lease.unreleased.Load()) {
		return nil
	}
	if record.HolderIdentity == holderOf(k.found) && k.lease.isNew() {
		// The elector renews the Lease immediately after taking it. Skipping this write is safe:
		// held depends on the recorded time of the last write.
		return nil
	}
	next := k.found.DeepCopy()
	next.Spec = resourcelock.LeaderElectionRecordToLeaseSpec(&record)
	k.lease.mark(&next.ObjectMeta, k.lease.target)
	limited := ctx
	if record.HolderIdentity != "" {
		var cancel context.CancelFunc
		limited, cancel = k.limit(ctx)
		defer cancel()
	}
	sentAt := k.lease.clock.Now()
	written, err := k.lease.update(limited, next)
	return k.recordWrite(ctx, record, sentAt, written, err)
}

// RecordEvent does nothing. We record our own events.
func (k *leaseLock) RecordEvent(string) {}

// Identity returns our identity as a holder.
func (k *leaseLock) Identity() string { return k.lease.identity }

// Describe returns the namespace and the name of the Lease.
func (k *leaseLock) Describe() string { return k.lease.origin.Namespace + "/" + k.lease.name() }

// recordWrite records the result of writing a record. sentAt is when the request was sent.
func (k *leaseLock) recordWrite(ctx context.Context, record resourcelock.LeaderElectionRecord, sentAt time.Time, written *coordinationv1.Lease, err error) error {
	if err != nil {
		k.failed(ctx, err)
		return err
	}
	k.found = written
	k.lease.unauthorized = false
	k.lease.lastWritten.Store(written)
	late := k.lease.leading.Load() && !k.lease.held()
	// A released Lease is free for any other dispatcher.
	k.lease.heldByOther.Store(record.HolderIdentity != k.lease.identity)
	k.lease.renewed.Store(&sentAt)
	if late && record.HolderIdentity == k.lease.identity {
		k.events.renewedLate()
	}
	return nil
}

// failed reports errors, except those that competing for a Lease always produces.
func (k *leaseLock) failed(ctx context.Context, err error) {
	if ctx.Err() != nil || apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) || k.lease.unauthorized.mayPass(err) {
		return
	}
	k.events.failed(err)
}

// targetOf returns the place of the mirror that a Lease names; zero if it names none.
func targetOf(found *coordinationv1.Lease) delegation.Place {
	return delegation.TargetIn(found.Annotations)
}

// checkTarget returns a *targetError if another dispatcher has started with another target that
// was not searched.
func (l *lease) checkTarget(found *coordinationv1.Lease) error {
	target := targetOf(found)
	isSame := target.Namespace == l.target.Namespace && target.Name == l.target.Name && target.On(l.worker) == delegation.CertainlySame
	if target.IsZero() || isSame || l.isFound || slices.Contains(l.cleared, target) || holderOf(found) == l.identity {
		return nil
	}
	return &targetError{Lease: found.Namespace + "/" + found.Name, Target: target}
}

// confirm asks the server whether we hold the Lease now. Earlier knowledge may be outdated: a
// suspended process can outlive its Lease.
func (l *lease) confirm(ctx context.Context) error {
	ctx, cancel := fleet.WithRequestTimeout(ctx)
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
		return &targetError{Lease: found.Namespace + "/" + found.Name, Target: target}
	}
	// The target annotation was removed. Without it, no dispatcher would know where to search.
	l.mark(&found.ObjectMeta, l.target)
	_, err = l.update(ctx, found)
	return l.cluster.Failed(err)
}
