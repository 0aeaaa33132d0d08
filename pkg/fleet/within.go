package fleet

import (
	"context"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// grace is how long a question whose time is up may take to notice.
const grace = 250 * time.Millisecond

// within runs do, and gives up on it when the time is over, even if do does not
// heed its context: client-go runs credential plugins without one. A timeout of
// zero is without bound.
func within[T any](ctx context.Context, timeout time.Duration, do func(context.Context) (T, error)) (T, error) {
	cause := &kubecontext.TimeoutError{After: timeout.Round(time.Millisecond)}
	ctx = quiet(ctx)
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, cause)
		defer cancel()
	}
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := do(ctx)
		done <- result{value, err}
	}()
	var r result
	select {
	case r = <-done:
	case <-ctx.Done():
		r.err = ctx.Err()
		// Whoever heeds ctx comes back now, with the part of an answer it has.
		late := time.NewTimer(grace)
		defer late.Stop()
		select {
		case r = <-done:
		case <-late.C:
		}
	}
	if r.err != nil && ctx.Err() != nil {
		// What the library says of a context that is over varies with where it
		// was when that happened; the cause is the plain truth.
		r.err = context.Cause(ctx)
	}
	return r.value, r.err
}
