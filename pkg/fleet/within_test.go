package fleet

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// errLibrary represents any error of a library for a context that is done.
var errLibrary = errors.New("client rate limiter Wait returned an error")

// answer returns a question that is answered at once.
func answer(value string, err error) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return value, err }
}

func TestWithinReturnsValueAndError(t *testing.T) {
	for _, timeout := range []time.Duration{0, time.Hour} {
		value, err := within(t.Context(), timeout, answer("all", nil))
		assert.NilError(t, err)
		assert.Equal(t, value, "all")

		value, err = within(t.Context(), timeout, answer("a part", errLibrary))
		assert.Equal(t, err, errLibrary)
		assert.Equal(t, value, "a part")
	}
}

func TestWithinSetsTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deadline := func(ctx context.Context) (time.Duration, error) {
			at, ok := ctx.Deadline()
			if !ok {
				return -1, nil
			}
			return time.Until(at), nil
		}
		left, err := within(t.Context(), time.Minute, deadline)
		assert.NilError(t, err)
		assert.Equal(t, left, time.Minute)

		left, err = within(t.Context(), 0, deadline)
		assert.NilError(t, err)
		assert.Equal(t, left, time.Duration(-1), "zero is without bound")
	})
}

func TestWithinGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		defer close(hang)
		start := time.Now()
		value, err := within(t.Context(), 1500*time.Millisecond+time.Microsecond, func(context.Context) (string, error) {
			<-hang
			return "too late", nil
		})
		assert.Equal(t, time.Since(start), 1500*time.Millisecond+time.Microsecond+grace)
		assert.Equal(t, value, "")
		var timeout *kubecontext.TimeoutError
		assert.Assert(t, errors.As(err, &timeout))
		assert.Error(t, err, "no answer within 1.5s")
	})
}

func TestWithinReturnsTheCause(t *testing.T) {
	cause := errors.New("terminated")
	for _, tt := range []struct {
		name string
		// heeds is whether the question ends with its context.
		heeds bool
		cause error
		want  error
	}{
		{"a read that ends with its context", true, cause, cause},
		{"a read that ignores its context", false, cause, cause},
		{"no cause", true, nil, context.Canceled},
		{"no cause, a question that does not heed", false, nil, context.Canceled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				hang := make(chan struct{})
				defer close(hang)
				failed := make(chan error, 1)
				go func() {
					_, err := within(ctx, time.Hour, func(ctx context.Context) (string, error) {
						if !tt.heeds {
							<-hang
						}
						<-ctx.Done()
						return "", errLibrary
					})
					failed <- err
				}()
				synctest.Wait()
				cancel(tt.cause)
				assert.Equal(t, <-failed, tt.want)
			})
		})
	}
}

// TestWithinReplacesWhatTheLibrarySays checks that the cause of a context replaces the error of a
// library.
func TestWithinReplacesWhatTheLibrarySays(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	cancel(stopped)
	_, err := within(ctx, 0, answer("", errLibrary))
	assert.Equal(t, err, stopped)
}
