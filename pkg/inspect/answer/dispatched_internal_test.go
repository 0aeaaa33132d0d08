package answer

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/chain"
)

func dispatchedJob(started *metav1.Time) *inspect.Job {
	return &inspect.Job{
		APIVersion: "batch/v1", Kind: "Job", Context: "hub", ClusterUID: "hub", Namespace: "ml", Name: "disp", UID: "1",
		ManagedBy: delegation.Dispatch, Status: delegation.Pending, StartTime: started,
	}
}

// TestDispatchedWithoutMirror checks that a Job that has a startTime is not reported as never dispatched.
func TestDispatchedWithoutMirror(t *testing.T) {
	started := &metav1.Time{Time: time.Unix(0, 0)}
	none, held := map[string]*inspect.Lease{}, map[string]*inspect.Lease{}
	held["ml/"+dispatchedJob(nil).Row().LeaseName("disp")] = &inspect.Lease{OriginUID: "1", Holder: "alice", Duration: time.Minute, Renewed: time.Unix(60, 0)}
	const lost = "The mirror is gone or unread, and no dispatcher holds its Lease. Not read: worker-1."
	for name, tt := range map[string]struct {
		started *metav1.Time
		leases  map[string]*inspect.Lease
		err     error
		state   inspect.JobState
		message string
		fix     string
	}{
		"never dispatched":      {nil, none, inspect.ErrNotRequested, inspect.StateWaiting, "It was not dispatched to a cluster yet.", "dispatch it"},
		"its worker is unread":  {started, none, inspect.ErrNotRequested, inspect.StateUnknown, lost, ""},
		"all was read":          {started, none, nil, inspect.StateBlocked, "The mirror is gone, and no dispatcher holds its Lease.", "dispatch it again"},
		"being dispatched":      {nil, held, nil, inspect.StateWaiting, "It has no mirror yet; alice holds its Lease.", ""},
		"a dispatcher works":    {started, held, inspect.ErrNotRequested, inspect.StateWaiting, "The mirror is gone or unread; alice holds its Lease. Not read: worker-1.", ""},
		"Leases are unreadable": {started, nil, inspect.ErrNotRequested, inspect.StateUnknown, "The mirror is gone or unread. Not read: worker-1.", ""},
	} {
		hub := &inspect.Facts{Context: "hub", ClusterUID: "hub", Jobs: []*inspect.Job{dispatchedJob(tt.started)}, Leases: tt.leases}
		v := inspect.NewInventory(time.Unix(60, 0), []*inspect.Facts{hub, {Context: "worker-1", ClusterUID: "worker-1", Err: tt.err}}, nil)
		trace := Trace(v, v.Pairs.Pairs[0])
		assert.Equal(t, trace.State, tt.state, name)
		assert.Equal(t, trace.Message, tt.message, name)
		fix := ""
		if len(trace.Fixes) > 0 {
			fix = trace.Fixes[0].Text
		}
		assert.Equal(t, fix, tt.fix, name)
	}
}

// TestUnattendedMirror checks that the answer for a Job that runs says why its fix continues the dispatch.
func TestUnattendedMirror(t *testing.T) {
	origin := dispatchedJob(nil)
	origin.Status, origin.Active = delegation.Running, 1
	mirror := &inspect.Job{APIVersion: "batch/v1", Kind: "Job", Context: "w", ClusterUID: "w", Namespace: "ml", Name: "disp", UID: "m", Status: delegation.Running, Active: 1}
	v := inspect.NewInventory(time.Unix(60, 0), []*inspect.Facts{
		{Context: "hub", ClusterUID: "hub", Jobs: []*inspect.Job{origin}}, {Context: "w", ClusterUID: "w", Jobs: []*inspect.Job{mirror}},
	}, nil)
	p := inspect.Pair{Origin: origin, Mirrors: []inspect.Mirror{{Job: mirror, Current: true}}}
	trace := chain.Trace(v, p)
	fix := command.Fix{Text: "resume with the same mirror"}
	trace.Findings = []inspect.Finding{{Code: unattended, Severity: inspect.Warning, Young: true, Jobs: []inspect.Ref{inspect.RefOf(origin)}, Fixes: []command.Fix{fix}}}
	q := Question{Inventory: v, Pair: p, Trace: trace}
	a := q.Answer()
	assert.Equal(t, a.State, inspect.StateRunning)
	assert.Equal(t, a.Message, "0/1 completions. No dispatcher copies its status.")
	assert.Equal(t, a.Fixes[0].Text, fix.Text)
}
