package dispatch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// errOriginGone means that the origin of the Lease no longer exists, or that another object has
// its name. The Lease then belongs to that object.
var errOriginGone = errors.New("the origin is gone")

// targetError means that another dispatch of the Job has chosen another target, where no one has
// searched for the mirror.
type targetError struct {
	// Lease is the Lease as namespace/name. Target is the place that it names.
	Lease  string
	Target delegation.Place
}

func (e *targetError) Error() string {
	return fmt.Sprintf("another dispatcher has started its dispatch to %s/%s on %s (Lease %s); run the same command again to find its mirror",
		e.Target.Namespace, e.Target.Name, e.Target.Cluster(), e.Lease)
}

// leaseTiming has the duration of a Lease without renewal, the deadline after which its holder
// gives up renewing it, and the period of renewals.
type leaseTiming struct{ duration, deadline, retry time.Duration }

// timingFor returns a timing with which n Leases cause fewer than 50 writes per second. Up to 100
// Jobs, it equals the timing of the control plane's own components.
func timingFor(n int) leaseTiming {
	retry := max(2*time.Second, time.Duration(n)*time.Second/50)
	return leaseTiming{duration: retry * 15 / 2, deadline: retry * 5, retry: retry}
}

// lease is the exclusive right of a dispatcher, identity, to copy for one Job.
type lease struct {
	leaseStore
	identity string
	timing   leaseTiming
	clock    clock.PassiveClock
	// target is the place of the mirror, on the cluster that worker identifies. The Lease names
	// it before the mirror is created. isFound is whether the mirror is known to exist there.
	target  delegation.Place
	worker  delegation.Cluster
	isFound bool
	// cleared are targets of earlier dispatches that were searched and have no mirror.
	cleared []delegation.Place

	// leading is whether the elector believes that we hold the Lease. heldByOther is whether
	// another holder was seen. renewed is when we sent the last successful write. Others count
	// from when the server stored it, which may be long before its response.
	leading, heldByOther atomic.Bool
	renewed              atomic.Pointer[time.Time]
	// unauthorized is whether the server refused our credentials since the last successful write.
	unauthorized refusal
	// lastWritten is the Lease as we last wrote it; nil if we have not. removing is whether the
	// Lease will be deleted next, so that releasing it is unnecessary.
	lastWritten atomic.Pointer[coordinationv1.Lease]
	removing    atomic.Bool
	// unreleased is whether the Lease is left to expire instead of being released.
	unreleased atomic.Bool
}

// leaseEvents are callbacks for changes of a Lease.
type leaseEvents struct {
	// waiting: another dispatcher holds it, and we wait to see whether it still renews it.
	waiting func(*heldError)
	// electing: from now on, we only wait for the API server.
	electing func()
	// changed: the Lease was taken (true) or lost (false).
	changed func(bool)
	// renewedLate: it was renewed after a gap in which it might have been lost.
	renewedLate func()
	// failed: a request failed and will be retried.
	failed func(error)
}

// held reports whether no other dispatcher can be copying. leading alone is not enough: the
// elector believes that it leads until its deadline, even after it has seen another holder.
func (l *lease) held() bool {
	return l.leading.Load() && !l.heldByOther.Load() && l.isFresh()
}

func (l *lease) isFresh() bool { return l.sinceRenewal() < l.timing.deadline }

// isNew reports whether the Lease was written too recently to need a renewal.
func (l *lease) isNew() bool { return l.sinceRenewal() < l.timing.retry/4 }

// sinceRenewal returns the time since the last renewal, by whichever clock says more: the
// monotonic clock stops while a laptop sleeps, and users can set the wall clock. If the wall
// clock was set back, the time is unknown. Then the result is the maximum, so that the Lease
// counts as expired until the next renewal.
func (l *lease) sinceRenewal() time.Duration {
	at := l.renewed.Load()
	if at == nil {
		return math.MaxInt64
	}
	now := l.clock.Now()
	wall := now.Round(0).Sub(at.Round(0))
	if wall < 0 {
		return math.MaxInt64
	}
	return max(wall, now.Sub(*at))
}

// keep takes the Lease, holds it until ctx is done, and then releases it. If it loses the Lease
// because the API server did not answer, it takes it again. It returns a *heldError if another
// dispatcher holds the Lease, a *targetError for another target, and errOriginGone if the origin
// is gone. It reports all other errors through events.failed, and tries again.
func (l *lease) keep(ctx context.Context, events leaseEvents) error {
	logger := klog.FromContext(ctx)
	if !logger.V(2).Enabled() {
		// The elector logs as errors what keep reports through failed.
		logger = logr.Discard()
	}
	for ctx.Err() == nil {
		found, err := l.waitUntilFree(ctx, events.waiting)
		if err == nil {
			events.electing()
			err = l.elect(klog.NewContext(ctx, logger), events, found)
		}
		var (
			held  *heldError
			other *targetError
		)
		if errors.As(err, &held) || errors.As(err, &other) || errors.Is(err, errOriginGone) {
			return err
		}
		if err != nil && ctx.Err() == nil {
			if !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && !l.unauthorized.mayPass(err) {
				// Other dispatchers release Leases and take them.
				events.failed(err)
			}
			_ = wait.PollUntilContextCancel(ctx, l.timing.retry, false, func(context.Context) (bool, error) { return true, nil })
		}
	}
	return nil
}

// elect holds the Lease until it is lost to another holder, cannot be renewed, or ctx is done.
// found is the Lease as just read; nil if it does not exist.
func (l *lease) elect(ctx context.Context, events leaseEvents, found *coordinationv1.Lease) error {
	electing, stop := context.WithCancel(ctx)
	defer stop()
	lock := &leaseLock{lease: l, events: events, stop: stop, isRead: true, found: found}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:          lock,
		LeaseDuration: l.timing.duration, RenewDeadline: l.timing.deadline, RetryPeriod: l.timing.retry,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				if ctx.Err() == nil {
					l.leading.Store(true)
					events.changed(true)
				}
			},
			OnStoppedLeading: func() {
				if l.leading.Swap(false) && ctx.Err() == nil {
					events.changed(false)
				}
			},
			OnNewLeader: func(identity string) {
				if identity != l.identity {
					// The elector would wait for the Lease for ever.
					stop()
				}
			},
		},
	})
	if err != nil {
		return err
	}
	elector.Run(electing)
	if lock.isOriginGone {
		return errOriginGone
	}
	return lock.otherTarget
}

// waitUntilFree waits until the Lease has no holder, and returns it; nil if it does not exist. It
// takes the Lease from a holder that has not renewed it during a whole lease duration of
// watching. This is the rule of client-go's leader election: renewTime comes from the holder's
// clock, so it cannot be compared with ours.
func (l *lease) waitUntilFree(ctx context.Context, waiting func(*heldError)) (*coordinationv1.Lease, error) {
	first, err := l.readOwn(ctx)
	if err != nil || first == nil {
		return nil, err
	}
	if holderOf(first) == "" || holderOf(first) == l.identity {
		return first, l.checkTarget(first)
	}
	held := heldBy(first)
	if held.Within > longestLease {
		return nil, held
	}
	waiting(held)
	current, expires := first, l.clock.Now().Add(durationOf(first))
	err = wait.PollUntilContextCancel(ctx, l.timing.retry, false, func(ctx context.Context) (bool, error) {
		if current, err = l.get(ctx); err != nil {
			return false, err
		}
		switch {
		case !l.isOurs(current):
			return false, conflict(l.kind, l.origin.Name)
		case holderOf(current) == "":
			return true, nil
		case current.ResourceVersion != first.ResourceVersion:
			return false, heldBy(current)
		}
		return l.clock.Now().After(expires), nil
	})
	if err == nil {
		err = l.checkTarget(current)
	}
	if err != nil || holderOf(current) == "" {
		return current, err
	}
	current.Spec.HolderIdentity = nil
	return l.update(ctx, current)
}

// readOwn returns the Lease; nil if it does not exist. A Lease of another Job with the same name
// is deleted, no matter who holds it, if our origin exists now, because then the other Job is gone.
// Otherwise our origin is gone, and readOwn returns errOriginGone.
func (l *lease) readOwn(ctx context.Context) (*coordinationv1.Lease, error) {
	found, err := l.get(ctx)
	if err == nil && l.isOurs(found) {
		return found, nil
	}
	if l.isGone(err) {
		// A dispatcher checks, before it creates the Lease, that the origin exists.
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if exists, err := l.originExists(ctx); err != nil {
		return nil, err
	} else if !exists {
		return nil, errOriginGone
	}
	if err := l.delete(ctx, found); err != nil && !l.isGone(err) {
		return nil, err
	}
	return nil, nil
}

// remove deletes the Lease of a Job that needs no more copying, unless another dispatcher holds it.
func (l *lease) remove(ctx context.Context) error {
	return retryRemoval(ctx, func(ctx context.Context) error {
		if last := l.lastWritten.Swap(nil); last != nil && holderOf(last) == l.identity {
			// This deletes the Lease only if it is still as we wrote it.
			if err := l.delete(ctx, last); err == nil || l.isGone(err) {
				return nil
			}
		}
		_, err := l.removeUnless(ctx, func(found *coordinationv1.Lease) bool {
			return holderOf(found) != "" && holderOf(found) != l.identity
		})
		return err
	})
}
