package answer

import (
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
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
	assert.Equal(t, a.Message, "hub: ClusterQueue q does not select namespace ml. After that is corrected: needs 8 nvidia.com/gpu; the largest limit is 6 (w2, flavor a100).")
	assert.Equal(t, string(a.Fixes[0].Prose()), "run 4 Pods at once, not 8, to fit on w1: `kubectl patch job`, and then label it: `kubectl --context hub label namespace ml a=b`")

	some := slices.Concat(never, []inspect.Placement{fits})
	a = q.gated(&some[0], some)
	assert.Equal(t, a.Message, "hub: ClusterQueue q does not select namespace ml.")
	assert.Equal(t, a.Fixes[0].Text, "label it")
}

// TestStoppedManagerOfTooLargeJob checks that a finding about a stopped queue of the manager does not replace the
// answer that also has what the workers lack.
func TestStoppedManagerOfTooLargeJob(t *testing.T) {
	origin := &inspect.Job{Context: "hub", Kind: "Job", Namespace: "ml", Name: "sweep"}
	found := inspect.Finding{
		Code: "JM019", Severity: inspect.Error, Context: "hub", Kind: "ClusterQueue", Name: "q", Message: "ClusterQueue q is stopped on hub",
		Jobs: []inspect.Ref{inspect.RefOf(origin)}, Fixes: []command.Fix{{Text: "resume it"}},
	}
	stopped := *inspect.NewPlacement("hub")
	stopped.Manager, stopped.Verdict, stopped.Reason, stopped.Message = true, inspect.Never, inspect.QueueStopped, "ClusterQueue q is stopped (Hold)"
	fits := *inspect.NewPlacement("w2")
	fits.Cluster, fits.Verdict, fits.Reason = "tokyo", inspect.Fits, inspect.HasRoom
	for want, worker := range map[string]inspect.Placement{
		"hub: ClusterQueue q is stopped (Hold). After it is resumed: needs 8 nvidia.com/gpu; the largest limit is 6 (w2, flavor a100).": overLimit("w2", "tokyo", "6"),
		"ClusterQueue q is stopped on hub.": fits,
	} {
		all := []inspect.Placement{stopped, overLimit("w1", "paris", "4"), worker}
		q := Question{
			Inventory: &inspect.Inventory{}, Pair: inspect.Pair{Origin: origin},
			Trace: &inspect.Trace{Placements: all, Findings: []inspect.Finding{found}},
		}
		a := q.gated(&all[0], all)
		q.explain(&a)
		assert.Equal(t, a.Message, want)
	}
}

// TestStoppedQueueWithMirror checks that a suspended mirror does not hide that the Job fits nowhere.
func TestStoppedQueueWithMirror(t *testing.T) {
	origin := &inspect.Job{Context: "hub", Kind: "Job", Namespace: "ml", Name: "sweep"}
	mirror := &inspect.Job{Context: "w1", Kind: "Job", Namespace: "ml", Name: "sweep", Status: delegation.Suspended, Suspended: true}
	stopped := inspect.Finding{
		Code: "JM027", Severity: inspect.Error, Context: "w1", Kind: "ClusterQueue", Name: "q", Message: "ClusterQueue q is stopped",
		Jobs: []inspect.Ref{inspect.RefOf(origin)}, Fixes: []command.Fix{{Text: "resume it"}},
	}
	workers := []inspect.Placement{overLimit("w1", "paris", "4"), overLimit("w2", "tokyo", "6")}
	workers[0].Closed = "ClusterQueue q is stopped (Hold)"
	q := Question{
		Inventory: inspect.NewInventory(time.Unix(6000, 0), []*inspect.Facts{{Context: "hub"}, {Context: "w1"}}, nil), Pair: inspect.Pair{Origin: origin},
		Trace: &inspect.Trace{Placements: workers, Findings: []inspect.Finding{stopped}},
	}
	a := q.onMirror(inspect.Mirror{Job: mirror})
	q.explain(&a)
	assert.Equal(t, a.State, inspect.StateBlocked)
	assert.Equal(t, a.Message, "Needs 8 nvidia.com/gpu; the largest limit is 6 (w2, flavor a100). w1: ClusterQueue q is stopped (Hold).")
}

// TestOneChangeForClosedQueues checks that a change of the Job for several closed queues is one fix that opens
// them all.
func TestOneChangeForClosedQueues(t *testing.T) {
	workers := []inspect.Placement{overLimit("w1", "paris", "4"), overLimit("w2", "tokyo", "4")}
	for i := range workers {
		resume := command.Step{Text: "resume q on " + workers[i].Context, Command: []string{}}
		workers[i].Changes = []inspect.PlacementChange{
			{Message: "request less, for " + workers[i].Context, Stem: "request less, for ", Then: []command.Step{resume}},
			{Message: "raise the quota on " + workers[i].Context, Then: []command.Step{resume}},
		}
	}
	q := Question{Inventory: &inspect.Inventory{}, Trace: &inspect.Trace{}}
	var fixes []string
	for _, f := range q.changes(workers) {
		fixes = append(fixes, string(f.Prose()))
	}
	assert.DeepEqual(t, fixes, []string{
		"request less, for w1 and w2, and then resume q on w1, and then resume q on w2",
		"raise the quota on w1, and then resume q on w1",
		"raise the quota on w2, and then resume q on w2",
	})
	assert.Equal(t, len(workers[0].Changes[0].Then), 1)
}
