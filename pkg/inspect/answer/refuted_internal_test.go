package answer

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestLimitOfAllPods checks that a finding that a Job exceeds the limits of the workers offers no smaller request if
// the Job fits on a worker with fewer Pods.
func TestLimitOfAllPods(t *testing.T) {
	origin := dispatchedJob(nil)
	for verdict, want := range map[inspect.Verdict]string{inspect.Fits: "check that Kueue runs on worker-1", inspect.Never: "request at most 1 cpu"} {
		p := inspect.NewPlacement("worker-1")
		p.Verdict = verdict
		v := inspect.NewInventory(time.Unix(60, 0), []*inspect.Facts{{Context: "worker-1", ClusterUID: "1"}}, nil)
		q := Question{Inventory: v, Pair: inspect.Pair{Origin: origin}, Trace: &inspect.Trace{Placements: []inspect.Placement{*p}}}
		findings := []inspect.Finding{{Code: "JM029", Severity: inspect.Error, Jobs: []inspect.Ref{inspect.RefOf(origin)}, Fixes: []command.Fix{{Text: "request at most 1 cpu"}}}}
		q.refuteLimits(findings)
		assert.Assert(t, strings.HasPrefix(findings[0].Fixes[0].Text, want), findings[0].Fixes[0].Text)
	}
}
