package answer

import (
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestStoppedQueueOfTooLargeJob checks that a stopped queue is no reason for a Job that would not fit
// without that either.
func TestStoppedQueueOfTooLargeJob(t *testing.T) {
	origin := &inspect.Job{Context: "hub", Kind: "Job", Namespace: "ml", Name: "sweep"}
	stopped := inspect.Finding{
		Code: "JM027", Severity: inspect.Error, Context: "worker-2", Kind: "ClusterQueue", Name: "q", Message: "ClusterQueue q is stopped",
		Jobs: []inspect.Ref{inspect.RefOf(origin)}, Fixes: []command.Fix{{Text: "resume it"}},
	}
	for reason, want := range map[inspect.PlacementReason]string{
		inspect.OverLimit:    "Needs 8 nvidia.com/gpu; the largest limit is 6 (worker-2, flavor a100).",
		inspect.QueueStopped: "ClusterQueue q is stopped.",
	} {
		workers := []inspect.Placement{overLimit("worker-1", "paris", "4"), overLimit("worker-2", "tokyo", "6")}
		workers[1].Reason = reason
		q := Question{
			Inventory: &inspect.Inventory{}, Pair: inspect.Pair{Origin: origin},
			Trace: &inspect.Trace{Placements: workers, Findings: []inspect.Finding{stopped}},
		}
		a := q.never(workers)
		q.explain(&a)
		assert.Equal(t, a.Message, want)
	}
}

// TestClosedManagerOfTooLargeJob checks that the fix for a Job that its manager keeps out and that no worker can
// run covers both.
func TestClosedManagerOfTooLargeJob(t *testing.T) {
	closed := *inspect.NewPlacement("hub")
	closed.Manager, closed.Verdict, closed.Reason, closed.Message = true, inspect.Never, inspect.NamespaceNotSelected, "ClusterQueue q does not select namespace ml"
	closed.Changes = []inspect.PlacementChange{{Message: "label it", Command: "kubectl --context hub label namespace ml a=b"}}
	fits := *inspect.NewPlacement("w3")
	fits.Cluster, fits.Verdict, fits.Reason = "rome", inspect.Fits, inspect.HasRoom
	never := []inspect.Placement{closed, overLimit("w1", "paris", "4"), overLimit("w2", "tokyo", "6")}
	q := Question{Inventory: &inspect.Inventory{}, Trace: &inspect.Trace{}}
	a := q.gated(&never[0], never)
	assert.Equal(t, a.Message, "hub: ClusterQueue q does not select namespace ml. Even then: needs 8 nvidia.com/gpu; the largest limit is 6 (w2, flavor a100).")
	assert.Equal(t, string(a.Fixes[0].Prose()), "request at most 4 nvidia.com/gpu, for w1, and then label it: `kubectl --context hub label namespace ml a=b`")

	some := slices.Concat(never, []inspect.Placement{fits})
	a = q.gated(&some[0], some)
	assert.Equal(t, a.Message, "hub: ClusterQueue q does not select namespace ml.")
	assert.Equal(t, a.Fixes[0].Text, "label it")
}
