package rules_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/chain"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestTopologyIsStillToCome checks that no step is overdue while Kueue has
// reserved quota for a Workload and waits for its topology, on the worker
// and, copied from there, on the management cluster.
func TestTopologyIsStillToCome(t *testing.T) {
	for _, reason := range []string{kueue.DelayedTopology, "NoReservation"} {
		waits := `{status: {` + withConditions(gotQuota, condition("Admitted", "False", reason, "there are pending delayed topology requests")) + `}}`
		held := `{spec: {suspend: true}, status: {active: 0, ready: 0, startTime: null}}`
		v := testCase{base: "running", edits: []edit{
			patch(mgr, workload, waits), patch(mgr, "Job/train", held),
			patch(w1, workload, waits), patch(w1, "Job/train", held), remove(w1, "Pod/*"),
		}}.make(t)
		isDelayed := reason == kueue.DelayedTopology
		assert.Equal(t, len(judge(t, v, rules.All(), 0)) == 0, isDelayed, reason)
		reported := 0
		for _, h := range chain.Trace(v, v.Pairs.Pairs[0]).Hops {
			if h.Kind == "Workload" {
				assert.Equal(t, h.State, kueue.QuotaReserved)
				assert.Equal(t, h.Health, inspect.HealthWaiting)
				assert.Equal(t, h.Message == "waits for places in the topology of nodes", isDelayed, h.Message)
				reported++
			}
		}
		assert.Equal(t, reported, 2)
	}
}
