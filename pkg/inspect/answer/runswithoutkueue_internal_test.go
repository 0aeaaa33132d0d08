package answer

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestRunsWithoutKueue checks that a built-in Job with Pods runs although Kueue has created no Workload for it,
// whether or not its queue exists.
func TestRunsWithoutKueue(t *testing.T) {
	const queueMissing, noWorkload = "LocalQueue ml/gpu does not exist on hub.", "Kueue on hub has created no Workload for it."
	for name, tt := range map[string]struct {
		status    delegation.Status
		suspended bool
		active    int32
		queues    []string
		state     inspect.JobState
		message   string
	}{
		"running, no queue":     {delegation.Running, false, 2, nil, inspect.StateRunning, "The built-in Job controller runs it on hub."},
		"running, queue exists": {delegation.Running, false, 2, []string{"gpu"}, inspect.StateRunning, "The built-in Job controller runs it on hub."},
		"a Pod has ended":       {delegation.Running, false, 0, nil, inspect.StateRunning, "The built-in Job controller runs it on hub."},
		"no Pod is ready":       {delegation.Pending, false, 1, nil, inspect.StateStarting, "The built-in Job controller runs it on hub."},
		"no Pods, no queue":     {delegation.Pending, false, 0, nil, inspect.StateBlocked, queueMissing},
		"suspended, no queue":   {delegation.Suspended, true, 0, nil, inspect.StateBlocked, queueMissing},
		"suspended":             {delegation.Suspended, true, 0, []string{"gpu"}, inspect.StateWaiting, noWorkload},
	} {
		t.Run(name, func(t *testing.T) {
			j := &inspect.Job{
				APIVersion: "batch/v1", Kind: "Job", Context: "hub", Namespace: "ml", Name: "train", UID: "train", ManagedBy: delegation.BuiltIn,
				Status: tt.status, Suspended: tt.suspended, Active: tt.active, Marks: &delegation.Marks{Queue: "gpu"},
			}
			f := &inspect.Facts{Context: "hub", Jobs: []*inspect.Job{j}, Kueue: &inspect.KueueFacts{ListsLocalQueues: true}}
			for _, name := range tt.queues {
				q := &kueue.LocalQueue{}
				q.Namespace, q.Name = "ml", name
				f.Kueue.LocalQueues = append(f.Kueue.LocalQueues, q)
			}
			v := inspect.NewInventory(time.Unix(6000, 0), []*inspect.Facts{f}, nil)
			q := Question{Inventory: v, Pair: inspect.Pair{Origin: j}, Trace: &inspect.Trace{}}
			a := q.Answer()
			assert.Equal(t, a.State, tt.state)
			assert.Equal(t, a.Message, tt.message)
		})
	}
}

// TestUnclaimedWithoutOwner checks that a Job that is not delegated, such as a mirror in a list, has a reason if its
// controller has not picked it up, and does not run according to it.
func TestUnclaimedWithoutOwner(t *testing.T) {
	j := &inspect.Job{
		APIVersion: "batch/v1", Kind: "Job", Context: "w1", Namespace: "ml", Name: "train", UID: "train", ManagedBy: delegation.BuiltIn,
		Status: delegation.Unclaimed, Marks: &delegation.Marks{MultiKueueOrigin: "multikueue"},
	}
	v := inspect.NewInventory(time.Unix(6000, 0), []*inspect.Facts{{Context: "w1", Jobs: []*inspect.Job{j}}}, nil)
	q := Question{Inventory: v, Pair: inspect.Pair{Origin: j}, Trace: &inspect.Trace{}}
	a := q.Answer()
	assert.Equal(t, a.State, inspect.StateStarting)
	assert.Equal(t, a.Reason, inspect.ReasonUnclaimed)
	assert.Equal(t, a.Message, "The built-in Job controller on w1 has not picked it up.")
}

// TestMisspeltQueue checks that the answer for a Job without a Workload names the queue that its label may mean, and
// how the Job gets there.
func TestMisspeltQueue(t *testing.T) {
	for suspended, want := range map[bool]string{
		true:  "move Job ml/train to LocalQueue gpus: `kubectl --context hub -n ml label job train --overwrite kueue.x-k8s.io/queue-name=gpus`",
		false: "recreate Job ml/train in LocalQueue gpus: `kubectl jobs-managedby recreate train -n ml --context hub --managed-by '' --queue gpus`",
	} {
		j := &inspect.Job{
			APIVersion: "batch/v1", Kind: "Job", Context: "hub", Namespace: "ml", Name: "train", UID: "train", ManagedBy: delegation.BuiltIn,
			Status: delegation.Pending, Suspended: suspended, Marks: &delegation.Marks{Queue: "gpu"},
		}
		local, queue := &kueue.LocalQueue{}, &kueue.ClusterQueue{}
		local.Namespace, local.Name, local.Spec.ClusterQueue, queue.Name = "ml", "gpus", "q", "q"
		f := &inspect.Facts{Context: "hub", Jobs: []*inspect.Job{j}, Kueue: &inspect.KueueFacts{
			ListsLocalQueues: true, LocalQueues: []*kueue.LocalQueue{local}, ClusterQueues: []*kueue.ClusterQueue{queue},
		}}
		v := inspect.NewInventory(time.Unix(6000, 0), []*inspect.Facts{f}, nil)
		a := (&Question{Inventory: v, Pair: inspect.Pair{Origin: j}, Trace: &inspect.Trace{}}).Answer()
		assert.Equal(t, a.Message, "LocalQueue ml/gpu does not exist on hub; did you mean gpus?")
		assert.Equal(t, string(command.Alternatives(a.Fixes)), want)
	}
}
