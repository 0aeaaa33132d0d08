package dispatch

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
)

// TestInterruptedCancel interrupts cancel during each of its requests. It changes nothing before it writes to
// the origin. Afterwards it deletes the mirror, or says that the mirror may still run.
func TestInterruptedCancel(t *testing.T) {
	jobs := delegation.Job().Resource
	for _, tt := range []struct {
		// at is the server and the method of the request.
		at string
		// isEnded is whether the origin has ended before the request.
		isEnded bool
		// refusal is the answer to the request, if any.
		refusal *apierrors.StatusError
		// err is the error; wantMirror is whether the mirror remains.
		err        string
		wantMirror bool
	}{
		{at: "there DELETE", err: "context canceled", wantMirror: true},
		{at: "here PATCH", refusal: apierrors.NewConflict(jobs.GroupResource(), "small", errors.New("changed")), err: "context canceled", wantMirror: true},
		{at: "here PATCH"},
		{at: "there GET", isEnded: true},
		{at: "there DELETE", isEnded: true},
		{
			at: "there DELETE", isEnded: true, refusal: apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "small", errors.New("no")),
			err: "job ml/small: its mirror may still run on there: ", wantMirror: true,
		},
	} {
		t.Run(tt.at+" "+tt.err, func(t *testing.T) {
			s := newStage(t)
			s.addMirror(s.there, "ml", string(s.origin.GetUID()))
			c, events := s.canceller(clusterOf(t, s.there, "there"))
			ctx, interrupt := context.WithCancel(t.Context())
			hasEnded := func() bool { return object.HasFinished(delegation.Job(), s.here.Get(jobs, "ml", "small")) }
			before := func(server string) func(*http.Request) *apierrors.StatusError {
				return func(r *http.Request) *apierrors.StatusError {
					if server+" "+r.Method != tt.at || hasEnded() != tt.isEnded {
						return nil
					}
					interrupt()
					select {
					case <-r.Context().Done():
					case <-time.After(50 * time.Millisecond): // Not all requests are cancelled.
					}
					return tt.refusal
				}
			}
			s.here.SetBefore(before("here"))
			s.there.SetBefore(before("there"))
			err := c.Cancel(ctx, delegation.Job(), "ml", "small")
			assert.Assert(t, ctx.Err() != nil, "it was not interrupted")
			assert.Equal(t, s.mirror() != nil, tt.wantMirror)
			isReported := slices.ContainsFunc(*events, func(e Event) bool {
				return e.Event == Warned && e.Message == "interrupted; requesting the deletion of its mirror on there first"
			})
			if tt.err == "context canceled" {
				assert.ErrorIs(t, err, context.Canceled)
				assert.Assert(t, !hasEnded() && !isReported)
				return
			}
			assert.Assert(t, hasEnded() && isReported, "%v", *events)
			if tt.err != "" {
				assert.ErrorContains(t, err, tt.err)
				assert.Assert(t, !strings.Contains(err.Error(), context.Canceled.Error()), "the command would drop it: %v", err)
				return
			}
			assert.NilError(t, err)
			assert.Assert(t, slices.ContainsFunc(*events, func(e Event) bool {
				return e.Event == Cancelled && strings.HasSuffix(e.Message, "its mirror on there was removed")
			}), "%v", *events)
		})
	}
}

// TestInterruptedCancelAfterWrite checks that cancel completes an end whose first write is stored, also if the
// next one meets a conflict after an interrupt.
func TestInterruptedCancelAfterWrite(t *testing.T) {
	s := newStage(t)
	c, _ := s.canceller()
	c.Abandon = true
	ctx, interrupt := context.WithCancel(t.Context())
	var isInterrupted atomic.Bool
	s.here.SetBefore(func(r *http.Request) *apierrors.StatusError {
		if r.Method != http.MethodPatch || !strings.HasSuffix(r.URL.Path, "/status") || isInterrupted.Swap(true) {
			return nil
		}
		interrupt()
		return apierrors.NewConflict(schema.GroupResource{Group: "batch", Resource: "jobs"}, "small", errors.New("changed"))
	})
	assert.NilError(t, c.Cancel(ctx, delegation.Job(), "ml", "small"))
	assert.Assert(t, isInterrupted.Load())
	origin := s.here.Get(delegation.Job().Resource, "ml", "small")
	assert.Assert(t, leavesMirror(origin) && object.HasFinished(delegation.Job(), origin))
}

// TestInterruptedCancelWithoutMirror checks that cancel ends soon after an interrupt if it has found no mirror: it
// does not search for copies on the workers, which may not answer.
func TestInterruptedCancelWithoutMirror(t *testing.T) {
	s := newStage(t)
	c, events := s.canceller(clusterOf(t, s.there, "there"))
	ctx, interrupt := context.WithCancel(t.Context())
	s.here.SetBefore(func(r *http.Request) *apierrors.StatusError {
		if r.Method == http.MethodPatch {
			interrupt()
		}
		return nil
	})
	s.there.SetBefore(func(r *http.Request) *apierrors.StatusError {
		assert.Check(t, ctx.Err() == nil, "%s %s", r.Method, r.URL)
		return nil
	})
	assert.NilError(t, c.Cancel(ctx, delegation.Job(), "ml", "small"))
	assert.Assert(t, ctx.Err() != nil)
	assert.Equal(t, len(*events), 1, "%v", *events)
	assert.Equal(t, (*events)[0].Event, Cancelled)
}

// interruptible returns a task of the stage that holds its Lease, and whose mirror exists.
func (s *stage) interruptible() (*task, chan Event) {
	s.Helper()
	loop, events := s.loop()
	loop.options.MirrorTTL = time.Hour
	job := loop.add(s.tasks[0], quickTiming())
	job.originNow = s.origin
	job.mirrorRef.UID = string(s.addMirror(s.there, "ml", string(s.origin.GetUID())).GetUID())
	job.lease.leading.Store(true)
	job.lease.renewed.Store(new(time.Now()))
	return job, events
}

// completeMirror completes the mirror.
func (s *stage) completeMirror() {
	s.Helper()
	s.there.Change(s.T, delegation.Job().Resource, "ml", "small", func(o *unstructured.Unstructured) {
		dispatchtest.Set(s.T, o, "status.succeeded", int64(1))
		dispatchtest.Set(s.T, o, "status.startTime", "2026-11-23T10:00:01Z")
		dispatchtest.Set(s.T, o, "status.completionTime", "2026-11-23T10:00:09Z")
		setCondition(s.T, o, "SuccessCriteriaMet", "CompletionsReached", 9)
		setCondition(s.T, o, "Complete", "CompletionsReached", 9)
	})
}

// TestInterruptedFinish checks that an interrupt between two requests is no error of the requests: the end of
// the loop completes what they began.
func TestInterruptedFinish(t *testing.T) {
	s := newStage(t)
	job, events := s.interruptible()
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()

	s.needsSettings()
	job.Dependencies = s.tasks[0].Dependencies
	assert.ErrorIs(t, job.copyDependencies(interrupted, s.mirror()), context.Canceled)
	assert.Assert(t, !job.creation.areDependenciesCopied)

	s.completeMirror()
	job.originNow = s.failOrigin("Enough")
	assert.ErrorIs(t, job.finish(interrupted, job.originNow, object.EndOf(delegation.Job(), job.originNow)), context.Canceled)
	assert.Assert(t, !job.hasEnded())
	job.leave(t.Context(), Interrupted)
	assert.Equal(t, job.outcome.End, JobFailed)
	assert.Equal(t, content.At(s.mirror(), "spec", "ttlSecondsAfterFinished"), int64(3600))
	assert.Equal(t, len(messagesOf(events, Warned)), 0)
}

// TestUndoKeepsResult checks that --on-interrupt=delete does not delete a mirror that finishes right before
// its deletion.
func TestUndoKeepsResult(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		t.Run(method, func(t *testing.T) {
			s := newStage(t)
			job, _ := s.interruptible()
			job.options.DeleteOnInterrupt = true
			mirror, requests := s.mirror(), 0
			s.there.SetBefore(func(r *http.Request) *apierrors.StatusError {
				requests++
				// The first GET is for the message.
				if r.Method == method && requests >= 2 && s.mirror().GetResourceVersion() == mirror.GetResourceVersion() {
					s.completeMirror()
				}
				return nil
			})
			events := make(chan Event, 100)
			job.events = NewRecorder(job.clock, func(e *Event) { events <- *e })
			job.leave(t.Context(), Interrupted)
			assert.DeepEqual(t, messagesOf(events, Interrupted), []string{"its mirror on there finished, and stays until its result is copied to the origin"})
			assert.Assert(t, s.mirror() != nil)
			assert.Assert(t, job.leaveLease)
		})
	}
}
