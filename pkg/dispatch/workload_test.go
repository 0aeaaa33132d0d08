package dispatch

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
)

// written returns an object with a patched status.
func written(t *testing.T, o *unstructured.Unstructured, status any) *unstructured.Unstructured {
	t.Helper()
	return dispatchtest.Patched(t, o, map[string]any{"status": status})
}

// TestCopied copies the status of every specimen to an origin in every other state of its kind.
// Afterwards the statuses are equal, and nothing more has to be written.
func TestCopied(t *testing.T) {
	all := dispatchtest.Specimens(t)
	for _, from := range all {
		for _, to := range all {
			if from.Kind.Resource != to.Kind.Resource {
				continue
			}
			c := workloadOf(from.Kind).newCopier(0)
			made, err := c.statusFor(to.Object, from.Object, false)
			assert.NilError(t, err)
			if equivalent(from.Object.Object["status"], to.Object.Object["status"]) {
				assert.Assert(t, made.status == nil, "%s to %s: %v", from.Name(), to.Name(), made.status)
				continue
			}
			stored := written(t, to.Object, made.status)
			assert.Assert(t, equivalent(stored.Object["status"], from.Object.Object["status"]), "%s to %s: %v", from.Name(), to.Name(), stored.Object["status"])
			assert.Equal(t, made.ended != nil, object.EndOf(from.Kind, stored) != nil)
			assert.Equal(t, c.onStored(from.Object, stored), "")
			again, err := c.statusFor(stored, from.Object, false)
			assert.NilError(t, err)
			assert.Assert(t, again.status == nil, "%s to %s: %v", from.Name(), to.Name(), again.status)
			assert.Assert(t, !c.onRefused())
		}
	}
}

// TestCopiedToAnotherVersion has an origin whose API server drops part of the mirror's status,
// and adds a field of its own. That is reported once, and the write is not repeated until one of
// the statuses changes.
func TestCopiedToAnotherVersion(t *testing.T) {
	jobSet, _ := delegation.KindNamed("jobset")
	c := workloadOf(jobSet).newCopier(0)
	mirror := dispatchtest.AsServed(t, `{status: {restarts: 1, novel: {deep: [1]}, conditions: [], nothing: null}}`)
	origin := dispatchtest.AsServed(t, `{status: {}}`)
	made, err := c.statusFor(origin, mirror, false)
	assert.NilError(t, err)
	assert.DeepEqual(t, made.status, map[string]any{"restarts": int64(1), "novel": map[string]any{"deep": []any{int64(1)}}, "conditions": []any{}, "nothing": nil})
	stored := dispatchtest.AsServed(t, `{status: {restarts: 1, phase: Defaulted}}`)
	const lost = "the origin's API server does not know status.novel, which the mirror has; the rest of its status is copied"
	assert.Equal(t, c.onStored(mirror, stored), lost)
	made, err = c.statusFor(stored, mirror, false)
	assert.NilError(t, err)
	assert.Assert(t, made.status == nil)
	assert.DeepEqual(t, made.diverged, []string{lost})

	mirror = dispatchtest.AsServed(t, `{status: {restarts: 2, novel: {deep: [1]}}}`)
	made, err = c.statusFor(stored, mirror, false)
	assert.NilError(t, err)
	assert.DeepEqual(t, made.status, map[string]any{"restarts": int64(2), "novel": map[string]any{"deep": []any{int64(1)}}, "phase": nil})
	// A mirror without a status clears the origin's status.
	made, err = c.statusFor(stored, dispatchtest.AsServed(t, `{metadata: {name: a}}`), false)
	assert.NilError(t, err)
	assert.DeepEqual(t, made.status, map[string]any{"restarts": nil, "phase": nil})
}

// TestFailed fails an origin in every unfinished state, with the given reason, and only through
// the signs of its kind.
func TestFailed(t *testing.T) {
	now := time.Date(2026, 8, 20, 12, 0, 0, 0, time.UTC)
	unable := map[string]bool{}
	for _, s := range dispatchtest.Specimens(t) {
		if s.Kind.Template || s.Kind.IsUnmanaged() || object.EndOf(s.Kind, s.Object) != nil || object.StatusOf(s.Kind, s.Object) == delegation.Failed {
			continue
		}
		t.Run(s.Name(), func(t *testing.T) {
			status, err := workloadOf(s.Kind).failedStatus(s.Object, CancelReason, "cancelled by a user", now)
			assert.NilError(t, err)
			if status == nil {
				unable[s.Kind.Name] = true
				return
			}
			stored := written(t, s.Object, status)
			assert.Equal(t, object.StatusOf(s.Kind, stored), delegation.Failed)
			assert.DeepEqual(t, stored.Object["spec"], s.Object.Object["spec"])
			if how := object.EndOf(s.Kind, stored); !s.Kind.NeverEnds() {
				assert.Equal(t, how.Reason+": "+how.Message, CancelReason+": cancelled by a user")
				if len(s.Kind.Indicators.End) > 0 {
					assert.Assert(t, s.Kind.Ended(object.StateOf(s.Kind, stored)).Equal(now))
				}
			}
			// A failed object is not failed again.
			status, err = workloadOf(s.Kind).failedStatus(stored, CancelReason, "again", now)
			assert.NilError(t, err)
			assert.Assert(t, status == nil)
			stopped, err := workloadOf(s.Kind).stoppedStatus(stored)
			assert.NilError(t, err)
			assert.Assert(t, written(t, stored, stopped).Object["status"] == nil)
		})
	}
	assert.DeepEqual(t, unable, map[string]bool{"rayservice": true})
}

// TestFailedLeavesNothingRunning checks that signs of running are removed, and that counts of
// finished work remain.
func TestFailedLeavesNothingRunning(t *testing.T) {
	now := time.Date(2026, 8, 20, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct{ kind, origin, want string }{
		{
			"jobset", `{status: {restarts: 1, replicatedJobsStatus: [{name: a, active: 2, ready: 1, succeeded: 3}, {name: b, active: 0}]}}`,
			`{status: {restarts: 1, replicatedJobsStatus: [{name: a, active: 0, ready: 0, succeeded: 3}, {name: b, active: 0}],
			  conditions: [{type: Failed, status: "True", reason: R, message: M, lastTransitionTime: "2026-08-20T12:00:00Z"}]}}`,
		},
		{
			"pytorchjob", `{status: {startTime: "2026-08-20T11:00:00Z", conditions: [{type: Created, status: "True"}, {type: Running, status: "True", reason: A, lastUpdateTime: x}]}}`,
			`{status: {startTime: "2026-08-20T11:00:00Z", completionTime: "2026-08-20T12:00:00Z", conditions: [{type: Created, status: "True"},
			  {type: Running, status: "False", reason: R, message: M, lastUpdateTime: x, lastTransitionTime: "2026-08-20T12:00:00Z"},
			  {type: Failed, status: "True", reason: R, message: M, lastTransitionTime: "2026-08-20T12:00:00Z"}]}}`,
		},
		{
			"pipelinerun", `{status: {conditions: [{type: Succeeded, status: Unknown, reason: Running}]}}`,
			`{status: {completionTime: "2026-08-20T12:00:00Z", conditions: [{type: Succeeded, status: "False", reason: R, message: M, lastTransitionTime: "2026-08-20T12:00:00Z"}]}}`,
		},
		{
			"appwrapper", `{status: {phase: Running, conditions: [{type: ResourcesDeployed, status: "True"}]}}`,
			`{status: {phase: Failed, reason: R, message: M, conditions: [{type: ResourcesDeployed, status: "False", reason: R, message: M, lastTransitionTime: "2026-08-20T12:00:00Z"}]}}`,
		},
		{"raycluster", `{status: {state: ready, availableWorkerReplicas: 2}}`, `{status: {state: failed, availableWorkerReplicas: 2, reason: R, message: M}}`},
	} {
		t.Run(tt.kind, func(t *testing.T) {
			k, _ := delegation.KindNamed(tt.kind)
			origin := dispatchtest.AsServed(t, tt.origin)
			status, err := workloadOf(k).failedStatus(origin, "R", "M", now)
			assert.NilError(t, err)
			assert.DeepEqual(t, written(t, origin, status).Object, dispatchtest.AsServed(t, tt.want).Object)
			assert.DeepEqual(t, origin.Object, dispatchtest.AsServed(t, tt.origin).Object)
		})
	}
	// A malformed status is replaced.
	jobSet, _ := delegation.KindNamed("jobset")
	status, err := workloadOf(jobSet).failedStatus(dispatchtest.AsServed(t, `{status: broken}`), "R", "M", now)
	assert.NilError(t, err)
	assert.Equal(t, object.StatusOf(jobSet, written(t, dispatchtest.AsServed(t, `{}`), status)), delegation.Failed)
}
