package dispatch

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
)

// TestMirrorState checks the description of a mirror in each state. Only a running mirror "keeps
// running".
func TestMirrorState(t *testing.T) {
	planned, held, queued, ended := dispatchtest.SmallJob(t), dispatchtest.SmallJob(t), dispatchtest.SmallJob(t), dispatchtest.SmallJob(t)
	dispatchtest.Set(t, held, "spec.suspend", true)
	dispatchtest.Set(t, queued, "spec.suspend", true)
	queued.SetLabels(map[string]string{delegation.QueueNameLabel: "gpu"})
	ended.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Complete", "status": "True"}}}
	task := &task{Task: Task{Kind: delegation.Job(), Plan: &plan.Plan{Kind: delegation.Job(), Mirror: planned}}}
	task.mirrorNow = planned
	assert.Equal(t, task.mirrorState(), "keeps running")
	task.mirrorNow = held
	assert.Assert(t, strings.Contains(task.mirrorState(), "as Kueue does if it manages all Jobs"), task.mirrorState())
	task.createdUID = "uid"
	assert.Assert(t, !task.isSuspendedForCopies(), "its Pods need nothing")
	task.mirrorNow = queued
	assert.Equal(t, task.mirrorState(), "stays suspended until Kueue there admits it")
	task.mirrorNow = ended
	assert.Equal(t, task.mirrorState(), "has finished")
	task.mirrorNow, task.Plan.Mirror = held, held
	assert.Equal(t, task.mirrorState(), "stays suspended")
}
