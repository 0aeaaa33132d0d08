package placement_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestEvictedWithQuota checks that a Workload that Kueue has evicted waits, also while it still holds quota.
func TestEvictedWithQuota(t *testing.T) {
	own := func(more string) string {
		return simple("4") + `own: {metadata: {uid: o}, spec: {queueName: q}, status: {admission: {clusterQueue: q}, ` + more + `conditions: [
  {type: QuotaReserved, status: "True", reason: QuotaReserved, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"},
  {type: Evicted, status: `
	}
	const at = `, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]}}`
	for name, tt := range map[string]struct {
		cluster, message string
		verdict          inspect.Verdict
	}{
		"preempted":                          {own("") + `"True", reason: Preempted` + at, "preempted by another Workload; releases its quota when its Pods are gone", inspect.Waits},
		"not ready":                          {own(`requeueState: {requeueAt: "2026-01-01T00:04:00Z"}, `) + `"True", reason: PodsReadyTimeout` + at, "waits until 2026-01-01 00:04:00Z, when Kueue queues it again; releases its quota when its Pods are gone", inspect.Waits},
		"its node died":                      {own("") + `"True", reason: NodeFailures` + at, "evicted; releases its quota when its Pods are gone", inspect.Waits},
		"evicted before, and admitted again": {own("") + `"False", reason: QuotaReserved` + at, "has quota", inspect.Fits},
	} {
		t.Run(name, func(t *testing.T) {
			p := judged(t, tt.cluster, pods("1", "cpu: 1"))
			assert.Equal(t, p.Verdict, tt.verdict, p.Message)
			assert.Equal(t, p.Message, tt.message)
		})
	}
}
