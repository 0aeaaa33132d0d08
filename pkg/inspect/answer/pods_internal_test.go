package answer

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestPods checks what the answer says about the Pods of a Job.
func TestPods(t *testing.T) {
	running := &inspect.Pod{UID: "r", JobUID: "1", Node: "n", Phase: corev1.PodRunning}
	pending := &inspect.Pod{UID: "p", JobUID: "1", Phase: corev1.PodPending, Reason: corev1.PodReasonUnschedulable}
	rejected := &inspect.Event{Kind: "Job", Namespace: "ml", Name: "train", UID: "1", Warning: true, Reason: "FailedCreate", Message: "exceeded quota", Time: time.Unix(0, 0)}
	for name, tt := range map[string]struct {
		parallelism int32
		pods        []*inspect.Pod
		events      []*inspect.Event
		reason      inspect.JobReason
		message     string
	}{
		"all run":           {2, []*inspect.Pod{running}, nil, inspect.ReasonBuiltIn, "The built-in Job controller runs it on hub."},
		"some find no node": {2, []*inspect.Pod{running, pending}, nil, inspect.ReasonUnschedulable, "0/1 of 2 completions. 1 of 2 Pods find no node on hub."},
		"all are rejected":  {2, nil, []*inspect.Event{rejected}, inspect.ReasonPods, "No Pods on hub. FailedCreate: exceeded quota."},
		"parallelism 0":     {0, nil, nil, inspect.ReasonPods, "It starts no Pods: spec.parallelism is 0."},
	} {
		t.Run(name, func(t *testing.T) {
			job := &inspect.Job{
				Context: "hub", ClusterUID: "hub", APIVersion: "batch/v1", Kind: "Job", Namespace: "ml", Name: "train", UID: "1",
				ManagedBy: delegation.BuiltIn, Status: delegation.Running, Parallelism: ptr.To(tt.parallelism),
			}
			hub := &inspect.Facts{Context: "hub", ClusterUID: "hub", Jobs: []*inspect.Job{job}, Pods: tt.pods, Events: tt.events}
			v := inspect.NewInventory(time.Unix(0, 0), []*inspect.Facts{hub}, nil)
			trace := Trace(v, inspect.Pair{Origin: job})
			assert.Equal(t, trace.Message, tt.message)
			assert.Equal(t, trace.Reason, tt.reason)
		})
	}
}

// TestReasonOfSharedFinding checks that a finding about several Jobs does not name another Job in the
// answer for one of them.
func TestReasonOfSharedFinding(t *testing.T) {
	job := func(name string) *inspect.Job {
		return &inspect.Job{
			Context: "hub", ClusterUID: "hub", APIVersion: "batch/v1", Kind: "Job", Namespace: "ml", Name: name, UID: name,
			ManagedBy: delegation.MultiKueue, Status: delegation.Suspended, Suspended: true,
		}
	}
	first, second := job("first"), job("second")
	v := inspect.NewInventory(time.Unix(0, 0), []*inspect.Facts{{Context: "hub", ClusterUID: "hub", Jobs: []*inspect.Job{first, second}}}, nil)
	finding := inspect.Finding{
		Code: "JM017", Severity: inspect.Error, Kind: "Job", Namespace: "ml", Name: "first", Message: "Job ml/first is in queue a",
		Jobs:    []inspect.Ref{inspect.RefOf(first), inspect.RefOf(second)},
		Clauses: map[inspect.Ref]string{inspect.RefOf(second): "it is in queue b"},
	}
	for _, p := range v.Pairs.Pairs {
		trace := Trace(v, p)
		trace.Findings = []inspect.Finding{finding}
		Fill(Question{Inventory: v, Pair: p, Trace: trace})
		assert.Equal(t, trace.Message, map[string]string{"first": "It is in queue a.", "second": "It is in queue b."}[p.Origin.Name])
	}
}
