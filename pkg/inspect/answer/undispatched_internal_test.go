package answer

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/chain"
)

// TestNeverDispatched checks that the answer for a Job that waits to be dispatched offers that only if a context may
// take it, and otherwise says what has to change.
func TestNeverDispatched(t *testing.T) {
	origin := dispatchedJob(nil)
	missing := inspect.NewPlacement("worker-1")
	missing.Verdict, missing.Reason, missing.Message = inspect.Never, inspect.NamespaceMissing, "namespace ml does not exist"
	missing.Changes = []inspect.PlacementChange{{Message: "create namespace ml on worker-1", Command: "kubectl create namespace ml"}}
	open := inspect.NewPlacement("worker-2")
	open.Verdict, open.Reason = inspect.Unknown, inspect.NothingInTheWay
	dispatch := command.Fix{Text: "dispatch it", Command: []string{"kubectl", "jobs-managedby", "dispatch", "disp", "--to", "CONTEXT"}}
	disown := command.Fix{Text: "recreate it", Command: []string{"kubectl", "jobs-managedby", "recreate", "disp", "--managed-by", ""}}
	for name, tt := range map[string]struct {
		placements []inspect.Placement
		err        error
		state      inspect.JobState
		message    string
		fixes      []string
	}{
		"no context can": {
			[]inspect.Placement{*missing},
			nil, inspect.StateBlocked, "It was not dispatched to a cluster yet. worker-1: namespace ml does not exist.",
			[]string{"create namespace ml on worker-1"},
		},
		"another context may": {[]inspect.Placement{*missing, *open}, nil, inspect.StateBlocked, "It waits to be dispatched.", []string{"dispatch it", "recreate it"}},
		"another is unread":   {[]inspect.Placement{*missing}, inspect.ErrNotRequested, inspect.StateBlocked, "It waits to be dispatched.", []string{"dispatch it", "recreate it"}},
	} {
		t.Run(name, func(t *testing.T) {
			v := inspect.NewInventory(time.Unix(60, 0), []*inspect.Facts{
				{Context: "hub", ClusterUID: "hub", Jobs: []*inspect.Job{origin}}, {Context: "worker-1", ClusterUID: "1"}, {Context: "worker-2", ClusterUID: "2", Err: tt.err},
			}, nil)
			trace := chain.Trace(v, inspect.Pair{Origin: origin})
			trace.Placements = tt.placements
			trace.Findings = []inspect.Finding{{
				Code: "JM101", Severity: inspect.Error, Kind: "Job", Namespace: "ml", Name: "disp", Message: "it waits to be dispatched",
				Jobs: []inspect.Ref{inspect.RefOf(origin)}, Fixes: []command.Fix{dispatch, disown},
			}}
			Fill(Question{Inventory: v, Pair: inspect.Pair{Origin: origin}, Trace: trace})
			assert.Equal(t, trace.State, tt.state)
			assert.Equal(t, trace.Message, tt.message)
			var fixes []string
			for _, f := range trace.Fixes {
				fixes = append(fixes, f.Text)
			}
			assert.DeepEqual(t, fixes, tt.fixes)
			for _, f := range trace.Findings[0].Fixes {
				assert.Assert(t, name != "no context can" || f.Text != "dispatch it")
			}
		})
	}
}
