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

// NewSteady returns what decides which findings count on live clusters; nil, which keeps all, for
// a snapshot.
func (f *GlobalFlags) NewSteady() *rules.Steady {
	if f.From != "" {
		return nil
	}
	return &rules.Steady{After: rejudgeInterval}
}

// ReadTwice reads, and reads again a little later if the first judgment has findings that two
// readings have to confirm.
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
