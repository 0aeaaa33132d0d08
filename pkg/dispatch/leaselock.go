package dispatch

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// leaseLock is what the elector reads and writes the Lease by. It sees what that
// tells nobody: who else holds it, when it was renewed, and what fails.
type leaseLock struct {
	*resourcelock.LeaseLock
	lease *lease
	tell  leaseEvents
}

func (l *lease) lock(tell leaseEvents) *leaseLock {
	return &leaseLock{lease: l, tell: tell, LeaseLock: &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: l.origin.Namespace, Name: l.name()},
		Client:     l.side.Client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: l.identity},
		Labels:     map[string]string{delegation.OriginUIDLabel: l.origin.UID},
	}}
}

// Get reads the Lease.
func (k *leaseLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := k.LeaseLock.Get(ctx)
	if err == nil {
		k.lease.foreign.Store(record.HolderIdentity != "" && record.HolderIdentity != k.lease.identity)
	}
	k.failed(ctx, err)
	return record, raw, err
}

// Create creates the Lease, if somebody has deleted it.
func (k *leaseLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return k.wrote(ctx, record, k.LeaseLock.Create(ctx, record))
}

// Update takes the Lease, renews it, or gives it back.
func (k *leaseLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return k.wrote(ctx, record, k.LeaseLock.Update(ctx, record))
}

func (k *leaseLock) wrote(ctx context.Context, record resourcelock.LeaderElectionRecord, err error) error {
	if err != nil {
		k.failed(ctx, err)
		return err
	}
	late := k.lease.leading.Load() && !k.lease.held()
	// One that is given back is nobody's, and may be anybody's.
	k.lease.foreign.Store(record.HolderIdentity != k.lease.identity)
	k.lease.renewed.Store(k.lease.clock.Now().UnixNano())
	if late && record.HolderIdentity == k.lease.identity {
		k.tell.again()
	}
	return nil
}

// failed tells of errors that are not part of how Leases are contended for.
func (k *leaseLock) failed(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil || apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) {
		return
	}
	k.tell.failed(err)
}

func (l *lease) heldBy(found *coordinationv1.Lease) *HeldError {
	e := &HeldError{Lease: found.Namespace + "/" + found.Name, Holder: holderOf(found), Within: durationOf(found)}
	if found.Spec.AcquireTime != nil {
		e.Since = found.Spec.AcquireTime.Time
		e.Ago = l.clock.Since(e.Since)
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
