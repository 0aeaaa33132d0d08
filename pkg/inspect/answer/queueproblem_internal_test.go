package answer

import (
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
