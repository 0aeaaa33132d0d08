package fleet

import (
	"context"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/cache"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// grace is how long a question may take to return after its time is up.
const grace = 250 * time.Millisecond

// within runs do and abandons it when the time is up, even if do ignores its context: client-go
// runs credential plugins without one. A timeout of zero means no limit.
func within[T any](ctx context.Context, timeout time.Duration, do func(context.Context) (T, error)) (T, error) {
	cause := &kubecontext.TimeoutError{After: timeout.Round(time.Millisecond)}
	ctx = cache.Quiet(ctx)
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
		// A question that respects ctx returns now, with a partial answer.
		late := time.NewTimer(grace)
		defer late.Stop()
		select {
		case r = <-done:
		case <-late.C:
		}
	}
	if r.err != nil && ctx.Err() != nil {
		// Errors of libraries for a context that is done depend on where they were. The cause is
		// the true reason.
		r.err = context.Cause(ctx)
	}
	return r.value, r.err
}
