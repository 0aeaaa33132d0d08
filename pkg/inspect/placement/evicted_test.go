package placement_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestEvictedWithQuota checks that a Workload that Kueue has evicted waits, also while it still holds quota.
func TestEvictedWithQuota(t *testing.T) {
	reserved := func(more, admitted string) string {
		return simple("4") + `own: {metadata: {uid: o}, spec: {queueName: q}, status: {admission: {clusterQueue: q}, ` + more + `conditions: [
  {type: QuotaReserved, status: "True", reason: QuotaReserved, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"},` + admitted + `
  {type: Evicted, status: `
	}
	admitted := func(status, at string) string {
		return `
  {type: Admitted, status: "` + status + `", reason: "", message: "", lastTransitionTime: "2026-01-01T00:` + at + `Z"},`
	}
	own := func(more string) string { return reserved(more, admitted("True", "00:00")) }
	never := admitted("False", "00:00")
	const evictedLater = `, message: "", lastTransitionTime: "2026-01-01T00:05:00Z"}]}}`
	const gate = `admissionChecks: [{name: gate, state: Pending, message: "Reset to Pending after eviction. Previously: Retry", lastTransitionTime: "2026-01-01T00:00:00Z"}], `
	const pending = "has quota; AdmissionCheck gate is pending again: its last answer was Retry"
	const at = `, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]}}`
	for name, tt := range map[string]struct {
		cluster, message string
		verdict          inspect.Verdict
	}{
		"preempted":                          {own("") + `"True", reason: Preempted` + at, "preempted by another Workload; releases its quota when its Pods are gone", inspect.Waits},
		"not ready":                          {own(`requeueState: {requeueAt: "2026-01-01T00:04:00Z"}, `) + `"True", reason: PodsReadyTimeout` + at, "evicted because its Pods were not ready in time; waits until 2026-01-01 00:04:00Z, when Kueue queues it again; releases its quota when its Pods are gone", inspect.Waits},
		"its node died":                      {own("") + `"True", reason: NodeFailures` + at, "evicted; releases its quota when its Pods are gone", inspect.Waits},
		"never admitted":                     {reserved("", never) + `"True", reason: Preempted` + evictedLater, "preempted by another Workload; Kueue has not released its quota yet", inspect.Waits},
		"never admitted, no condition":       {reserved("", "") + `"True", reason: Preempted` + evictedLater, "preempted by another Workload; Kueue has not released its quota yet", inspect.Waits},
		"a check refused before it ran":      {reserved(gate, never) + `"True", reason: AdmissionCheck` + evictedLater, pending, inspect.Waits},
		"a check refused while it ran":       {reserved(gate, admitted("False", "05:00")) + `"True", reason: AdmissionCheck` + evictedLater, "waits until Kueue queues it again; releases its quota when its Pods are gone", inspect.Waits},
		"evicted before, and admitted again": {own("") + `"False", reason: QuotaReserved` + at, "has quota", inspect.Fits},
	} {
		t.Run(name, func(t *testing.T) {
			p := judged(t, tt.cluster, pods("1", "cpu: 1"))
			assert.Equal(t, p.Verdict, tt.verdict, p.Message)
			assert.Equal(t, p.Message, tt.message)
		})
	}
}
