package answer

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestWorkloadsUnread checks that a user who may not read Workloads sees that, and the status that
// Kueue copied to the origin.
func TestWorkloadsUnread(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Group: "kueue.x-k8s.io", Resource: "workloads"}, "", nil)
	for status, want := range map[delegation.Status]struct {
		state   inspect.JobState
		message string
	}{
		delegation.Running:   {inspect.StateRunning, "Kueue says that it runs: 0/1 completions. You cannot read Workloads on hub, so where it runs is unknown."},
		delegation.Suspended: {inspect.StateUnknown, "You cannot read Workloads on hub, so why it waits is unknown."},
	} {
		t.Run(string(status), func(t *testing.T) {
			origin := &inspect.Job{
				Context: "hub", ClusterUID: "hub", APIVersion: "batch/v1", Kind: "Job", Namespace: "ml", Name: "train", UID: "1",
				ManagedBy: delegation.MultiKueue, Status: status, Marks: &delegation.Marks{Queue: "gpu"},
			}
			hub := &inspect.Facts{
				Context: "hub", ClusterUID: "hub", Jobs: []*inspect.Job{origin}, Kueue: &inspect.KueueFacts{Version: "v1beta2"},
				Gaps: map[inspect.Part]error{inspect.PartWorkloads: forbidden},
			}
			v := inspect.NewInventory(time.Unix(0, 0), []*inspect.Facts{hub}, nil)
			trace := Trace(v, v.Pairs.Pairs[0])
			assert.Equal(t, trace.Message, want.message)
			assert.Equal(t, trace.State, want.state)
			assert.Equal(t, len(trace.Unchecked), 1)
		})
	}
}
