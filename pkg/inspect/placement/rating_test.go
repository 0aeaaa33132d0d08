package placement_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestChoosesFlavor checks which of two flavors a Job gets or waits for. Flavors f and g have 4 cpu each in
// the queue, and as much in its cohort.
func TestChoosesFlavor(t *testing.T) {
	const (
		within   = "preemption: {withinClusterQueue: LowerPriority}"
		reclaims = "preemption: {withinClusterQueue: LowerPriority, reclaimWithinCohort: Any}"
		quotas   = "namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: 4}]}, {name: g, resources: [{name: cpu, nominalQuota: 4}]}]}]"
	)
	alone := func(more string) string { return "- {metadata: {name: q}, spec: {" + quotas + ", " + more + "}}\n" }
	shared := func(more string) string {
		return "- {metadata: {name: q}, spec: {cohortName: x, " + quotas + ", " + more + "}}\n- {metadata: {name: r}, spec: {cohortName: x, " + quotas + "}}\n"
	}
	low, high := "0", "2000"
	for name, tt := range map[string]struct {
		queues    string
		workloads []string
		job       string
		verdict   inspect.Verdict
		flavor    string
		preempts  bool
	}{
		"the first that waits": {alone(within), []string{holding("q", "a", "f", "4", high), holding("q", "b", "g", "4", high)}, pods("4", "cpu: 1"), inspect.Waits, "f", false},
		"the one that can preempt": {
			alone(within), []string{holding("q", "a", "f", "4", high), holding("q", "b", "g", "4", low)}, pods("4", "cpu: 1"), inspect.Waits, "g", true,
		},
		"the first that can preempt": {
			alone(within), []string{holding("q", "a", "f", "4", low), holding("q", "b", "g", "4", low)}, pods("4", "cpu: 1"), inspect.Waits, "f", true,
		},
		"may stop at the first that can preempt": {
			alone(within + ", flavorFungibility: {whenCanPreempt: MayStopSearch}"), []string{holding("q", "a", "f", "4", low)}, pods("4", "cpu: 1"), inspect.Waits, "f", true,
		},
		"does not stop at one without victims": {
			alone(within + ", flavorFungibility: {whenCanPreempt: MayStopSearch}"), []string{holding("q", "a", "f", "4", high)}, pods("4", "cpu: 1"), inspect.Fits, "g", false,
		},
		"all Pods preempt in the second, rather than some fit": {
			alone(within), []string{holding("q", "a", "f", "3", high), holding("q", "b", "g", "4", low)}, flexible("4", "1"), inspect.Waits, "g", true,
		},
		"reclaims rather than preempts": {
			shared(reclaims), []string{holding("q", "a", "f", "4", low), holding("r", "b", "f", "4", high), holding("r", "c", "g", "8", high)}, pods("4", "cpu: 1"), inspect.Waits, "g", true,
		},
		"borrows by default": {
			shared(within), []string{holding("q", "a", "f", "4", low), holding("q", "b", "g", "4", low), holding("r", "c", "g", "4", low)}, pods("4", "cpu: 1"), inspect.Fits, "f", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			world := strings.Replace(plain, "{name: f}", "{name: f}}, {metadata: {name: g}", 1) + "queues:\n" + tt.queues + "workloads: [" + strings.Join(tt.workloads, ", ") + "]\n"
			p := judged(t, world+urgent, tt.job)
			assert.Equal(t, p.Verdict, tt.verdict, p.Message)
			assert.Equal(t, p.Flavor, tt.flavor, p.Message)
			assert.Equal(t, p.Preempts, tt.preempts, p.Message)
		})
	}
}
