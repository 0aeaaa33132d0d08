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

// TestWorkloadsUnread checks that a user who may not read Workloads sees
// that, and not that there is no mirror.
func TestWorkloadsUnread(t *testing.T) {
	origin := &inspect.Job{
		Context: "hub", ClusterUID: "hub", APIVersion: "batch/v1", Kind: "Job", Namespace: "ml", Name: "train", UID: "1",
		ManagedBy: delegation.MultiKueue, Status: delegation.Running, Marks: &delegation.Marks{Queue: "gpu"},
	}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Group: "kueue.x-k8s.io", Resource: "workloads"}, "", nil)
	hub := &inspect.Facts{
		Context: "hub", ClusterUID: "hub", Jobs: []*inspect.Job{origin}, Kueue: &inspect.KueueFacts{Version: "v1beta2"},
		Gaps: map[inspect.Part]error{inspect.PartWorkloads: forbidden},
	}
	v := inspect.NewInventory(time.Unix(0, 0), []*inspect.Facts{hub}, nil)
	trace := Trace(v, v.Pairs.Pairs[0])
	assert.Equal(t, trace.Message, "You cannot read Workloads on hub, so where it runs is unknown.")
	assert.Equal(t, trace.State, inspect.StateUnknown)
	assert.Equal(t, len(trace.Unchecked), 1)
	assert.Equal(t, Clause(trace), "you cannot read Workloads on hub, so where it runs is unknown")
}
