package dispatch

import (
	"context"
	"errors"
	"sync"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// keepLease holds the Lease for as long as the task lasts. slots bound how many
// are looked at together before they are taken.
func (t *task) keepLease(ctx context.Context, slots chan struct{}) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-t.ended:
			t.lease.removing.Store(!t.leaveLease)
			cancel()
		case <-ctx.Done():
		}
	}()
	slots <- struct{}{}
	var once sync.Once
	leave := func() { once.Do(func() { <-slots }) }
	err := t.lease.keep(ctx, t.leaseEvents(leave))
	leave()
	var (
		held  *HeldError
		other *TargetError
	)
	switch {
	case errors.As(err, &other):
		t.elsewhere.Store(other)
		t.queue.Add(t)
		return
	case errors.As(err, &held):
		t.otherHolder.Store(held)
		t.queue.Add(t)
		return
	case errors.Is(err, errOriginGone):
		// What is left to do, its mirror, is not the Lease's, which may be another's.
		t.vanished.Store(true)
		t.queue.Add(t)
		return
	}
	if t.hasEnded() && !t.leaveLease {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		if err := t.lease.remove(bounded); err != nil {
			t.leaseFailed(err)
		}
	}
}

// leaseEvents tell what becomes of the Lease. leave is called when others may have
// their turn.
func (t *task) leaseEvents(leave func()) leaseEvents {
	return leaseEvents{
		electing: leave,
		again:    func() { t.queue.Add(t) },
		held: func(held bool) {
			t.leaseTold.Store(nil)
			if !held {
				t.recordPlain(LeaseLost, "its Lease could not be renewed in time; nothing is copied until it is taken again")
				return
			}
			t.recordPlain(LeaseTaken, "nobody else dispatches it")
			t.queue.Add(t)
		},
		waiting: func(other *HeldError) {
			leave()
			t.recordPlain(LeaseWaiting, command.Say("%s has held its Lease %s; it is seen within %s whether they are still there",
				other.Holder, other.since(), other.Within))
		},
		failed: func(err error) {
			leave()
			t.leaseFailed(err)
		},
	}
}

// leaseFailed tells of an error, but not again and again while it lasts.
func (t *task) leaseFailed(err error) {
	if kubecontext.IsConnection(err) {
		t.origin.link.Note(err)
		return
	}
	message := kubecontext.InContext(t.origin.Context, "work with Lease "+t.ref.Namespace+"/"+t.lease.name(), err).Prose()
	if before := t.leaseTold.Swap(&message); before == nil || *before != message {
		t.recordPlain(Warned, message)
	}
}

// recordPlain tells of something without what is known of the Jobs, which is the
// workers' alone.
func (t *task) recordPlain(e EventType, message command.Prose) {
	t.events.Record(Event{Event: e, Origin: &t.ref, Message: string(message)})
}
