package rules_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// TestQuotaBeyondWorkers checks that the fix of a resource that no worker has names the ClusterQueues of the workers with
// their kind and context, and that the sum of several flavors is not called the quota of each.
func TestQuotaBeyondWorkers(t *testing.T) {
	t.Parallel()
	rule, _ := rules.ByCode("JM406")
	const flavors = `{spec: {cohortName: null, resourceGroups: [{coveredResources: [cpu], flavors: [
		{name: a100, resources: [{name: cpu, nominalQuota: 1k}]}, {name: racks, resources: [{name: cpu, nominalQuota: "20"}]}]}]}}`
	of := func(edits ...edit) testCase { return testCase{code: rule.Code, base: "running", edits: edits} }
	onWorkers := []edit{quotaOf("kwok-w1", "cpu", "8"), quotaOf("kwok-w2", "cpu", "6")}
	for name, tt := range map[string]struct {
		testCase
		message, remedy string
	}{
		"uncovered": {
			of(quotaOf("kwok-mgr", "example.com/gpu", "8")), "no worker has a quota of it",
			"add example.com/gpu to ClusterQueue cluster-queue on kwok-w1 or ClusterQueue cluster-queue on kwok-w2, or remove it",
		},
		"one flavor": {
			of(append(onWorkers, quotaOf("kwok-mgr", "cpu", "1k"))...), "has 1k cpu; its workers have 14 together", "lower nominalQuota of cpu to 14, or raise it on workers: ",
		},
		"several flavors": {
			of(append(onWorkers, patch("kwok-mgr", "ClusterQueue/cluster-queue", flavors))...), "has 1020 cpu; its workers have 14 together",
			"lower nominalQuota of cpu to 14 in all flavors together (now a100: 1k, racks: 20), or raise it on workers: ",
		},
	} {
		found := judge(t, tt.make(t), []rules.Rule{rule}, 0)
		assert.Equal(t, len(found), 1, "%s: %s", name, linesOf(found))
		assert.Assert(t, strings.Contains(found[0].Message, tt.message), "%s: %s", name, found[0].Message)
		assert.Assert(t, strings.Contains(found[0].Remedy, tt.remedy), "%s: %s", name, found[0].Remedy)
	}
}
