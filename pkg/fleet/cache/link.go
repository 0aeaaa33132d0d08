package cache

import (
	"context"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Heartbeat is the interval of requests that only check the connection. A dead connection looks
// like a cluster without changes. Retry is the interval while the cluster does not answer.
const (
	Heartbeat = 10 * time.Second
	Retry     = 2 * time.Second
)

// Link tracks whether a cluster answers, and reports each change once.
type Link struct {
	// Lost receives the reason when the cluster stops answering. Recovered is called when it
	// answers again. Neither may call Note.
	Lost      func(error)
	Recovered func()

	mu sync.Mutex
	// err is why the cluster does not answer; nil if it does.
	err error
	// fell is closed when the cluster stops answering; nil if no Monitor waits for that.
	fell chan struct{}
}

// Note records the error of a cluster that does not answer, or nil for an answer.
func (l *Link) Note(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	wasLost := l.err != nil
	switch isLost := err != nil; {
	case isLost == wasLost:
	case isLost:
		l.err = err
		if l.fell != nil {
			close(l.fell)
			l.fell = nil
		}
		l.Lost(err)
	default:
		l.err = nil
		l.Recovered()
	}
}

// Err returns why the cluster does not answer; nil if it is not known to be lost.
func (l *Link) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// state returns a channel that is closed when an answering cluster stops answering, and Err.
func (l *Link) state() (fell <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil && l.fell == nil {
		l.fell = make(chan struct{})
	}
	return l.fell, l.err
}

// Check says how to find out whether a cluster answers.
type Check struct {
	Clock clock.Clock
	// Every is the interval of the requests, Retry that while the cluster does not answer.
	Every, Retry time.Duration
	// Ask sends a request, and returns nil for any answer.
	Ask func(context.Context) error
}

// Monitor checks the cluster periodically until ctx is done.
func (l *Link) Monitor(ctx context.Context, c Check) {
	for {
		wait := c.Every
		fell, err := l.state()
		if err != nil {
			wait = min(wait, c.Retry)
		}
		timer := c.Clock.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-fell:
			timer.Stop()
			continue
		case <-timer.C():
		}
		err = c.Ask(ctx)
		if ctx.Err() != nil {
			return
		}
		l.Note(err)
	}
}

// Quiet keeps client-go from logging errors that it also returns, unless -v=2 or above is set.
func Quiet(ctx context.Context) context.Context {
	if klog.FromContext(ctx).V(2).Enabled() {
		return ctx
	}
	return klog.NewContext(ctx, klog.New(nil))
}
