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

// TestWaitsSinceItsLastStop checks that the time of a Job that does not run counts from its last stop, and
// from its creation if it was never stopped.
func TestWaitsSinceItsLastStop(t *testing.T) {
	condition := func(kind string, status metav1.ConditionStatus, at int64) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, LastTransitionTime: metav1.Unix(at, 0)}
	}
	evicted := condition(kueue.Evicted, metav1.ConditionTrue, 200)
	for want, conditions := range map[int64][]metav1.Condition{
		100: {condition(kueue.QuotaReserved, metav1.ConditionTrue, 101)},
		200: {evicted},
		// It has quota again, and waits for a worker.
		210: {condition(kueue.Evicted, metav1.ConditionFalse, 210), condition(kueue.QuotaReserved, metav1.ConditionTrue, 210)},
		220: {evicted, condition(kueue.DeactivationTarget, metav1.ConditionTrue, 220)},
	} {
		job := &inspect.Job{
			APIVersion: "batch/v1", Kind: "Job", Context: "hub", Namespace: "ml", Name: "train", UID: "train", ManagedBy: delegation.MultiKueue,
			Status: delegation.Suspended, Suspended: true, CreationTimestamp: metav1.Unix(100, 0),
		}
		w := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "job-train", Labels: map[string]string{delegation.JobUIDLabel: "train"}}}
		w.Status.Conditions = conditions
		hub := &inspect.Facts{Context: "hub", ClusterUID: "hub", Jobs: []*inspect.Job{job}, Kueue: &inspect.KueueFacts{Workloads: []*kueue.Workload{w}}}
		q := Question{Inventory: inspect.NewInventory(time.Unix(6000, 0), []*inspect.Facts{hub}, nil), Pair: inspect.Pair{Origin: job}, Trace: &inspect.Trace{}}
		for _, s := range []inspect.JobState{inspect.StateWaiting, inspect.StateBlocked} {
			assert.Equal(t, q.since(job, s).Unix(), want, s)
		}
	}
}
