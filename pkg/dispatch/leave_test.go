package dispatch

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// deletesMirror is the command that deletes the mirror of the stage.
const deletesMirror = "`kubectl --context there -n ml delete job small`"

// TestLeaveDeletedOrigin interrupts a dispatch whose origin was deleted. It tries again to delete the mirror,
// and otherwise says how, once: the commands that resume and cancel would not find the origin.
func TestLeaveDeletedOrigin(t *testing.T) {
	const (
		mayRun  = "it was deleted; its mirror on there may still run, because it could not be deleted: "
		unknown = "it was deleted; cannot tell whether it has a mirror on there: "
	)
	for name, tt := range map[string]struct {
		isTerminating, isUnknown, answers bool
		// isUnanswered is whether the request to create the mirror had no answer.
		isUnanswered bool
		message      string
	}{
		"no answer":                      {message: mayRun},
		"no answer, a terminating one":   {isTerminating: true, message: mayRun},
		"no answer, an unknown mirror":   {isUnknown: true, message: unknown},
		"no answer, a requested mirror":  {isUnknown: true, isUnanswered: true, message: unknown},
		"no answer, a requested new one": {isUnanswered: true, message: mayRun},
		"an answer":                      {answers: true, message: "it was deleted"},
		"an answer, an unknown mirror":   {answers: true, isUnknown: true, message: "it was deleted"},
		"an answer, a terminating one":   {answers: true, isTerminating: true, message: "it was deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			job, events := s.interruptible()
			if tt.isUnknown {
				job.mirrorRef.UID = ""
			}
			if tt.isUnanswered {
				job.creation.fail(apierrors.NewTimeoutError("no answer", 0))
			}
			answer := apierrors.NewServiceUnavailable("later")
			s.there.SetBefore(func(*http.Request) *apierrors.StatusError { return answer })
			gone := job.originVanished
			if tt.isTerminating {
				job.originNow = s.origin.DeepCopy()
				job.originNow.SetDeletionTimestamp(new(second(20)))
				gone = job.originGone
			} else {
				s.here.Delete(t, delegation.Job().Resource, "ml", "small")
			}
			assert.ErrorContains(t, gone(t.Context()), "later")
			if tt.answers {
				s.there.SetBefore(nil)
			}
			job.leave(t.Context(), Interrupted)
			assert.Equal(t, job.outcome.End, OriginDeleted)
			var all []string
			for len(events) > 0 {
				all = append(all, (<-events).Message)
			}
			assert.Assert(t, strings.HasPrefix(all[len(all)-1], tt.message), "%q", all)
			assert.Equal(t, strings.Count(strings.Join(all, "\n"), deletesMirror), map[bool]int{true: 0, false: 1}[tt.answers], "%q", all)
			assert.Equal(t, s.mirror() != nil, !tt.answers)
		})
	}
}

// TestLeaveEndedOrigin interrupts a dispatch whose worker does not answer after its origin has ended. If the
// origin is deleted, too, the warning names the command that deletes the mirror.
func TestLeaveEndedOrigin(t *testing.T) {
	for name, tt := range map[string]struct {
		isGone, isTerminating, isFinished, isUnanswered bool
		// warning begins a warning. deletes is whether it names the command.
		warning string
		deletes bool
	}{
		"it exists":               {warning: "its mirror on there stays until the same command is run again: "},
		"it is gone":              {isGone: true, warning: "its mirror on there may still run, because it could not be deleted: ", deletes: true},
		"it is terminating":       {isTerminating: true, warning: "its mirror on there may still run, because it could not be deleted: ", deletes: true},
		"with a finished mirror":  {isGone: true, isFinished: true, warning: "its mirror on there finished, and stays until it is deleted: ", deletes: true},
		"with a requested mirror": {isGone: true, isUnanswered: true, warning: "the request to create its mirror on there had no answer and may still arrive. Delete the mirror if it appears: ", deletes: true},
		"it exists, with a requested mirror": {
			isUnanswered: true, warning: "the request to create its mirror on there had no answer and may still arrive. Run cancel in a minute: it deletes the mirror",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			job, events := s.interruptible()
			if tt.isFinished {
				s.completeMirror()
			}
			job.mirrorNow = s.mirror()
			if tt.isUnanswered {
				job.mirrorRef.UID = ""
				job.creation.fail(apierrors.NewTimeoutError("no answer", 0))
			}
			job.originNow = s.failOrigin(CancelReason)
			if tt.isTerminating {
				job.originNow.SetDeletionTimestamp(new(second(20)))
			}
			s.there.SetBefore(func(*http.Request) *apierrors.StatusError { return apierrors.NewServiceUnavailable("later") })
			if tt.isGone {
				s.here.Delete(t, delegation.Job().Resource, "ml", "small")
				assert.ErrorContains(t, job.originVanished(t.Context()), "later")
			}
			job.leave(t.Context(), Interrupted)
			assert.Equal(t, job.outcome.End, Cancelled)
			warnings := messagesOf(events, Warned)
			assert.Assert(t, slices.ContainsFunc(warnings, func(w string) bool {
				return strings.HasPrefix(w, tt.warning) && strings.HasSuffix(w, deletesMirror) == tt.deletes
			}), "%q", warnings)
			assert.Equal(t, strings.Count(strings.Join(warnings, "\n"), deletesMirror), map[bool]int{true: 1, false: 0}[tt.deletes], "%q", warnings)
		})
	}
}

// TestUndoWithoutLease checks that --on-interrupt=delete leaves a mirror if the Lease is not held, and describes
// what the mirror does.
func TestUndoWithoutLease(t *testing.T) {
	for state, isTerminating := range map[string]bool{"keeps running": false, "is being deleted": true} {
		t.Run(state, func(t *testing.T) {
			s := newStage(t)
			job, events := s.interruptible()
			job.options.DeleteOnInterrupt = true
			job.lease.leading.Store(false)
			if isTerminating {
				s.there.Change(t, delegation.Job().Resource, "ml", "small", func(o *unstructured.Unstructured) {
					o.SetDeletionTimestamp(new(second(20)))
				})
			}
			job.leave(t.Context(), Interrupted)
			assert.DeepEqual(t, messagesOf(events, Interrupted), []string{
				"its mirror on there could not be removed, and " + state + ": its Lease is not held; another dispatcher may run it",
			})
			assert.Assert(t, s.mirror() != nil)
		})
	}
}
