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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// errOriginGone is that the origin whose Lease is wanted is not there any more, or
// another has its name: the Lease is that one's.
var errOriginGone = errors.New("the origin is gone")

// HeldError says that somebody else is dispatching a Job.
type HeldError struct {
	// Lease is the name of the Lease, and Holder who holds it.
	Lease, Holder string
	// Since is when they took it, and For how long they had held it when they renewed it
	// last; both by their own clock, which need not be ours.
	Since time.Time
	For   time.Duration
	// Within is how long they may be silent.
	Within time.Duration
}

func (e *HeldError) Error() string {
	if e.Within > longestLease {
		return fmt.Sprintf("Lease %s says that %s holds it for %s, which no dispatch writes; delete the Lease if no dispatch runs", e.Lease, e.Holder, e.Within)
	}
	return fmt.Sprintf("%s is dispatching it already, %s, and holds Lease %s", e.Holder, e.since(), e.Lease)
}

// since says for how long they have held it. Nothing is reckoned with our clock, which may
// be an hour ahead of theirs.
func (e *HeldError) since() string {
	return fmt.Sprintf("since %s (for %s, by their clock)", e.Since.UTC().Format(time.RFC3339), e.For.Round(time.Second))
}

// TargetError says that a Job's dispatch was begun with another target, which was not searched
// for its mirror.
type TargetError struct {
	// Lease is the name of the Lease, and Target what it names.
	Lease  string
	Target delegation.Place
}

func (e *TargetError) Error() string {
	return fmt.Sprintf("its dispatch to %s/%s on %s was begun meanwhile, as Lease %s says; run the same command again to find its mirror",
		e.Target.Namespace, e.Target.Name, e.Target.Cluster(), e.Lease)
}

// longestLease is more than the duration of any Lease that a dispatch writes: that of 10,000
// Jobs is 25 minutes.
const longestLease = 30 * time.Minute

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
	cluster  *fleet.Cluster
	kind     delegation.Kind
	origin   Ref
	identity string
	timing   leaseTiming
	clock    clock.PassiveClock
	// target is where the mirror is to be made, on the cluster that worker identifies. The
	// Lease names it before that is done. isFound is whether the mirror is known to be there.
	target  delegation.Place
	worker  delegation.Cluster
	isFound bool
	// cleared are targets of earlier dispatches that were searched, and hold no mirror.
	cleared []delegation.Place

	// leading is whether the elector believes that we hold it, foreign whether
	// somebody else was seen to, and renewed when it was asked to be written, the last
	// time that it was: others count from when it was, which may be long before the answer.
	leading, foreign atomic.Bool
	renewed          atomic.Pointer[time.Time]
	// refused is whether credentials were refused since it was written last.
	refused refusal
	// last is the Lease as it was when we wrote it last, nil if we have not, and removing
	// whether it is removed next, so that it need not be given back first.
	last     atomic.Pointer[coordinationv1.Lease]
	removing atomic.Bool
	// unreleased is whether it is not given back in the end, but expires.
	unreleased atomic.Bool
}

// leaseEvents are told of what becomes of a Lease.
type leaseEvents struct {
	// waiting: it is waited whether another holder is still there.
	waiting func(*HeldError)
	// electing: from now on nothing but the API server is waited for.
	electing func()
	// held: it was taken, or lost.
	held func(bool)
	// again: it was renewed after a time in which it might have been lost.
	again func()
	// failed: a request failed, and is tried again.
	failed func(error)
}

func (l *lease) name() string { return l.kind.LeaseName(l.origin.Name) }

// held says whether nobody else can be copying. The elector believes so until its
// deadline is over, even after somebody else was seen to hold the Lease.
func (l *lease) held() bool {
	return l.leading.Load() && !l.foreign.Load() && l.isFresh()
}

func (l *lease) isFresh() bool { return l.unrenewed() < l.timing.deadline }

// isNew says whether it was written a moment ago, so that there is nothing to renew.
func (l *lease) isNew() bool { return l.unrenewed() < l.timing.retry/4 }

// unrenewed is for how long it has not been renewed, by whichever clock says more: the
// monotonic one stands still while a laptop sleeps, and that of the wall can be set. Where
// it was set back it tells nothing, and the Lease is as good as one of long ago, until it is
// renewed in a moment.
func (l *lease) unrenewed() time.Duration {
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

// keep takes the Lease and holds it until ctx is over, and then gives it back. One
// that was lost, because the API server did not answer for long, is taken again.
// If another holder is there, that is a *HeldError, and errOriginGone where there is
// nothing to hold it for; all other errors are told, and it is tried again.
func (l *lease) keep(ctx context.Context, tell leaseEvents) error {
	logger := klog.FromContext(ctx)
	if !logger.V(2).Enabled() {
		// The elector tells as errors what keep tells through failed.
		logger = logr.Discard()
	}
	for ctx.Err() == nil {
		found, err := l.free(ctx, tell.waiting)
		if err == nil {
			tell.electing()
			err = l.elect(klog.NewContext(ctx, logger), tell, found)
		}
		var (
			held  *HeldError
			other *TargetError
		)
		if errors.As(err, &held) || errors.As(err, &other) || errors.Is(err, errOriginGone) {
			return err
		}
		if err != nil && ctx.Err() == nil {
			if !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && !l.refused.mayPass(err) {
				// Others give Leases back, and take them.
				tell.failed(err)
			}
			_ = wait.PollUntilContextCancel(ctx, l.timing.retry, false, func(context.Context) (bool, error) { return true, nil })
		}
	}
	return nil
}

// elect holds the Lease until it is lost, to somebody else or because it could not
// be renewed, or ctx is over. found is the Lease as it was read right now, nil if there was
// none.
func (l *lease) elect(ctx context.Context, tell leaseEvents, found *coordinationv1.Lease) error {
	electing, stop := context.WithCancel(ctx)
	defer stop()
	lock := &leaseLock{lease: l, tell: tell, stop: stop, isRead: true, found: found}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:          lock,
		LeaseDuration: l.timing.duration, RenewDeadline: l.timing.deadline, RetryPeriod: l.timing.retry,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				if ctx.Err() == nil {
					l.leading.Store(true)
					tell.held(true)
				}
			},
			OnStoppedLeading: func() {
				if l.leading.Swap(false) && ctx.Err() == nil {
					tell.held(false)
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
	if lock.isOriginGone {
		return errOriginGone
	}
	return lock.elsewhere
}

// free makes sure that nobody holds the Lease, and returns it; nil is for none. One whose
// holder shows no sign of life is taken from them after a whole lease duration of
// watching, by the rule of client-go's leader election: renewTime is of the
// holder's clock, and no measure by itself.
func (l *lease) free(ctx context.Context, waiting func(*HeldError)) (*coordinationv1.Lease, error) {
	first, err := l.own(ctx)
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
	seen, expires := first, l.clock.Now().Add(durationOf(first))
	err = wait.PollUntilContextCancel(ctx, l.timing.retry, false, func(ctx context.Context) (bool, error) {
		if seen, err = l.get(ctx); err != nil {
			return false, err
		}
		switch {
		case !l.isOurs(seen):
			return false, conflict(l.kind, l.origin.Name)
		case holderOf(seen) == "":
			return true, nil
		case seen.ResourceVersion != first.ResourceVersion:
			return false, heldBy(seen)
		}
		return l.clock.Now().After(expires), nil
	})
	if err == nil {
		err = l.checkTarget(seen)
	}
	if err != nil || holderOf(seen) == "" {
		return seen, err
	}
	seen.Spec.HolderIdentity = nil
	return l.leases().Update(ctx, seen, metav1.UpdateOptions{FieldManager: fleet.FieldManager})
}

// own returns the Lease, nil if there is none. One of another Job of
// the same name makes way, whoever holds it, if ours is the one that is there now:
// theirs is gone then. Otherwise it is ours that is gone.
func (l *lease) own(ctx context.Context) (*coordinationv1.Lease, error) {
	found, err := l.get(ctx)
	if err == nil && l.isOurs(found) {
		return found, nil
	}
	if l.isGone(err) {
		// Whoever makes it looks first whether the origin is there.
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if isThere, err := l.isOriginThere(ctx); err != nil {
		return nil, err
	} else if !isThere {
		return nil, errOriginGone
	}
	if err := l.delete(ctx, found); err != nil && !l.isGone(err) {
		return nil, err
	}
	return nil, nil
}

// remove deletes the Lease of a Job that nobody has to copy for any more. Nobody else comes
// to do so, so one answer that says no, or none, is not enough to let it be.
func (l *lease) remove(ctx context.Context) error {
	var failed error
	// Six seconds in all, beside what the requests take.
	tries := wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Steps: 6}
	err := wait.ExponentialBackoffWithContext(ctx, tries, func(ctx context.Context) (bool, error) {
		failed = l.removeNow(ctx)
		return failed == nil || !mayPass(failed), nil
	})
	if failed == nil && err != nil {
		return err
	}
	return failed
}

func (l *lease) removeNow(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, fleet.RequestTimeout)
	defer cancel()
	if last := l.last.Swap(nil); last != nil && holderOf(last) == l.identity {
		// It is as we have written it, or it is not deleted.
		if err := l.delete(ctx, last); err == nil || l.isGone(err) {
			return nil
		}
	}
	found, err := l.get(ctx)
	if err == nil && found.Labels[delegation.OriginUIDLabel] == l.origin.UID && (holderOf(found) == "" || holderOf(found) == l.identity) {
		err = l.delete(ctx, found)
	}
	if l.isGone(err) {
		return nil
	}
	return err
}
