package dispatch

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
)

// setCondition adds a condition that is True to the status of a Job. at is the second of its transition;
// a negative one leaves out the time.
func setCondition(t *testing.T, o *unstructured.Unstructured, conditionType, reason string, at int) {
	t.Helper()
	condition := map[string]any{"type": conditionType, "status": "True", "reason": reason}
	if at >= 0 {
		condition["lastTransitionTime"] = second(at).UTC().Format(time.RFC3339)
	}
	conditions, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
	assert.NilError(t, err)
	dispatchtest.Set(t, o, "status.conditions", append(conditions, condition))
}

// second returns a time in whole seconds.
func second(at int) metav1.Time { return metav1.Date(2026, 11, 23, 10, 0, at, 0, time.UTC) }

// TestHasResult checks that the failure of a mirror counts only if it was decided before another client
// deleted the mirror, in second 20.
func TestHasResult(t *testing.T) {
	for name, tt := range map[string]struct {
		conditions map[string]int
		isDeleted  bool
		edit       string
		want       bool
	}{
		"running":                           {want: false},
		"running, deleted":                  {isDeleted: true, want: false},
		"failed":                            {conditions: map[string]int{"FailureTarget": 20, "Failed": 20}, want: true},
		"failed, then deleted":              {conditions: map[string]int{"FailureTarget": 10, "Failed": 19}, isDeleted: true, want: true},
		"decided, then deleted":             {conditions: map[string]int{"FailureTarget": 19, "Failed": 25}, isDeleted: true, want: true},
		"deleted, then decided":             {conditions: map[string]int{"FailureTarget": 21, "Failed": 22}, isDeleted: true, want: false},
		"deleted and decided in one second": {conditions: map[string]int{"FailureTarget": 20, "Failed": 22}, isDeleted: true, want: false},
		"deleted by the TTL controller":     {conditions: map[string]int{"FailureTarget": 20, "Failed": 20}, isDeleted: true, edit: "spec.ttlSecondsAfterFinished", want: true},
		"an old worker":                     {conditions: map[string]int{"Failed": 21}, isDeleted: true, want: false},
		"without a time":                    {conditions: map[string]int{"FailureTarget": -1, "Failed": -1}, isDeleted: true, want: true},
		"complete":                          {conditions: map[string]int{"SuccessCriteriaMet": 22, "Complete": 22}, isDeleted: true, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			mirror := dispatchtest.SmallJob(t)
			for conditionType, at := range tt.conditions {
				setCondition(t, mirror, conditionType, "BackoffLimitExceeded", at)
			}
			if tt.isDeleted {
				mirror.SetDeletionTimestamp(new(second(20)))
			}
			if tt.edit != "" {
				dispatchtest.Set(t, mirror, tt.edit, int64(0))
			}
			assert.Equal(t, hasResult(delegation.Job(), mirror), tt.want)
		})
	}
}

// TestForegroundDeletion deletes a mirror in the foreground: its Pods are deleted first, so the mirror fails
// before it is gone. The dispatch reports the deletion, and the origin does not fail.
func TestForegroundDeletion(t *testing.T) {
	jobs := delegation.Job().Resource
	s := newStage(t)
	events, ended, _ := s.start()
	expects(t, events, MirrorCreated)
	s.there.Change(t, jobs, "ml", "small", func(o *unstructured.Unstructured) {
		o.SetDeletionTimestamp(new(second(20)))
		o.SetFinalizers([]string{metav1.FinalizerDeleteDependents})
		dispatchtest.Set(t, o, "status.startTime", "2026-11-23T09:00:00Z")
		setCondition(t, o, "FailureTarget", "BackoffLimitExceeded", 21)
		setCondition(t, o, "Failed", "BackoffLimitExceeded", 21)
	})
	warned := expects(t, events, Warned)
	assert.Assert(t, strings.Contains(warned.Message, "has been terminating since 2026-11-23T10:00:20Z"), warned.Message)
	s.there.Delete(t, jobs, "ml", "small")
	expects(t, events, MirrorDeleted)
	assert.Equal(t, awaits(t, ended, "the dispatch ends").End, Aborted)
	assert.Assert(t, !object.HasFinished(delegation.Job(), s.here.Get(jobs, "ml", "small")))
}

// TestCancelOfDeletedMirror checks that an origin fails as cancelled if the deletion of its mirror made the
// mirror fail.
func TestCancelOfDeletedMirror(t *testing.T) {
	s := newStage(t)
	s.addMirror(s.there, "ml", string(s.origin.GetUID()))
	s.there.Change(t, delegation.Job().Resource, "ml", "small", func(o *unstructured.Unstructured) {
		o.SetDeletionTimestamp(new(second(20)))
		setCondition(t, o, "FailureTarget", "BackoffLimitExceeded", 21)
		setCondition(t, o, "Failed", "BackoffLimitExceeded", 21)
	})
	c, _ := s.canceller(clusterOf(t, s.there, "there"))
	assert.NilError(t, c.Cancel(t.Context(), delegation.Job(), "ml", "small"))
	assert.Equal(t, object.EndOf(delegation.Job(), s.here.Get(delegation.Job().Resource, "ml", "small")).Reason, CancelReason)
}
