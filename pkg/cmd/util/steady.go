package util

import (
	"context"
	"time"

	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// DefaultGrace is how long a state may be in progress before it is judged.
const DefaultGrace = 5 * time.Minute

// NewSteady returns the Steady for live clusters, where some findings count only after two reads.
// For a snapshot it returns nil, so that all findings count.
func (f *GlobalFlags) NewSteady() *rules.Steady {
	if f.From != "" {
		return nil
	}
	return &rules.Steady{After: rejudgeInterval}
}

// ReadTwice reads once, and again a little later if findings of the first read need a second one
// to count.
func ReadTwice[T any](ctx context.Context, c clock.WithTicker, f *fleet.Fleet, steady *rules.Steady, read func(context.Context) (T, error)) (T, error) {
	first, err := read(ctx)
	if err != nil || !steady.IsPending() {
		return first, err
	}
	timer := c.NewTimer(rejudgeInterval)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return first, nil
	case <-timer.C():
	}
	f.BeginRound(ctx)
	return read(ctx)
}
