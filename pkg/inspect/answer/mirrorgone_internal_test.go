package answer

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestMirrorGone checks that a Job whose status says Running does not run if its mirror certainly no
// longer exists. That no mirror was found proves nothing.
func TestMirrorGone(t *testing.T) {
	origin := &inspect.Job{
		Context: "hub", ClusterUID: "hub", APIVersion: "batch/v1", Kind: "Job", Namespace: "ml", Name: "train", UID: "1",
		ManagedBy: delegation.Dispatch, Status: delegation.Running,
	}
	v := inspect.NewInventory(time.Unix(0, 0), []*inspect.Facts{{Context: "hub", ClusterUID: "hub", Jobs: []*inspect.Job{origin}}}, nil)
	q := Question{Inventory: v, Pair: v.Pairs.Pairs[0], Trace: Trace(v, v.Pairs.Pairs[0])}
	assert.Equal(t, q.Trace.State, inspect.StateRunning)
	assert.Equal(t, q.Trace.Message, "No mirror found on hub.")

	restarting := inspect.Finding{Code: mirrorGone, Severity: inspect.Error, Message: "its mirror is gone", Jobs: []inspect.Ref{inspect.RefOf(origin)}, Young: true, AwaitsActor: true}
	q.Trace.Findings = []inspect.Finding{restarting}
	Fill(q)
	assert.Equal(t, q.Trace.State, inspect.StateRunning, "MultiKueue may be about to restart it")

	q.Trace.Findings = []inspect.Finding{{Young: true, Code: mirrorGone, Severity: inspect.Error, Message: "its mirror is gone", Jobs: []inspect.Ref{inspect.RefOf(origin)}}}
	Fill(q)
	assert.Equal(t, q.Trace.Phrase(), "not running")
	assert.Equal(t, q.Trace.Message, "Its mirror is gone.")
}

// TestClusterNameKeepsCase checks that an answer that begins with the name of a MultiKueueCluster keeps its case.
func TestClusterNameKeepsCase(t *testing.T) {
	paris := &kueue.MultiKueueCluster{}
	paris.Name = "paris"
	hub := &inspect.Facts{Context: "hub", Kueue: &inspect.KueueFacts{Clusters: []*kueue.MultiKueueCluster{paris}}}
	q := Question{Inventory: inspect.NewInventory(time.Unix(0, 0), []*inspect.Facts{hub}, nil)}
	a := Answer{State: inspect.StateWaiting}
	a.take(&inspect.Finding{Code: "JM034", Severity: inspect.Error}, "paris (worker-1) admitted it", q.clusterNames()...)
	assert.Equal(t, a.Message, "paris (worker-1) admitted it.")
}
