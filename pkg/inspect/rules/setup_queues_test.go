package rules_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// TestQueuesBehind checks that the fix of a resource that no worker has names the ClusterQueues of the workers with their
// kind and context.
func TestQueuesBehind(t *testing.T) {
	t.Parallel()
	rule, _ := rules.ByCode("JM406")
	for _, c := range setupCases() {
		if c.code != "JM406" || c.name != "uncovered" {
			continue
		}
		found := judge(t, c.inventory(t), []rules.Rule{rule}, 0)
		assert.Equal(t, len(found), 1, linesOf(found))
		const want = "add example.com/gpu to ClusterQueue cluster-queue on kwok-w1 or ClusterQueue cluster-queue on kwok-w2, or remove it"
		assert.Assert(t, strings.Contains(found[0].Remedy, want), found[0].Remedy)
		return
	}
	t.Fatal("no such case")
}
