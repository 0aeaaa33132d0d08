package answer

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestWorkloadsUnread checks that a user who may not read Workloads sees that, and the status that
// Kueue copied to the origin.
func TestWorkloadsUnread(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Group: "kueue.x-k8s.io", Resource: "workloads"}, "", nil)
	start := &metav1.Time{Time: time.Unix(0, 0)}
	const noReason = "You cannot read Workloads on hub, so why it waits is unknown."
	for name, tt := range map[string]struct {
		job       inspect.Job
		state     inspect.JobState
		message   string
		unchecked int
	}{
		"running":                       {inspect.Job{Status: delegation.Running, Marks: &delegation.Marks{Queue: "gpu"}}, inspect.StateRunning, "Kueue says that it runs: 0/1 completions. You cannot read Workloads on hub, so where it runs is unknown.", 1},
		"suspended":                     {inspect.Job{Status: delegation.Suspended, Suspended: true, Marks: &delegation.Marks{Queue: "gpu"}}, inspect.StateUnknown, noReason, 1},
		"starting":                      {inspect.Job{Status: delegation.Pending, StartTime: start, Marks: &delegation.Marks{Queue: "gpu"}}, inspect.StateStarting, "Kueue says that it starts: 0/1 completions. You cannot read Workloads on hub, so where it runs is unknown.", 1},
		"without a status":              {inspect.Job{Status: delegation.Pending, Marks: &delegation.Marks{Queue: "gpu"}}, inspect.StateUnknown, noReason, 1},
		"without a status and a queue":  {inspect.Job{Status: delegation.Pending, Marks: &delegation.Marks{}}, inspect.StateBlocked, "Ignored by Kueue: no queue label.", 0},
		"suspended and without a queue": {inspect.Job{Status: delegation.Suspended, Suspended: true, Marks: &delegation.Marks{}}, inspect.StateUnknown, noReason, 1},
	} {
		t.Run(name, func(t *testing.T) {
			origin := &tt.job
			origin.Context, origin.ClusterUID, origin.APIVersion, origin.Kind = "hub", "hub", "batch/v1", "Job"
			origin.Namespace, origin.Name, origin.UID, origin.ManagedBy = "ml", "train", "1", delegation.MultiKueue
			hub := &inspect.Facts{
				Context: "hub", ClusterUID: "hub", Jobs: []*inspect.Job{origin}, Kueue: &inspect.KueueFacts{Version: "v1beta2"},
				Gaps: map[inspect.Part]error{inspect.PartWorkloads: forbidden},
			}
			v := inspect.NewInventory(time.Unix(0, 0), []*inspect.Facts{hub}, nil)
			trace := Trace(v, v.Pairs.Pairs[0])
			assert.Equal(t, trace.Message, tt.message)
			assert.Equal(t, trace.State, tt.state)
			assert.Equal(t, len(trace.Unchecked), tt.unchecked)
		})
	}
}

// TestPlainJobWithWorkloadsUnread checks that no fix resumes a plain Job that Kueue suspended: Kueue
// suspends it again.
func TestPlainJobWithWorkloadsUnread(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Group: "kueue.x-k8s.io", Resource: "workloads"}, "", nil)
	job := &inspect.Job{
		Context: "hub", ClusterUID: "hub", APIVersion: "batch/v1", Kind: "Job", Namespace: "ml", Name: "train", UID: "1",
		ManagedBy: delegation.BuiltIn, Status: delegation.Suspended, Suspended: true, Marks: &delegation.Marks{Queue: "gpu"},
	}
	hub := &inspect.Facts{
		Context: "hub", ClusterUID: "hub", Jobs: []*inspect.Job{job}, Kueue: &inspect.KueueFacts{Version: "v1beta2"},
		Gaps: map[inspect.Part]error{inspect.PartWorkloads: forbidden},
	}
	v := inspect.NewInventory(time.Unix(0, 0), []*inspect.Facts{hub}, nil)
	trace := Trace(v, inspect.Pair{Origin: job})
	assert.Equal(t, trace.Message, "You cannot read Workloads on hub, so why it waits is unknown.")
	assert.Equal(t, len(trace.Fixes), 0)
	assert.Equal(t, len(trace.Unchecked), 1)
}
