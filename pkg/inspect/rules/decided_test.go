package rules_test

import (
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/answer"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/chain"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// TestDecidedEnd checks that a Job whose end is decided neither starts nor has retries left, although a Pod has not
// ended yet, and that a finding about that Pod keeps this.
func TestDecidedEnd(t *testing.T) {
	const (
		fails     = `{type: FailureTarget, status: "True", reason: PodFailurePolicy, message: "rule at index 0", lastTransitionTime: "2026-11-20T23:43:30Z"}`
		completes = `{type: SuccessCriteriaMet, status: "True", reason: SuccessPolicy, message: "Matched rules at index 0", lastTransitionTime: "2026-11-20T23:43:30Z"}`
	)
	decided := func(counts, condition, deletedBy string) []edit {
		status := `{status: {active: 0, ready: 0, terminating: 1, ` + counts + `, conditions: [` + condition + `]}}`
		return []edit{
			patch("kwok-mgr", "Job/train", status), patch("kwok-w1", "Job/train", status),
			patch("kwok-w1", "Pod/train-srrml", `{status: {phase: `+map[bool]string{true: "Failed", false: "Succeeded"}[condition == fails]+`}}`),
			patch("kwok-w1", "Pod/train-z78r4", `{metadata: {deletionGracePeriodSeconds: 30, deletionTimestamp: "`+deletedBy+`"}}`),
		}
	}
	const now, before = "2026-11-21T00:43:30Z", "2026-11-20T23:43:31Z"
	const lost = "1 Pod of its mirror on kwok-w1 lost (train-z78r4): node node-000000 does not confirm its end. "
	for name, tt := range map[string]struct {
		edits   []edit
		state   inspect.JobState
		message string
	}{
		"fails":                           {decided("failed: 1", fails, now), inspect.StateFailing, "It fails by PodFailurePolicy: rule at index 0; 1 Pod has not ended."},
		"completes":                       {decided("succeeded: 1", completes, now), inspect.StateRunning, "It completes by SuccessPolicy: Matched rules at index 0; 1 Pod has not ended."},
		"completes, and a node is silent": {decided("succeeded: 1", completes, before), inspect.StateRunning, lost + "It completes by SuccessPolicy: Matched rules at index 0."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := testCase{base: "running", edits: tt.edits}
			if name == "completes, and a node is silent" {
				c.later = 10 * time.Minute
			}
			v := c.make(t)
			p := only(t, v.Pairs.Pairs)
			trace := chain.Trace(v, p)
			trace.Findings = slices.DeleteFunc(judge(t, v, rules.All(), 0), func(f inspect.Finding) bool { return f.Code != "JM049" })
			a := (&answer.Question{Inventory: v, Pair: p, Trace: trace}).Answer()
			assert.Equal(t, a.State, tt.state)
			assert.Equal(t, a.Message, tt.message)
		})
	}
}
