package answer

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// delegated returns an origin and its mirror of a kind, with the same status.
func delegated(kind string, status delegation.Status) (v *inspect.Inventory, p inspect.Pair) {
	row, _ := delegation.KindNamed(kind)
	apiVersion, kindName := row.GroupVersionKind().ToAPIVersionAndKind()
	origin := &inspect.Job{
		Context: "hub", ClusterUID: "hub", APIVersion: apiVersion, Kind: kindName, Namespace: "ml", Name: "train", UID: "1", KindRow: &row,
		ManagedBy: delegation.MultiKueue, Status: status, Parallelism: ptr.To(int32(1)),
	}
	mirror := origin.DeepCopy()
	mirror.Context, mirror.ClusterUID, mirror.UID, mirror.ManagedBy = "w", "w", "2", delegation.BuiltIn
	hub := &inspect.Facts{Context: "hub", ClusterUID: "hub", Jobs: []*inspect.Job{origin}}
	worker := &inspect.Facts{Context: "w", ClusterUID: "w", Jobs: []*inspect.Job{mirror}}
	v = inspect.NewInventory(time.Unix(0, 0), []*inspect.Facts{hub, worker}, nil)
	return v, inspect.Pair{Origin: origin, Mirrors: []inspect.Mirror{{Job: mirror, Relation: inspect.ByMultiKueue, Current: true}}}
}

// TestRestartsOfOtherKinds checks that an object that its controller restarts is failing, in a trace and in a list.
func TestRestartsOfOtherKinds(t *testing.T) {
	const logs = "kubectl jobs-managedby logs rayjob/train -n ml --context hub"
	for name, tt := range map[string]struct {
		status   delegation.Status
		restarts *delegation.Restarts
		state    inspect.JobState
		message  string
	}{
		"restarts":            {delegation.Running, &delegation.Restarts{Now: true, Count: 3, Why: "AppFailed: exited 1"}, inspect.StateFailing, "It is restarting (3 times so far): AppFailed: exited 1."},
		"does not run again":  {delegation.Pending, &delegation.Restarts{Count: 5}, inspect.StateFailing, "It restarted 5 times."},
		"starts again":        {delegation.Pending, &delegation.Restarts{Count: 1}, inspect.StateStarting, "It restarted once."},
		"runs again":          {delegation.Running, &delegation.Restarts{Count: 1}, inspect.StateRunning, "It restarted once."},
		"is suspended":        {delegation.Suspended, &delegation.Restarts{Count: 1}, inspect.StateWaiting, "The mirror on w is suspended."},
		"has never restarted": {delegation.Running, nil, inspect.StateRunning, ""},
	} {
		t.Run(name, func(t *testing.T) {
			v, p := delegated("rayjob", tt.status)
			p.Origin.Restarts, p.Mirrors[0].Job.Restarts = tt.restarts, tt.restarts
			trace := Trace(v, p)
			assert.Equal(t, trace.State, tt.state)
			assert.Equal(t, trace.Message, tt.message)
			isFailing := tt.state == inspect.StateFailing
			assert.Equal(t, len(trace.Fixes) == 1 && trace.Fixes[0].Shell() == logs, isFailing, "%+v", trace.Fixes)
			brief := briefOf(v, p, nil, nil)
			assert.Equal(t, brief.Message == tt.message && tt.message != "", tt.state != inspect.StateRunning, brief.Message)
		})
	}
}

// TestRestartsByCopiedStatus checks that the origin alone says that it restarts, if its mirror was not read.
func TestRestartsByCopiedStatus(t *testing.T) {
	v, p := delegated("rayjob", delegation.Running)
	p.Origin.Restarts = &delegation.Restarts{Now: true}
	q := Question{Inventory: v, Pair: inspect.Pair{Origin: p.Origin}, Trace: &inspect.Trace{Origin: p.Origin}}
	a := q.byCopiedStatus("w")
	assert.Equal(t, a.State, inspect.StateFailing)
	assert.Equal(t, a.Message, "Kueue says that it runs on w. It is restarting.")
}

// TestEndInLists checks that a list says why an object failed, with a mirror and without one, and why a Job succeeded
// without all completions.
func TestEndInLists(t *testing.T) {
	policy := &inspect.Decision{Why: "SuccessPolicy: Matched rules at index 0"}
	for name, tt := range map[string]struct {
		status   delegation.Status
		failure  string
		decision *inspect.Decision
		message  string
	}{
		"failed":             {delegation.Failed, "Unhealthy: 2 Pods failed", nil, "Unhealthy: 2 Pods failed."},
		"by a policy":        {delegation.Complete, "", policy, "SuccessPolicy: Matched rules at index 0."},
		"by all completions": {delegation.Complete, "", &inspect.Decision{Why: "CompletionsReached: all"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			v, p := delegated("job", tt.status)
			for _, j := range p.Jobs() {
				j.Failure, j.Decision = tt.failure, tt.decision
			}
			assert.Equal(t, briefOf(v, p, nil, nil).Message, tt.message)
			assert.Equal(t, briefOf(v, inspect.Pair{Origin: p.Origin}, nil, nil).Message, tt.message)
			want := "0/1 completions."
			if tt.message != "" {
				want += " " + tt.message
			}
			assert.Equal(t, Trace(v, p).Message, want)
		})
	}
}

// TestRefusedRayCluster checks that the answer for a RayCluster whose Pods a quota refuses has the fix.
func TestRefusedRayCluster(t *testing.T) {
	v, p := delegated("raycluster", delegation.Failed)
	for _, j := range p.Jobs() {
		j.Failure = `FailedCreateHeadPod: pods "train-head" is forbidden: exceeded quota: few, requested: cpu=4, used: cpu=2, limited: cpu=4`
	}
	trace := Trace(v, p)
	assert.Assert(t, strings.Contains(trace.Message, "exceeded quota: few"), trace.Message)
	assert.Assert(t, strings.HasPrefix(trace.Remedy, "raise ResourceQuota few in namespace ml of w, "), trace.Remedy)
}

// TestFixesOfFailures checks that the fix for Pods that lack memory is more memory, and that otherwise the fix shows the
// log of the container that fails.
func TestFixesOfFailures(t *testing.T) {
	const again = "delete the Job: `kubectl --context hub -n ml delete job train`, and then create the Job again"
	pod := func(reason, container string, isHidden bool) *inspect.Pod {
		return &inspect.Pod{
			Name: container, UID: reason + container, JobUID: "2", Node: "n", Phase: corev1.PodFailed, Reason: reason,
			ExitCode: 1, ExitReason: reason, ExitContainer: container, IsExitHidden: isHidden,
		}
	}
	for name, tt := range map[string]struct {
		pods   []*inspect.Pod
		remedy string
	}{
		"the main container":  {[]*inspect.Pod{pod("Error", "main", false)}, "read the logs of its Pods: `kubectl jobs-managedby logs train -n ml --context hub`"},
		"an init container":   {[]*inspect.Pod{pod("Error", "fetch", true)}, "read the logs of container fetch of its Pods: `kubectl jobs-managedby logs train -n ml --context hub -c fetch`"},
		"two containers":      {[]*inspect.Pod{pod("Error", "fetch", true), pod("Error", "main", false)}, "read the logs of its Pods: `kubectl jobs-managedby logs train -n ml --context hub`"},
		"too little memory":   {[]*inspect.Pod{pod("OOMKilled", "main", false)}, "raise the memory limit of container main in the manifest, then " + again},
		"two lack memory":     {[]*inspect.Pod{pod("OOMKilled", "main", false), pod("OOMKilled", "side", true)}, "raise the memory limits of the containers in the manifest, then " + again},
		"only one lacks more": {[]*inspect.Pod{pod("OOMKilled", "main", false), pod("Error", "main", false)}, "read the logs of its Pods: `kubectl jobs-managedby logs train -n ml --context hub`"},
	} {
		t.Run(name, func(t *testing.T) {
			v, p := delegated("job", delegation.Running)
			worker := v.Facts("w")
			worker.Pods = tt.pods
			v = inspect.NewInventory(time.Unix(0, 0), v.Clusters, nil)
			trace := Trace(v, p)
			assert.Equal(t, trace.State, inspect.StateFailing)
			assert.Equal(t, trace.Remedy, tt.remedy)
		})
	}
}
