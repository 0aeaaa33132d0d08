package inspect_test

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestTraceLeavesTheInventory: to follow a Job changes nothing of what was read.
func TestTraceLeavesTheInventory(t *testing.T) {
	at := func(minute int) metav1.Time { return metav1.NewTime(time.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC)) }
	job := &inspect.Job{
		Context: "hub", APIVersion: "batch/v1", Kind: "Job", Namespace: "default", Name: "a", UID: "u",
		ManagedBy: delegation.BuiltIn, Status: delegation.Running, CreationTimestamp: at(0),
	}
	facts := &inspect.Facts{Context: "hub", Jobs: []*inspect.Job{job}, Pods: []*inspect.Pod{
		{Namespace: "default", Name: "newer", UID: "n", JobUID: "u", CreationTimestamp: at(2)},
		{Namespace: "default", Name: "older", UID: "o", JobUID: "u", CreationTimestamp: at(1)},
	}}
	v := inspect.NewInventory(at(3).Time, []*inspect.Facts{facts}, nil)
	trace := v.Trace(inspect.Pair{Origin: job})
	assert.Equal(t, trace.Timeline[1].Event, "first pod created: older")
	assert.Equal(t, v.Facts("hub").PodsOf(job)[0].Name, "newer")
}
