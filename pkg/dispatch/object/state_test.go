package object

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
)

// TestEndOf checks that every specimen has ended as the name of its file says. Objects of kinds
// that never end have not.
func TestEndOf(t *testing.T) {
	for _, s := range dispatchtest.Specimens(t) {
		t.Run(s.Name(), func(t *testing.T) {
			how := EndOf(s.Kind, s.Object)
			complete, failed := strings.HasPrefix(s.State, "succeeded"), strings.HasPrefix(s.State, "failed")
			if !complete && !failed || s.Kind.NeverEnds() {
				assert.Assert(t, how == nil, "%+v", how)
				return
			}
			assert.Assert(t, how != nil)
			assert.Equal(t, how.Failed, failed)
		})
	}
	for _, k := range delegation.Kinds() {
		never := slices.Contains([]string{"cronjob", "raycluster", "rayservice", "raycronjob", "statefulset", "leaderworkerset"}, k.Name)
		assert.Equal(t, k.NeverEnds(), never, k.Name)
	}
}

func TestEndOfReason(t *testing.T) {
	rayJob, _ := delegation.KindNamed("rayjob")
	jobSet, _ := delegation.KindNamed("jobset")
	how := EndOf(jobSet, dispatchtest.AsServed(t, `{status: {conditions: [{type: Suspended, status: "False"}, {type: Failed, status: "True", reason: FailedJobs, message: because, lastTransitionTime: "2026-08-20T09:00:00Z"}]}}`))
	assert.Equal(t, *how, End{Failed: true, Reason: "FailedJobs", Message: "because", At: time.Date(2026, 8, 20, 9, 0, 0, 0, time.UTC)})
	how = EndOf(rayJob, dispatchtest.AsServed(t, `{status: {jobDeploymentStatus: Failed, reason: DeadlineExceeded, message: late, endTime: "2026-08-20T09:00:00Z"}}`))
	assert.Equal(t, *how, End{Failed: true, Reason: "DeadlineExceeded", Message: "late", At: time.Date(2026, 8, 20, 9, 0, 0, 0, time.UTC)})
	// An object that is being deleted may have ended before.
	assert.Assert(t, EndOf(jobSet, dispatchtest.AsServed(t, `{metadata: {deletionTimestamp: "2026-08-20T09:00:00Z"}, status: {conditions: [{type: Completed, status: "True"}]}}`)) != nil)
}
