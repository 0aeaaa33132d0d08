package placement_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestShortBehindHead checks that a request that lacks quota behind the head of a StrictFIFO queue waits for
// the head, and that no change of quota is offered: the head would still come first.
func TestShortBehindHead(t *testing.T) {
	t.Parallel()
	const mine = "\nown: {metadata: {uid: o}, spec: {priority: 0}}"
	workloads := "workloads: [" + waiting("head", "3") + ", " + holding("q", "a", "f", "2", "10") + "]"
	p := judged(t, strict("4")+workloads, pods("3", "cpu: 1"))
	assert.Equal(t, string(p.Verdict), "waits", p.Message)
	assert.Equal(t, p.Reason, inspect.BehindInQueue)
	assert.Equal(t, p.Message, "behind ml/head (priority 0) in ClusterQueue q (StrictFIFO); needs 3 cpu, 2 free (flavor f)")
	assert.Equal(t, len(p.Changes), 0, "%+v", p.Changes)
	assert.Equal(t, len(p.Holders), 1)
	assert.Equal(t, p.Holders[0].Name, "head")

	// Kueue has not judged the second one: it only retries the first.
	const tooLarge = `conditions: [{type: QuotaReserved, status: "False", reason: ExceedsMaxQuota, lastTransitionTime: "2026-01-01T00:00:00Z", message: "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor f, previously considered podsets requests (0) + current podset request (9) > maximum capacity (4)"}]`
	second := "workloads: [" + strings.Replace(waiting("head", "9"), "status: {", "status: {"+tooLarge+", ", 1) + ", " + waiting("second", "1") + "]"
	p = judged(t, strict("4")+second, pods("3", "cpu: 1"))
	assert.Equal(t, p.Message, "behind ml/head (priority 0), which can never fit there, in ClusterQueue q (StrictFIFO)")
	assert.Equal(t, len(p.Holders), 1)
	assert.Equal(t, len(p.Blockers), 2)
	assert.Equal(t, p.Blockers[0].Name+" "+p.Blockers[1].Name, "head second")

	p = judged(t, simple("4")+workloads+mine, pods("3", "cpu: 1"))
	assert.Equal(t, p.Reason, inspect.QuotaInUse, "%s: in a BestEffortFIFO queue, no Workload waits for the head", p.Message)
	assert.Equal(t, len(p.Changes), 1, "%+v", p.Changes)

	// Kueue tries a Workload first while it preempts others for it, even if another is ahead.
	preempting := strict("4") + own("WaitingForPreemptedWorkloads", "Pending the preemption of 1 workload(s)") + workloads
	p = judged(t, preempting, pods("3", "cpu: 1"))
	assert.Equal(t, p.Reason, inspect.QuotaInUse, p.Message)
}
