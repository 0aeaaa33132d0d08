package chain

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestWorkloadHopAtItsEnd checks the ends of Workloads. A Workload also ends well if its Job was
// resized, because the new size has a Workload of its own.
func TestWorkloadHopAtItsEnd(t *testing.T) {
	for reason, want := range map[string]inspect.Health{
		"": inspect.HealthOK, "Succeeded": inspect.HealthOK, "WorkloadSliceReplaced": inspect.HealthOK, "Failed": inspect.HealthBad, "OutOfSync": inspect.HealthBad,
	} {
		w := &kueue.Workload{}
		w.Status.Conditions = []metav1.Condition{{Type: kueue.Finished, Status: metav1.ConditionTrue, Reason: reason}}
		hop := WorkloadHop(&inspect.Facts{}, w)
		assert.Equal(t, hop.Health, want, reason)
		assert.Equal(t, hop.State, kueue.Finished)
	}
}

// TestWorkloadHopOfADeactivation checks that the step of a Workload that Kueue deactivates has the cause
// that Kueue announced, not that of an eviction before it.
func TestWorkloadHopOfADeactivation(t *testing.T) {
	for active, state := range map[bool]string{false: "Deactivated", true: kueue.Evicted} {
		w := &kueue.Workload{}
		w.Spec.Active = &active
		w.Status.Conditions = []metav1.Condition{
			{Type: kueue.Evicted, Status: metav1.ConditionTrue, Reason: "AdmissionCheck", Message: "retry"},
			{Type: kueue.DeactivationTarget, Status: metav1.ConditionTrue, Reason: "MaximumExecutionTimeExceeded", Message: "too long", LastTransitionTime: metav1.Unix(60, 0)},
		}
		hop := WorkloadHop(&inspect.Facts{}, w)
		assert.Equal(t, hop.State, state)
		assert.Equal(t, hop.Message, "MaximumExecutionTimeExceeded: too long")
		assert.Equal(t, hop.Since.Unix(), int64(60))
	}
}

// TestWorkloadHopInBackoff checks that the step of an evicted Workload says when Kueue queues it again: the
// answer for its mirror quotes that.
func TestWorkloadHopInBackoff(t *testing.T) {
	w := &kueue.Workload{}
	w.Status.Conditions = []metav1.Condition{
		{Type: kueue.QuotaReserved, Status: metav1.ConditionFalse, Reason: "Pending"},
		{Type: kueue.Evicted, Status: metav1.ConditionTrue, Reason: "PodsReadyTimeout", Message: "Exceeded the PodsReady timeout"},
	}
	assert.Equal(t, WorkloadHop(&inspect.Facts{}, w).Message, "PodsReadyTimeout: Exceeded the PodsReady timeout")
	at := metav1.Date(2026, 1, 1, 0, 4, 0, 0, time.UTC)
	w.Status.Requeue = &kueue.RequeueState{At: &at}
	assert.Equal(t, WorkloadHop(&inspect.Facts{}, w).Message, "PodsReadyTimeout: Exceeded the PodsReady timeout; waits until 2026-01-01 00:04:00Z, when Kueue queues it again")
}

// TestMissingHop checks that the state of an object of a kind that its server does not serve is not that of
// an object that does not exist.
func TestMissingHop(t *testing.T) {
	assert.Equal(t, missing(inspect.Hop{}, nil, "does not exist").State, stateNotFound)
	unserved := missing(inspect.Hop{Context: "w"}, apierrors.NewNotFound(schema.GroupResource{Resource: "cohorts"}, ""), "does not exist")
	assert.Equal(t, unserved.State, "NotServed")
	assert.Equal(t, unserved.Health, inspect.HealthUnknown)
}
