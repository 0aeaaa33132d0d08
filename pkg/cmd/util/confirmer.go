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

// NewConfirmer returns the Confirmer for live clusters, where some findings count only after two reads.
// For a snapshot it returns nil, so that all findings count.
func (f *GlobalFlags) NewConfirmer() *rules.Confirmer {
	if f.From != "" {
		return nil
	}
	return &rules.Confirmer{After: rejudgeInterval}
}

// ReadTwice reads once, and again a little later if findings of the first read need a second one
// to count.
func ReadTwice[T any](ctx context.Context, c clock.WithTicker, f *fleet.Fleet, confirmer *rules.Confirmer, read func(context.Context) (T, error)) (T, error) {
	first, err := read(ctx)
	if err != nil || !confirmer.IsPending() {
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
