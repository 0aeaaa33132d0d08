package answer

import (
	"testing"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestWorkersNeverFit checks that a Job that waits for its manager, and that no worker can ever run,
// gets the answer and the fixes of the workers.
func TestWorkersNeverFit(t *testing.T) {
	hub := *inspect.NewPlacement("hub")
	hub.Manager, hub.Verdict, hub.Reason, hub.Resource, hub.Needs, hub.Free, hub.Limit = true, inspect.Waits, inspect.QuotaInUse, "nvidia.com/gpu", "8", "5", "10"
	hub.Holders = []inspect.Holder{{Kind: "Job", Namespace: "ml", Name: "a", Resource: "nvidia.com/gpu", Amount: "5", Admitted: true}}
	hub.Changes = []inspect.PlacementChange{{Message: "raise the quota on hub", Share: 1}}
	pending := hub
	pending.Reason, pending.Holders, pending.Changes = inspect.CheckPending, nil, nil
	fixes := []string{"run 4 Pods at once, not 8, to fit on paris", "raise the quota on paris"}
	for name, gate := range map[string]inspect.Placement{"quota in use": hub, "another check": pending} {
		t.Run(name, func(t *testing.T) {
			texts := func(a *Answer) (texts []string) {
				for _, f := range a.Fixes {
					texts = append(texts, f.Text)
				}
				return texts
			}
			trace := inspect.NewTrace()
			trace.Placements = []inspect.Placement{gate, overLimit("paris", "paris", "4")}
			Unsubmitted(trace, Holders{})
			assert.Equal(t, trace.Message, "Would never run. Needs 8 nvidia.com/gpu; the limit is 4 (paris, flavor a100).")
			assert.Equal(t, trace.Reason, inspect.ReasonOverLimit)
			assert.DeepEqual(t, texts(&Answer{Fixes: trace.Fixes}), fixes)

			w := &kueue.Workload{}
			w.Status.AdmissionChecks = []kueue.CheckState{{Name: "budget", State: kueue.CheckPending}}
			w.Status.Conditions = []metav1.Condition{{Type: kueue.QuotaReserved, Status: metav1.ConditionFalse}}
			q := Question{Inventory: &inspect.Inventory{}, Trace: trace}
			a, known := q.byPlacements(&inspect.Facts{Context: "hub", Kueue: &inspect.KueueFacts{}}, w)
			assert.Assert(t, known)
			assert.Equal(t, a.State, inspect.StateBlocked)
			assert.Equal(t, a.Message, "Needs 8 nvidia.com/gpu; the limit is 4 (paris, flavor a100).")
			assert.DeepEqual(t, texts(&a), fixes)
		})
	}
}
