package rules_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// TestConnectionText checks that a worker that answers the manager but denies its
// requests is not called unreachable.
func TestConnectionText(t *testing.T) {
	for message, want := range map[string]string{
		"dial tcp 10.0.0.1:443: connect: connection refused":       "worker1 is unreachable: ",
		`jobs.batch is forbidden: User \"m\" cannot list resource`: "worker1 denies rights that the manager needs: ",
		"Unauthorized": "worker1 does not accept the manager's credentials: ",
		`no matches for kind \"JobSet\" in version \"jobset.x-k8s.io/v1alpha2\"`: "worker1 does not serve what the manager needs: ",
	} {
		c := testCase{base: "worker-lost", edits: []edit{patch("kwok-mgr", "MultiKueueCluster/worker1", `{status: {conditions: [
			{type: Active, status: "False", reason: ClientConnectionFailed, message: "`+message+`", lastTransitionTime: "2026-11-20T23:28:01Z"}]}}`)}}
		rule, _ := rules.ByCode("JM043")
		findings := judge(t, c.make(t), []rules.Rule{rule}, 0)
		assert.Equal(t, len(findings), 1)
		assert.Assert(t, strings.HasPrefix(findings[0].Message, want), findings[0].Message)
	}
}
