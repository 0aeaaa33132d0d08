package chain_test

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/chain"
)

// TestTraceModifiesNothing checks that tracing a Job does not modify the inventory.
func TestTraceModifiesNothing(t *testing.T) {
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
	trace := chain.Trace(v, inspect.Pair{Origin: job})
	assert.Equal(t, trace.Timeline[1].Event, "first Pod created: older")
	assert.Equal(t, v.Facts("hub").PodsOf(job)[0].Name, "newer")
}

// TestTimelineOfJobSet checks that Pods and warnings of an object that creates Jobs are shown
// with the Job that they belong to.
func TestTimelineOfJobSet(t *testing.T) {
	at := func(minute int) metav1.Time { return metav1.NewTime(time.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC)) }
	set := &inspect.Job{
		Context: "worker", APIVersion: "jobset.x-k8s.io/v1alpha2", Kind: "JobSet", Namespace: "default", Name: "train", UID: "set",
		ManagedBy: delegation.BuiltIn, Status: delegation.Running, CreationTimestamp: at(0),
	}
	pod := func(name, job string, minute int) *inspect.Pod {
		return &inspect.Pod{
			Namespace: "default", Name: name, UID: name, JobUID: "uid-" + job, JobName: "Job/" + job, CreationTimestamp: at(minute),
			OfKinds: map[string]string{set.Row().PodLabel: "train"},
		}
	}
	facts := &inspect.Facts{
		Context: "worker", Jobs: []*inspect.Job{set},
		Pods: []*inspect.Pod{pod("w-1", "train-workers-0", 3), pod("w-0", "train-workers-0", 2), pod("d", "train-driver-0", 1)},
		Events: []*inspect.Event{
			{Kind: "Job", Name: "train-workers-0", UID: "uid-train-workers-0", Reason: "FailedCreate", Warning: true, Time: at(4).Time},
			{Kind: "Job", Name: "other", UID: "uid-other", Reason: "FailedCreate", Warning: true, Time: at(4).Time},
		},
	}
	v := inspect.NewInventory(at(5).Time, []*inspect.Facts{facts}, nil)
	var lines []string
	for _, e := range chain.Trace(v, inspect.Pair{Origin: set}).Timeline {
		lines = append(lines, e.Object+" "+e.Event)
	}
	assert.DeepEqual(t, lines, []string{
		"JobSet/train created", "Job/train-driver-0 first Pod created: d", "Job/train-workers-0 first Pod created: w-0",
		"Job/train-workers-0 last of 2 Pods created: w-1", "Job/train-workers-0 FailedCreate",
	})
}

// TestTimelineOfUnknownConditions checks that a condition of a running PipelineRun, whose status is
// Unknown, does not read like a failure.
func TestTimelineOfUnknownConditions(t *testing.T) {
	start := metav1.NewTime(time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC))
	run := &inspect.Job{
		Context: "worker", APIVersion: "tekton.dev/v1", Kind: "PipelineRun", Namespace: "default", Name: "train", UID: "run",
		ManagedBy: delegation.BuiltIn, Status: delegation.Running, CreationTimestamp: start,
		Object: &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{map[string]any{
			"type": "Succeeded", "status": "Unknown", "reason": "Running", "message": "Incomplete: 2", "lastTransitionTime": "2026-01-02T03:01:00Z",
		}}}}},
	}
	v := inspect.NewInventory(start.Time, []*inspect.Facts{{Context: "worker", Jobs: []*inspect.Job{run}}}, nil)
	timeline := chain.Trace(v, inspect.Pair{Origin: run}).Timeline
	assert.Equal(t, timeline[len(timeline)-1].Event, "Succeeded unknown (Running): Incomplete: 2")
}
