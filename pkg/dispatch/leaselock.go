package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// leaseLock is what the elector reads and writes the Lease by. client-go's own would
// take any Lease of that name, make one anew for an origin that is gone, and give back
// one that somebody else holds; nor does it tell who holds it, when it was renewed,
// and what fails.
type leaseLock struct {
	lease *lease
	tell  leaseEvents
	// stop ends the election. isOriginGone is why, if that is so.
	stop         func()
	isOriginGone bool
	// elsewhere is another reason: the Lease names a target that was not searched.
	elsewhere error
	// found is the Lease as it was read or written last. isRead is whether that was right
	// before the election, so that it need not be read again: what is written says which
	// state of it is meant, and is refused if that is over.
	found  *coordinationv1.Lease
	isRead bool
}

// errRemoving is why a Lease is not given back.
var errRemoving = errors.New("the Lease is removed")

// Get reads the Lease. One that is for another Job of the same name ends the election.
func (k *leaseLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	if k.lease.removing.Load() {
		return nil, nil, errRemoving
	}
	found, err := k.read(ctx)
	if err == nil && !k.lease.isOurs(found) {
		k.lease.foreign.Store(true)
		k.stop()
		err = conflict(k.lease.kind, k.lease.origin.Name)
	}
	if err == nil && holderOf(found) == "" {
		if k.elsewhere = k.lease.checkTarget(found); k.elsewhere != nil {
			k.lease.foreign.Store(true)
			k.stop()
			return nil, nil, k.elsewhere
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
	k.lease.foreign.Store(isForeign)
	if isForeign {
		// The elector would try to renew it until its deadline.
		k.stop()
	}
	return record, raw, nil
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

// Create creates the Lease, if somebody has deleted it, and the origin is still there:
// whoever deletes one that is held may do so for another Job of that name.
func (k *leaseLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	isThere, err := k.lease.isOriginThere(ctx)
	if err == nil && !isThere {
		k.lease.foreign.Store(true)
		k.isOriginGone = true
		k.stop()
		return errOriginGone
	}
	var created *coordinationv1.Lease
	asked := k.lease.clock.Now()
	if err == nil {
		created, err = k.lease.create(ctx, resourcelock.LeaderElectionRecordToLeaseSpec(&record))
	}
	return k.wrote(ctx, record, asked, created, err)
}

// Update takes the Lease, renews it, or gives it back: but one that somebody else
// holds by now is theirs.
func (k *leaseLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if k.found == nil {
		return errors.New("the Lease was not read so far")
	}
	if record.HolderIdentity == "" && (holderOf(k.found) != k.lease.identity || k.lease.unreleased.Load()) {
		return nil
	}
	if record.HolderIdentity == holderOf(k.found) && k.lease.isNew() {
		// The elector renews what it has taken at once. That it was not is what held goes by.
		return nil
	}
	next := k.found.DeepCopy()
	next.Spec = resourcelock.LeaderElectionRecordToLeaseSpec(&record)
	k.lease.mark(&next.ObjectMeta)
	asked := k.lease.clock.Now()
	written, err := k.lease.leases().Update(ctx, next, metav1.UpdateOptions{FieldManager: fleet.FieldManager})
	return k.wrote(ctx, record, asked, written, err)
}

// RecordEvent records nothing: what happens is told in events of our own.
func (k *leaseLock) RecordEvent(string) {}

// Identity is who holds the Lease where we do.
func (k *leaseLock) Identity() string { return k.lease.identity }

// Describe names the Lease.
func (k *leaseLock) Describe() string { return k.lease.origin.Namespace + "/" + k.lease.name() }

// wrote notes what became of a record that was asked to be written at a time.
func (k *leaseLock) wrote(ctx context.Context, record resourcelock.LeaderElectionRecord, asked time.Time, written *coordinationv1.Lease, err error) error {
	if err != nil {
		k.failed(ctx, err)
		return err
	}
	k.found = written
	k.lease.refused = false
	k.lease.last.Store(written)
	late := k.lease.leading.Load() && !k.lease.held()
	// One that is given back is nobody's, and may be anybody's.
	k.lease.foreign.Store(record.HolderIdentity != k.lease.identity)
	k.lease.renewed.Store(&asked)
	if late && record.HolderIdentity == k.lease.identity {
		k.tell.again()
	}
	return nil
}

// failed tells of errors that are not part of how Leases are contended for.
func (k *leaseLock) failed(ctx context.Context, err error) {
	if ctx.Err() != nil || apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) || k.lease.refused.mayPass(err) {
		return
	}
	k.tell.failed(err)
}
