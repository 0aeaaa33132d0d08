package answer

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestPriorityClassMissing checks that a Job without a Workload is blocked by a class that does not
// exist, whatever rules suspect, and that it only waits otherwise.
func TestPriorityClassMissing(t *testing.T) {
	missing := *inspect.NewPlacement("hub")
	missing.Verdict, missing.Reason, missing.Message = inspect.Never, inspect.ClassMissing, "WorkloadPriorityClass nosuch does not exist"
	missing.Changes = []inspect.PlacementChange{{Message: "create it", Command: "kubectl get x"}}
	room := *inspect.NewPlacement("hub")
	room.Verdict, room.Reason = inspect.Fits, inspect.HasRoom
	for name, tt := range map[string]struct {
		placement inspect.Placement
		findings  []inspect.Finding
		state     inspect.JobState
		message   string
		fixes     int
	}{
		"missing": {missing, nil, inspect.StateBlocked, "WorkloadPriorityClass nosuch does not exist on hub, so Kueue creates no Workload.", 1},
		"missing, with a finding": {
			missing,
			[]inspect.Finding{{Code: "JM017", Severity: inspect.Error, Message: "Kueue created no Workload"}},
			inspect.StateBlocked, "WorkloadPriorityClass nosuch does not exist on hub, so Kueue creates no Workload.", 1,
		},
		"exists": {room, nil, inspect.StateWaiting, "Kueue on hub has created no Workload for it.", 0},
	} {
		t.Run(name, func(t *testing.T) {
			j := &inspect.Job{
				APIVersion: "batch/v1", Kind: "Job", Context: "hub", Namespace: "ml", Name: "low", UID: "low", ManagedBy: delegation.BuiltIn,
				Status: delegation.Suspended, Suspended: true, Marks: &delegation.Marks{Queue: "gpu"},
			}
			v := inspect.NewInventory(time.Unix(6000, 0), []*inspect.Facts{{Context: "hub", Jobs: []*inspect.Job{j}, Kueue: &inspect.KueueFacts{}}}, nil)
			for i := range tt.findings {
				tt.findings[i].Jobs = []inspect.Ref{inspect.RefOf(j)}
			}
			trace := &inspect.Trace{Placements: []inspect.Placement{tt.placement}, Findings: tt.findings}
			q := Question{Inventory: v, Pair: inspect.Pair{Origin: j}, Trace: trace}
			a := q.Answer()
			assert.Equal(t, a.State, tt.state)
			assert.Equal(t, a.Message, tt.message)
			assert.Equal(t, len(a.Fixes), tt.fixes)
		})
	}
}
