package answer

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestPointToTrace checks that a finding about a Job that was not read names the command that shows the rest, before
// its own fix, and keeps its other fixes.
func TestPointToTrace(t *testing.T) {
	dispatch := command.Fix{Text: "dispatch it", Command: []string{"kubectl", "dispatch", "--to", "CONTEXT"}}
	other := command.Fix{Text: "delete it", Command: []string{}}
	for code, what := range map[string]string{outOfSync: "see what was changed", ignoredByOwner: "see which cluster can take it"} {
		f := inspect.Finding{Code: code, Kind: "Job", Namespace: "ml", Name: "a", Jobs: []inspect.Ref{{Context: "hub", Namespace: "ml", Name: "a"}}, Fixes: []command.Fix{dispatch, other}}
		assert.Assert(t, NeedsJob(&f))
		PointToTrace(&f, command.Reach{})
		assert.Equal(t, len(f.Fixes), 2)
		assert.Equal(t, f.Fixes[0].Text, what)
		assert.DeepEqual(t, f.Fixes[0].Command, []string{"kubectl", "jobs-managedby", "trace", "a", "-n", "ml", "--context", "hub"})
		assert.DeepEqual(t, f.Fixes[0].Then, []command.Step{{Text: dispatch.Text, Command: dispatch.Command}})
		assert.Equal(t, f.Remedy, what+": `kubectl jobs-managedby trace a -n ml --context hub`, and then dispatch it: `kubectl dispatch --to CONTEXT`; or delete it")
	}
}
