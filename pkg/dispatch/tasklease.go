package dispatch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// keepLease holds the Lease for as long as the task lasts. slots bound how many
// are taken at once.
func (t *task) keepLease(ctx context.Context, slots chan struct{}) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-t.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	var taken sync.Once
	release := func() { taken.Do(func() { <-slots }) }
	slots <- struct{}{}
	err := t.lease.keep(ctx, func(held bool) {
		release()
		if held {
			t.events.Record(Event{Event: LeaseTaken, Origin: &t.ref, Message: "nobody else dispatches it"})
			t.queue.Add(t)
		} else {
			t.events.Record(Event{Event: LeaseLost, Origin: &t.ref, Message: "its Lease could not be renewed in time; nothing is copied until it is taken again"})
		}
	}, func(other *HeldError) {
		release()
		t.events.Record(Event{Event: LeaseWaiting, Origin: &t.ref, Message: fmt.Sprintf(
			"%s has held its Lease since %s (%s ago); it is seen within %s whether they are still there",
			other.Holder, other.Since.UTC().Format(time.RFC3339), other.Ago.Round(time.Second), t.lease.timing.duration)})
	}, func(err error) {
		release()
		t.leaseFailed(err)
	})
	release()
	var held *HeldError
	if errors.As(err, &held) {
		t.otherHolder.Store(held)
		t.queue.Add(t)
		return
	}
	if t.hasEnded() && !t.leaveLease {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		if err := t.lease.remove(bounded); err != nil {
			t.leaseFailed(err)
		}
	}
}

func (t *task) leaseFailed(err error) {
	if isConnection(err) {
		t.lost(t.origin, err)
		return
	}
	t.events.Record(Event{Event: Warned, Origin: &t.ref, Message: fmt.Sprintf(
		"context %s: could not work with Lease %s/%s: %v", t.origin.Context, t.ref.Namespace, t.lease.name(), err)})
}
