package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

var errForbidden = apierrors.NewForbidden(schema.GroupResource{Group: "batch", Resource: "jobs"}, "", errors.New("no"))

// fleetOf returns a fleet of clusters, each reached by the given contexts.
func fleetOf(clusters ...[]string) *Fleet {
	f := &Fleet{parallel: 16, clock: clock.RealClock{}}
	for _, contexts := range clusters {
		m := &member{context: contexts[0]}
		for _, name := range contexts {
			m.routes = append(m.routes, &Cluster{Context: name})
		}
		f.members = append(f.members, m)
	}
	return f
}

func TestAskAnswersInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fleetOf([]string{"a"}, []string{"b"}, []string{"c"}, []string{"d"})
		// Each waits for the next one.
		done := map[string]chan struct{}{"a": make(chan struct{}), "b": make(chan struct{}), "c": make(chan struct{}), "d": make(chan struct{})}
		next := map[string]string{"a": "b", "b": "c", "c": "d"}
		answers := Ask(t.Context(), f, func(_ context.Context, c *Cluster) (string, error) {
			defer close(done[c.Context])
			if after, ok := next[c.Context]; ok {
				<-done[after]
			}
			return "answer of " + c.Context, nil
		})
		var got []string
		for _, a := range answers {
			assert.NilError(t, a.Err)
			got = append(got, a.Context+": "+a.Value)
		}
		assert.DeepEqual(t, got, []string{"a: answer of a", "b: answer of b", "c: answer of c", "d: answer of d"})
	})
}

func TestAskIsBounded(t *testing.T) {
	for parallel, want := range map[int]int{0: 32, 1: 1, 3: 3} {
		t.Run(fmt.Sprint(parallel), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := Open(t.Context(), nil, Options{Parallel: parallel})
				const members = 40
				for i := range members {
					f.members = append(f.members, fleetOf([]string{fmt.Sprint(i)}).members...)
				}
				var running atomic.Int32
				next, all := make(chan struct{}), make(chan struct{})
				go func() {
					defer close(all)
					Ask(t.Context(), f, func(context.Context, *Cluster) (int, error) {
						running.Add(1)
						<-next
						running.Add(-1)
						return 0, nil
					})
				}()
				for left := members; left > 0; left-- {
					synctest.Wait()
					assert.Equal(t, int(running.Load()), min(want, left))
					next <- struct{}{}
				}
				<-all
			})
		})
	}
}

func TestAskAbandonsHangingRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fleetOf([]string{"a"}, []string{"hangs"}, []string{"z"})
		f.timeout = time.Minute
		f.members[1].spent = 20 * time.Second
		hang := make(chan struct{})
		defer close(hang)
		start := time.Now()
		answers := Ask(t.Context(), f, func(_ context.Context, c *Cluster) (string, error) {
			if c.Context == "hangs" {
				<-hang
			}
			return "answer", nil
		})
		assert.Equal(t, time.Since(start), 40*time.Second+grace, "what it had spent already does not count")
		assert.Equal(t, len(answers), 3)
		assert.DeepEqual(t, answers[0], Answer[string]{Context: "a", Value: "answer"})
		assert.DeepEqual(t, answers[2], Answer[string]{Context: "z", Value: "answer"})

		var failed *kubecontext.Error
		var timeout *kubecontext.TimeoutError
		assert.Equal(t, answers[1].Context, "hangs")
		assert.Assert(t, errors.As(answers[1].Err, &failed))
		assert.Equal(t, failed.Context, "hangs")
		assert.Equal(t, failed.Code(), kubecontext.CodeTimeout)
		assert.Assert(t, errors.As(answers[1].Err, &timeout))
	})
}

// TestAskWithNoTimeLeft checks that a cluster that has used up its time gets a moment for the
// next question, and not unlimited time.
func TestAskWithNoTimeLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fleetOf([]string{"slow"})
		f.timeout, f.members[0].spent = time.Second, time.Minute
		answers := Ask(t.Context(), f, func(ctx context.Context, _ *Cluster) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		})
		var timeout *kubecontext.TimeoutError
		assert.Assert(t, errors.As(answers[0].Err, &timeout))
	})
}

func TestAskReturnsTheCauseOfCancellation(t *testing.T) {
	cause := errors.New("interrupt")
	ctx, cancel := context.WithCancelCause(t.Context())
	f := fleetOf([]string{"a"})
	answers := Ask(ctx, f, func(ctx context.Context, _ *Cluster) (string, error) {
		cancel(cause)
		<-ctx.Done()
		return "", ctx.Err()
	})
	assert.ErrorIs(t, answers[0].Err, cause)
}

func TestAskKeepsWhatTheQuestionWasDoing(t *testing.T) {
	answers := Ask(t.Context(), fleetOf([]string{"a"}), func(context.Context, *Cluster) (string, error) {
		return "", &kubecontext.Error{Context: "of no interest", Doing: "list jobs", Err: errForbidden}
	})
	assert.Assert(t, cmp.ErrorContains(answers[0].Err, "context \"a\": cannot list jobs: "))
}
