package rules_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/answer"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// asBefore013 changes objects into what Kueue 0.12 writes: it records neither
// the clusters that a Workload was offered to, nor the one that has it.
func asBefore013(o map[string]any) {
	if version, _ := o["apiVersion"].(string); !strings.HasPrefix(version, "kueue.x-k8s.io/") {
		return
	}
	o["apiVersion"] = "kueue.x-k8s.io/v1beta1"
	status, _ := o["status"].(map[string]any)
	delete(status, "clusterName")
	delete(status, "nominatedClusterNames")
	checks, _ := status["admissionChecks"].([]any)
	for _, check := range checks {
		c, _ := check.(map[string]any)
		if message, _ := c["message"].(string); message != "" {
			c["message"] = strings.Replace(message, "was admitted on", "got reservation on", 1)
		}
	}
}

// TestBeforeKueue013 checks that if Kueue does not record its offers, no
// finding says that there are none, and no remedy deletes what Kueue may have
// placed. What a worker has admitted is known.
func TestBeforeKueue013(t *testing.T) {
	reserved := patch("kwok-w1", "Workload/job-train-1c348", `{status: {
		admissionChecks: [{name: provisioning, state: Pending, message: "", lastTransitionTime: "2026-11-20T23:43:18Z"}], conditions: [
		{type: QuotaReserved, status: "True", reason: QuotaReserved, message: "", lastTransitionTime: "2026-11-20T23:43:18Z"}]}}`)
	away := []edit{unreachable("kwok-w1"), unreachable("kwok-w2")}
	for name, tt := range map[string]struct {
		base    string
		edits   []edit
		summary string
		codes   []string
	}{
		"running":                        {"running", nil, "running on kwok-w1. 0/2 completions.", nil},
		"running on an unread cluster":   {"running", away, "state unknown. Kueue says that it runs on worker1: 0/2 completions. Cannot read kwok-w1: connection refused.", nil},
		"reserved, and not admitted":     {"running", []edit{reserved}, "", nil},
		"waiting":                        {"no-quota-on-workers", nil, "not running. No worker admits it. kwok-w1, kwok-w2: needs 2 cpu, limit 1 (flavor default-flavor).", []string{"JM029"}},
		"waiting on unread clusters":     {"no-quota-on-workers", away, "waiting. Kueue on kwok-mgr reserved quota and offered it to worker1 and worker2. Cannot see why no worker admits it: cannot read worker1 and worker2: connection refused.", []string{"JM135"}},
		"taken out of the configuration": {"cluster-removed-from-config", nil, "", []string{"JM107"}},
	} {
		t.Run(name, func(t *testing.T) {
			v := testCase{base: tt.base, edits: tt.edits, mutate: asBefore013}.make(t)
			assert.Equal(t, v.Facts("kwok-mgr").Kueue.Version, "v1beta1")
			assert.DeepEqual(t, codesOf(judge(t, v, rules.All(), 0)), tt.codes)
			if tt.summary != "" {
				assert.Equal(t, answer.Trace(v, only(t, v.Pairs.Pairs)).Summary, tt.summary)
			}
		})
	}
}

func only(t *testing.T, pairs []inspect.Pair) inspect.Pair {
	t.Helper()
	assert.Equal(t, len(pairs), 1)
	return pairs[0]
}
