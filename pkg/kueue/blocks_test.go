package kueue_test

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestBlocks checks that a waiting Workload blocks a StrictFIFO queue if
// Kueue retries it endlessly, also if it violates a LimitRange. A Workload
// that Kueue keeps out of the queue, as in a backoff, blocks no other.
func TestBlocks(t *testing.T) {
	const evicted = `{type: Evicted, status: "True", reason: %s, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"},
{type: Requeued, status: %q, reason: %[1]s, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}`
	for name, tt := range map[string]struct {
		reason, message, more string
		want                  bool
	}{
		"not evaluated":          {"", "", "", true},
		"no quota now":           {"WaitingForQuota", assign + "insufficient unused quota for cpu in flavor f, 1 more needed", "", true},
		"more than the limit":    {"ExceedsMaxQuota", assign + "insufficient quota for cpu in flavor f, previously considered podsets requests (0) + current podset request (9) > maximum capacity (4)", "", true},
		"it breaks a LimitRange": {"Misconfigured", "resources didn't satisfy LimitRange constraints: [spec.podSets[0].template.spec.containers[0]: Invalid value: requests exceed it]", "", true},
		"misconfigured":          {"Misconfigured", "", "", false},
		"a wrong namespace":      {"Misconfigured", "workload namespace doesn't match ClusterQueue selector", "", false},
		"its queue is stopped":   {"Suspended", "LocalQueue q is stopped", "", false},
		"in a backoff":           {"PendingEvaluation", "Exceeded the PodsReady timeout", fmt.Sprintf(evicted, "PodsReadyTimeout", "False"), false},
		"after a backoff":        {"PendingEvaluation", "Exceeded the PodsReady timeout", fmt.Sprintf(evicted, "PodsReadyTimeout", "True"), true},
		"in a backoff, in 0.18":  {"Pending", "Exceeded the PodsReady timeout", fmt.Sprintf(evicted, "PodsReadyTimeout", "False"), false},
		"preempted":              {"PendingEvaluation", "Preempted", fmt.Sprintf(evicted, "Preempted", "True"), true},
		"drained":                {"PendingEvaluation", "The ClusterQueue is stopped", fmt.Sprintf(evicted, "ClusterQueueStopped", "False"), false},
		"may not preempt yet": {
			"AdmissionGated", "Workload requires preemption, but it's gated",
			`{type: BlockedOnPreemptionGates, status: "True", reason: PreemptionGated, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}`, true,
		},
		"gated": {"AdmissionGated", "Admission is gated by: example.com/audit", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			text := "{}"
			if tt.reason != "" {
				text = fmt.Sprintf(`{status: {conditions: [{type: QuotaReserved, status: "False", reason: %q, message: %q, lastTransitionTime: "2026-01-01T00:00:00Z"}, %s]}}`, tt.reason, tt.message, tt.more)
			}
			for what, wait := range map[string]kueue.Wait{"Workload": workload(t, text).Waiting(), "claim": claimOf(t, text).Waiting()} {
				assert.Equal(t, wait.Blocks(), tt.want, "%s: %s", what, wait.Reason)
			}
		})
	}
}
