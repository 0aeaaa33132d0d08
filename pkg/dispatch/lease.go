package dispatch

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// HeldError says that somebody else is dispatching a Job.
type HeldError struct {
	// Lease is the name of the Lease, and Holder who holds it.
	Lease, Holder string
	// Since is when they took it, and Ago how long ago that was.
	Since time.Time
	Ago   time.Duration
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("%s is dispatching it already, since %s (%s ago), and holds Lease %s",
		e.Holder, e.Since.UTC().Format(time.RFC3339), e.Ago.Round(time.Second), e.Lease)
}

// leaseTiming says how long a Lease is held without a sign of life, how long its
// holder tries to renew it, and how often.
type leaseTiming struct{ duration, deadline, retry time.Duration }

// timingFor keeps what n Leases cost an API server below 50 writes a second. Up
// to 100 Jobs it is what the control plane's own components use.
func timingFor(n int) leaseTiming {
	retry := max(2*time.Second, time.Duration(n)*time.Second/50)
	return leaseTiming{duration: retry * 15 / 2, deadline: retry * 5, retry: retry}
}

// lease is the right to be the only one who copies for one Job.
type lease struct {
	side     *Side
	origin   Ref
	identity string
	timing   leaseTiming
	clock    clock.PassiveClock

	held atomic.Bool
}

func (l *lease) name() string { return delegation.LeaseName(l.origin.Name) }

// keep takes the Lease and holds it until ctx is over, and then gives it back.
// held is called whenever it is taken and lost; a Lease that was lost, because
// the API server did not answer for long, is taken again. waiting is called
// before it is waited whether another holder is still there; if it is, that is a
// *HeldError. All other errors are passed, and tried again.
func (l *lease) keep(ctx context.Context, held func(bool), waiting func(*HeldError), failed func(error)) error {
	logger := klog.FromContext(ctx)
	if !logger.V(2).Enabled() {
		// The elector tells as errors what keep tells through failed.
		logger = logr.Discard()
	}
	for ctx.Err() == nil {
		err := l.free(ctx, waiting)
		if other := (*HeldError)(nil); errors.As(err, &other) {
			return other
		}
		if err == nil {
			err = l.elect(klog.NewContext(ctx, logger), held)
		}
		if err != nil && ctx.Err() == nil {
			failed(err)
			_ = wait.PollUntilContextCancel(ctx, l.timing.retry, false, func(context.Context) (bool, error) { return true, nil })
		}
	}
	return nil
}

// elect holds the Lease until it is lost, to somebody else or because it could not
// be renewed, or ctx is over.
func (l *lease) elect(ctx context.Context, held func(bool)) error {
	electing, stop := context.WithCancel(ctx)
	defer stop()
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: l.origin.Namespace, Name: l.name()},
			Client:     l.side.Client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: l.identity},
			Labels:     map[string]string{delegation.OriginUIDLabel: l.origin.UID},
		},
		LeaseDuration: l.timing.duration, RenewDeadline: l.timing.deadline, RetryPeriod: l.timing.retry,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				if ctx.Err() == nil {
					l.held.Store(true)
					held(true)
				}
			},
			OnStoppedLeading: func() {
				if l.held.Swap(false) && ctx.Err() == nil {
					held(false)
				}
			},
			OnNewLeader: func(identity string) {
				if identity != l.identity {
					// The elector would wait for its turn for ever.
					stop()
				}
			},
		},
	})
	if err != nil {
		return err
	}
	elector.Run(electing)
	return nil
}

// free makes sure that there is a Lease and that nobody holds it. One whose
// holder shows no sign of life is taken from them after a whole lease duration of
// watching, by the rule of client-go's leader election: renewTime is of the
// holder's clock, and no measure by itself.
func (l *lease) free(ctx context.Context, waiting func(*HeldError)) error {
	leases := l.side.Client.CoordinationV1().Leases(l.origin.Namespace)
	first, err := l.ensure(ctx)
	if err != nil {
		return err
	}
	if holderOf(first) == "" || holderOf(first) == l.identity {
		return nil
	}
	waiting(l.heldBy(first))
	seen, expires := first, l.clock.Now().Add(durationOf(first))
	err = wait.PollUntilContextCancel(ctx, l.timing.retry, false, func(ctx context.Context) (bool, error) {
		if seen, err = leases.Get(ctx, l.name(), metav1.GetOptions{}); err != nil {
			return false, err
		}
		switch {
		case holderOf(seen) == "":
			return true, nil
		case seen.ResourceVersion != first.ResourceVersion:
			return false, l.heldBy(seen)
		}
		return l.clock.Now().After(expires), nil
	})
	if err != nil || holderOf(seen) == "" {
		return err
	}
	seen.Spec.HolderIdentity = nil
	_, err = leases.Update(ctx, seen, metav1.UpdateOptions{FieldManager: FieldManager})
	return err
}

// ensure returns the Lease and creates it if there is none. One of an earlier
// Job of the same name goes with that.
func (l *lease) ensure(ctx context.Context) (*coordinationv1.Lease, error) {
	leases := l.side.Client.CoordinationV1().Leases(l.origin.Namespace)
	found, err := leases.Get(ctx, l.name(), metav1.GetOptions{})
	if err == nil && found.Labels[delegation.OriginUIDLabel] != l.origin.UID && found.Labels[delegation.OriginUIDLabel] != "" {
		preconditions := metav1.Preconditions{UID: &found.UID, ResourceVersion: &found.ResourceVersion}
		if err := leases.Delete(ctx, l.name(), metav1.DeleteOptions{Preconditions: &preconditions}); err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
		found, err = leases.Get(ctx, l.name(), metav1.GetOptions{})
	}
	if !apierrors.IsNotFound(err) {
		return found, err
	}
	job := delegation.Job()
	apiVersion, kind := job.GroupVersionKind().ToAPIVersionAndKind()
	return leases.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Name: l.name(), Namespace: l.origin.Namespace,
		Labels:          map[string]string{delegation.OriginUIDLabel: l.origin.UID},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: l.origin.Name, UID: originUID(l.origin)}},
	}}, metav1.CreateOptions{FieldManager: FieldManager})
}

// remove deletes the Lease of a Job that nobody has to copy for any more.
func (l *lease) remove(ctx context.Context) error {
	leases := l.side.Client.CoordinationV1().Leases(l.origin.Namespace)
	found, err := leases.Get(ctx, l.name(), metav1.GetOptions{})
	if err == nil && found.Labels[delegation.OriginUIDLabel] == l.origin.UID && (holderOf(found) == "" || holderOf(found) == l.identity) {
		err = leases.Delete(ctx, l.name(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &found.UID}})
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (l *lease) heldBy(found *coordinationv1.Lease) *HeldError {
	e := &HeldError{Lease: found.Namespace + "/" + found.Name, Holder: holderOf(found)}
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
