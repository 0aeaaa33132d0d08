package placement_test

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
)

// TestChoosesFlavor checks which of two flavors a Job gets or waits for. Flavors f and g have 4 cpu each in
// the queue, and as much in its cohort.
func TestChoosesFlavor(t *testing.T) {
	const (
		within   = "preemption: {withinClusterQueue: LowerPriority}"
		reclaims = "preemption: {withinClusterQueue: LowerPriority, reclaimWithinCohort: Any}"
		prefers  = ", flavorFungibility: {whenCanBorrow: TryNextFlavor, preference: PreemptionOverBorrowing}"
		borrows  = ", flavorFungibility: {whenCanBorrow: TryNextFlavor, preference: BorrowingOverPreemption}"
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
		"prefers borrowing": {
			shared(within + borrows), []string{holding("q", "a", "f", "4", low), holding("q", "b", "g", "4", low), holding("r", "c", "g", "4", low)}, pods("4", "cpu: 1"), inspect.Fits, "f", false,
		},
		"prefers preemption": {
			shared(within + prefers), []string{holding("q", "a", "f", "4", low), holding("q", "b", "g", "4", low), holding("r", "c", "g", "4", low)}, pods("4", "cpu: 1"), inspect.Waits, "g", true,
		},
		"prefers preemption, and has no victims": {
			shared(within + prefers), []string{holding("q", "a", "f", "4", low), holding("q", "b", "g", "4", high), holding("r", "c", "g", "4", low)}, pods("4", "cpu: 1"), inspect.Fits, "f", false,
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

// TestPreferenceOfVersions checks a Job that fits in the first flavor by borrowing, and only waits in the
// second. Some versions before 0.20 prefer the second one.
func TestPreferenceOfVersions(t *testing.T) {
	const quotas = "namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: 4}]}, {name: g, resources: [{name: cpu, nominalQuota: 4}]}]}]"
	const prefers = "preemption: {withinClusterQueue: LowerPriority}, flavorFungibility: {whenCanBorrow: TryNextFlavor, preference: "
	for _, tt := range []struct {
		preference string
		isOld      bool
		verdict    inspect.Verdict
		says       string
	}{
		{"PreemptionOverBorrowing", false, inspect.Fits, "fits now"},
		{"PreemptionOverBorrowing", true, inspect.Unknown, "some versions of Kueue prefer a flavor in which the Job only waits"},
		{"BorrowingOverPreemption", true, inspect.Fits, "fits now"},
	} {
		w := parse[world](t, strings.Replace(plain, "{name: f}", "{name: f}}, {metadata: {name: g}", 1)+"queues:\n- {metadata: {name: q}, spec: {cohortName: x, "+
			quotas+", "+prefers+tt.preference+"}}}\n- {metadata: {name: r}, spec: {cohortName: x, "+quotas+"}}\nworkloads: ["+
			strings.Join([]string{holding("q", "a", "f", "3", "9"), holding("q", "b", "g", "1", "9"), holding("r", "c", "g", "7", "0")}, ", ")+"]\n")
		j := parse[batchv1.Job](t, pods("3", "cpu: 1"))
		j.Namespace = "ml"
		r := placement.OfJob(&j, "q")
		f := w.facts()
		f.Kueue.ServesOld = tt.isOld
		p := placement.On(f, &r, nil, time.Now())
		assert.Equal(t, p.Verdict, tt.verdict, p.Message)
		assert.Assert(t, strings.Contains(p.Message, tt.says), p.Message)
	}
}
