package dispatch

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
)

// messagesOf returns the messages of the recorded events of a type.
func messagesOf(events chan Event, want EventType) (messages []string) {
	for len(events) > 0 {
		if e := <-events; e.Event == want {
			messages = append(messages, e.Message)
		}
	}
	return messages
}

// losesCreation makes the first creation of the mirror time out, and calls then before the answer. Later
// creations fail the test.
func (s *stage) losesCreation(then func()) {
	s.Helper()
	isFirst := true
	s.there.Before = func(r *http.Request) *apierrors.StatusError {
		if !isCreation(r) {
			return nil
		}
		assert.Check(s, isFirst, "the mirror is requested again")
		isFirst = false
		then()
		return apierrors.NewTimeoutError("no answer", 0)
	}
}

// failOrigin ends the origin as failed, and returns it.
func (s *stage) failOrigin(reason string) *unstructured.Unstructured {
	s.Helper()
	s.here.Change(s.T, delegation.Job().Resource, "ml", "small", func(o *unstructured.Unstructured) {
		dispatchtest.Set(s.T, o, "status.conditions", []any{map[string]any{"type": "Failed", "status": "True", "reason": reason}})
	})
	return s.here.Get(delegation.Job().Resource, "ml", "small")
}

// TestEndWithUnclearMirror checks that a task deletes a mirror whose creation got no answer if its origin
// ends, even if it knows an earlier mirror. A mirror that may still be created is reported.
func TestEndWithUnclearMirror(t *testing.T) {
	finish := func(s *stage, job *task) error {
		s.Helper()
		job.originNow = s.failOrigin(CancelReason)
		return job.finish(s.Context(), job.originNow, object.EndOf(delegation.Job(), job.originNow))
	}
	gone := func(s *stage, job *task) error {
		s.Helper()
		s.here.Delete(s.T, delegation.Job().Resource, "ml", "small")
		return job.originGone(s.Context())
	}
	abort := func(s *stage, job *task) error {
		_, err := job.yield(s.Context(), &heldError{Holder: "theirs"})
		return err
	}
	for _, tt := range []struct {
		name string
		end  func(*stage, *task) error
		// known is the UID of an earlier mirror. lands is whether the request creates a mirror.
		known string
		lands bool
		want  EventType
		// remedy is part of the warning. keepsLease is whether the Lease remains.
		remedy     string
		keepsLease bool
	}{
		{name: "cancelled", end: finish, lands: true, want: Cancelled},
		{name: "cancelled during --new-mirror", end: finish, known: "gone-uid", lands: true, want: Cancelled},
		{name: "cancelled before it arrives", end: finish, want: Cancelled, remedy: "Run cancel in a minute", keepsLease: true},
		{name: "cancelled during --new-mirror before it arrives", end: finish, known: "gone-uid", want: Cancelled, remedy: "Run cancel in a minute", keepsLease: true},
		{name: "deleted", end: gone, lands: true, want: OriginDeleted},
		{name: "deleted before it arrives", end: gone, want: OriginDeleted, remedy: "Delete the mirror if it appears: `kubectl --context there -n ml delete job small`"},
		{name: "another dispatcher has it", end: abort, want: Aborted, remedy: "Run the same command again", keepsLease: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t)
			loop, events := s.loop()
			job := loop.add(s.tasks[0], quickTiming())
			job.mirrorRef.UID = tt.known
			assert.ErrorContains(t, job.creationFailed(apierrors.NewTimeoutError("no answer", 0)), "no answer")
			if tt.lands {
				s.addMirror(s.there, "ml", string(s.origin.GetUID()))
			}
			assert.NilError(t, tt.end(s, job))
			assert.Equal(t, job.outcome.End, tt.want)
			assert.Assert(t, s.mirror() == nil)
			assert.Equal(t, job.leaveLease, tt.keepsLease)
			warnings := messagesOf(events, Warned)
			if tt.remedy == "" {
				assert.Equal(t, len(warnings), 0, "%q", warnings)
				return
			}
			assert.Assert(t, len(warnings) == 1 && strings.Contains(warnings[0], "may still arrive") && strings.Contains(warnings[0], tt.remedy), "%q", warnings)
		})
	}
}

// TestCancelDuringLostCreation cancels a dispatch while the request to create its mirror has no answer.
// The dispatch and cancel both report that a mirror may still be created, and a second cancel deletes it.
func TestCancelDuringLostCreation(t *testing.T) {
	s := newStage(t)
	there := clusterOf(t, s.there, "there")
	var cancelled []Event
	cancel := func() {
		c, events := s.canceller(there)
		assert.Check(t, c.Cancel(t.Context(), delegation.Job(), "ml", "small"))
		cancelled = *events
	}
	isRiskReported := func(e Event) bool {
		return e.Event == Warned && strings.Contains(e.Message, "me holds its Lease "+delegation.LeaseName("small"))
	}
	s.losesCreation(cancel)
	events, ended, _ := s.start()
	warned := expects(t, events, Warned)
	for !strings.Contains(warned.Message, "may still arrive") {
		warned = expects(t, events, Warned)
	}
	assert.Equal(t, awaits(t, ended, "the dispatch ends").End, Cancelled)
	assert.Assert(t, slices.ContainsFunc(cancelled, isRiskReported), "%v", cancelled)
	lease := s.here.Get(leases(), "ml", delegation.LeaseName("small"))
	assert.Assert(t, lease != nil && content.StringAt(lease, "spec", "holderIdentity") == "")

	s.addMirror(s.there, "ml", string(s.origin.GetUID()))
	cancel()
	assert.Assert(t, s.mirror() == nil)
	assert.Assert(t, s.here.Get(leases(), "ml", delegation.LeaseName("small")) == nil)
	assert.Assert(t, !slices.ContainsFunc(cancelled, isRiskReported), "%v", cancelled)
}

// TestFoundAfterLostCreation checks that a task which has found its mirror no longer expects the lost
// request.
func TestFoundAfterLostCreation(t *testing.T) {
	s := newStage(t)
	var once sync.Once
	s.losesCreation(func() { once.Do(func() { s.addMirror(s.there, "ml", string(s.origin.GetUID())) }) })
	events, ended, _ := s.start()
	expects(t, events, MirrorFound)
	s.failOrigin("Enough")
	assert.Equal(t, awaits(t, ended, "the dispatch ends").End, JobFailed)
	assert.Assert(t, s.mirror() == nil)
	for _, message := range messagesOf(events, Warned) {
		assert.Assert(t, !strings.Contains(message, "may still arrive"), message)
	}
	assert.Assert(t, s.here.Get(leases(), "ml", delegation.LeaseName("small")) == nil)
}
