package dispatch

import (
	"context"
	"sync"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// keepLease holds the Lease as long as the task lasts. slots limit how many Leases are requested
// at once.
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
	if t.news.hear(err) {
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

// leaseEvents returns callbacks that report changes of the Lease. leave is called when other
// tasks may request theirs.
func (t *task) leaseEvents(leave func()) leaseEvents {
	return leaseEvents{
		electing:    leave,
		renewedLate: func() { t.queue.Add(t) },
		changed: func(held bool) {
			t.news.lastError.Store(nil)
			if !held {
				t.recordPlain(LeaseLost, "its Lease could not be renewed in time; copying stops until it is acquired again")
				return
			}
			t.recordPlain(LeaseTaken, "no other dispatcher holds it")
			t.queue.Add(t)
		},
		waiting: func(other *heldError) {
			leave()
			t.recordPlain(LeaseWaiting, command.Say("%s has held its Lease %s; waiting up to %s to see whether it is alive",
				other.Holder, other.since(), other.Within))
		},
		failed: func(err error) {
			leave()
			t.leaseFailed(err)
		},
	}
}

// leaseFailed reports an error, but not repeatedly while it lasts.
func (t *task) leaseFailed(err error) {
	if kubecontext.IsConnection(err) {
		t.origin.link.Note(err)
		return
	}
	message := kubecontext.InContext(t.origin.Context, "work with Lease "+t.ref.Namespace+"/"+t.lease.name(), err).Prose()
	if !t.news.isRepeated(message) {
		t.recordPlain(Warned, message)
	}
}

// recordPlain reports an event without the state of the Jobs, which only the goroutines of the
// queue may read.
func (t *task) recordPlain(e EventType, message command.Prose) {
	t.events.Record(Event{Event: e, Origin: &t.ref, Message: string(message)})
}
