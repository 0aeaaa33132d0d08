package answer

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestPartialStart checks that the answer for a Job that may start with fewer Pods says how many it
// needs, and with how many Kueue started it.
func TestPartialStart(t *testing.T) {
	waits := metav1.Condition{
		Type: kueue.QuotaReserved, Status: metav1.ConditionFalse, Reason: "Pending",
		Message: "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor f, 4 more needed",
	}
	has := func(conditionType string) metav1.Condition {
		return metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue}
	}
	started := []metav1.Condition{has(kueue.QuotaReserved), has(kueue.Admitted)}
	const runs = "The built-in Job controller runs it on hub."
	for name, tt := range map[string]struct {
		conditions []metav1.Condition
		least      *int32
		started    int32
		message    string
	}{
		"waits":          {[]metav1.Condition{waits}, new(int32(1)), 0, "No quota on hub: needs 4 more cpu (flavor f) for all 4 Pods; it may start with 1."},
		"waits for all":  {[]metav1.Condition{waits}, nil, 0, "No quota on hub: needs 4 more cpu (flavor f)."},
		"reduced":        {started, new(int32(1)), 2, runs + " Kueue reduced its parallelism from 4 to 2 (kueue.x-k8s.io/job-min-parallelism)."},
		"not reduced":    {started, new(int32(1)), 4, runs},
		"all must start": {started, nil, 2, runs},
	} {
		t.Run(name, func(t *testing.T) {
			j := &inspect.Job{
				APIVersion: "batch/v1", Kind: "Job", Context: "hub", Namespace: "ml", Name: "low", UID: "low", ManagedBy: delegation.BuiltIn,
				Status: delegation.Suspended, Suspended: true, Marks: &delegation.Marks{Queue: "gpu"},
			}
			w := workloadFor("low", "w-low", 0, tt.conditions...)
			w.Spec.PodSets = []kueue.PodSet{{Name: "main", Count: 4, MinCount: tt.least}}
			if tt.started > 0 {
				j.Status, j.Suspended = delegation.Running, false
				w.Status.Admission = &kueue.Admission{PodSetAssignments: []kueue.PodSetAssignment{{Name: "main", Count: tt.started}}}
			}
			k := &inspect.KueueFacts{Workloads: []*kueue.Workload{w}}
			v := inspect.NewInventory(time.Unix(6000, 0), []*inspect.Facts{{Context: "hub", Jobs: []*inspect.Job{j}, Kueue: k}}, nil)
			assert.Equal(t, Trace(v, inspect.Pair{Origin: j}).Message, tt.message)
		})
	}
}

// TestNeeded checks what a message says a Job needs to start.
func TestNeeded(t *testing.T) {
	p := inspect.NewPlacement("hub")
	p.Resource, p.Needs = "cpu", "4"
	assert.Equal(t, needed(p), "4 cpu")
	p.Needs, p.Partial = "1", &inspect.PartialStart{Pods: 1, Of: 4}
	assert.Equal(t, needed(p), "1 cpu to start 1 of 4 Pods")
}
