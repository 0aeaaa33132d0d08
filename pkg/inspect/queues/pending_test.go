package queues_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/queues"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// waitingFleet is a cluster with one queue, in which one Workload runs until
// a given time and others wait.
func waitingFleet(change func(*inspect.Facts)) *inspect.Inventory {
	start := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	queue := &kueue.ClusterQueue{}
	queue.Name, queue.Spec.QueueingStrategy = "gpu", kueue.StrictFIFO
	locals := []*kueue.LocalQueue{{}, {}}
	for i, name := range []string{"team", "closed"} {
		locals[i].Namespace, locals[i].Name, locals[i].Spec.ClusterQueue = "ml", name, "gpu"
	}
	locals[1].Spec.StopPolicy = "Hold"
	waits := func(name, local string, priority int32, minutes int) *kueue.Claim {
		at := start.Add(time.Duration(minutes) * time.Minute)
		return &kueue.Claim{
			Namespace: "ml", Name: name, UID: name, Kind: "Job", Owner: name, LocalQueue: local, CreatedAt: at,
			Rank: kueue.Rank{Priority: priority, At: at, UID: name}, Reason: kueue.WaitingForQuota, Message: "insufficient unused quota",
		}
	}
	gated := waits("gated", "team", 1000, 0)
	gated.Reason, gated.Message = "AdmissionGated", "Admission is gated by: example.com/gate"
	runs := &kueue.Claim{Namespace: "ml", Name: "runs", UID: "runs", ClusterQueue: "gpu", EndsBy: start.Add(time.Hour)}
	f := &inspect.Facts{Context: "one", Kueue: &inspect.KueueFacts{Capacity: &inspect.Capacity{
		ClusterQueues: []*kueue.ClusterQueue{queue}, LocalQueues: locals,
		Claims: []*kueue.Claim{waits("late", "team", 0, 9), waits("early", "team", 0, 1), waits("urgent", "team", 10, 20), waits("stopped", "closed", 99, 0), waits("lost", "nowhere", 0, 0), gated, runs},
		Gaps:   map[inspect.Part]error{},
	}}}
	if change != nil {
		change(f)
	}
	return inspect.NewInventory(start, []*inspect.Facts{f}, nil)
}

// placesOf returns the places of the waiting Workloads, in the order of the
// rows.
func placesOf(rows []queues.PendingJob) []string {
	var texts []string
	for i := range rows {
		text := rows[i].Name
		switch {
		case rows[i].Place != nil:
			text += fmt.Sprintf(" %d/%d", *rows[i].Place, *rows[i].Of)
		case rows[i].Queued:
			text += " ?"
		}
		if rows[i].StartsBy != nil {
			text += " by " + rows[i].StartsBy.UTC().Format("15:04")
		}
		texts = append(texts, text)
	}
	return texts
}

// TestPending checks that the order is priority, then age, that Workloads
// outside the queue have no place, and that only the first one of a
// StrictFIFO queue has a bound.
func TestPending(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*inspect.Facts)
		want   []string
	}{
		"all is known": {nil, []string{"lost", "urgent 1/3 by 13:00", "early 2/3", "late 3/3", "gated", "stopped"}},
		"others may pass": {func(f *inspect.Facts) { f.Kueue.Capacity.ClusterQueues[0].Spec.QueueingStrategy = "" }, []string{
			"lost", "urgent 1/3", "early 2/3", "late 3/3", "gated", "stopped",
		}},
		"the first one can never run": {func(f *inspect.Facts) { f.Kueue.Capacity.Claims[2].Reason = kueue.ExceedsMaxQuota }, []string{
			"lost", "urgent 1/3", "early 2/3", "late 3/3", "gated", "stopped",
		}},
		"other namespaces are unknown": {func(f *inspect.Facts) {
			c := f.Kueue.Capacity
			c.ClaimsWithin, c.Within, c.Claims = c.Claims, "ml", nil
			c.Gaps[inspect.PartClaims] = errors.New("you may not")
			f.Namespace = "ml"
		}, []string{"lost", "urgent ?", "early ?", "late ?", "gated", "stopped"}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.DeepEqual(t, placesOf(queues.Pending(waitingFleet(tt.change))), tt.want)
		})
	}
}
