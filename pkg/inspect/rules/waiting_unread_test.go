package rules_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// TestQueueWithoutName checks that Jobs whose ClusterQueue is unknown, because the LocalQueues of their manager were not
// read, are reported one by one, without a ClusterQueue that has no name.
func TestQueueWithoutName(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"many-quota-faults": "does not fit its ClusterQueue on kwok-mgr: flavor default-flavor has no topology, which its Pods request",
		"cohort-borrowing":  "",
	} {
		c := testCase{name: "unread LocalQueues of " + base, code: "JM019", base: base, edits: []edit{forbidden("kwok-mgr", "localqueues.kueue.x-k8s.io")}}
		found := judge(t, c.inventory(t), rules.All(), 0)
		isFound := want == ""
		for i := range found {
			f := &found[i]
			assert.Assert(t, !strings.Contains(f.Message+" ", "Queue  "), f.Message)
			assert.Assert(t, f.Kind != "ClusterQueue" || f.Name != "", f.Message)
			isFound = isFound || f.Code == "JM019" && f.Kind == "Job" && strings.HasSuffix(f.Message, want)
		}
		assert.Assert(t, isFound, linesOf(found))
	}
}
