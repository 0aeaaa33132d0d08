package answer

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestPods checks what the answer says about the Pods of a Job.
func TestPods(t *testing.T) {
	running := &inspect.Pod{UID: "r", JobUID: "1", Node: "n", Phase: corev1.PodRunning}
	pending := &inspect.Pod{UID: "p", JobUID: "1", Phase: corev1.PodPending, Reason: corev1.PodReasonUnschedulable}
	failed := &inspect.Pod{UID: "f", JobUID: "1", Node: "n", Phase: corev1.PodFailed, Reason: "Error", ExitCode: 3}
	killed := &inspect.Pod{UID: "k", JobUID: "1", Node: "n", Phase: corev1.PodFailed, Reason: "OOMKilled", ExitCode: 137, ExitReason: "OOMKilled"}
	restarting := &inspect.Pod{Name: "c", UID: "c", JobUID: "1", Node: "n", Phase: corev1.PodRunning, Reason: "CrashLoopBackOff", Message: "back-off 10s", ExitCode: 2, Restarts: 4, RestartPolicy: corev1.RestartPolicyOnFailure}
	restarted := &inspect.Pod{UID: "o", JobUID: "1", Node: "n", Phase: corev1.PodRunning, Reason: "Running", ExitCode: 137, ExitReason: "OOMKilled", Restarts: 3}
	mounting := &inspect.Pod{Name: "m", UID: "m", JobUID: "1", Node: "n", Phase: corev1.PodPending, Reason: "ContainerCreating", Scheduled: metav1.Unix(5, 0)}
	warning := func(reason, message string, at int64) *inspect.Event {
		return &inspect.Event{Kind: "Pod", Namespace: "ml", Name: "m", UID: "m", Warning: true, Reason: reason, Message: message, Time: time.Unix(at, 0)}
	}
	unscheduled := warning("FailedScheduling", "no nodes", 9)
	unmounted := warning("FailedMount", `configmap "c" not found`, 6)
	summary := warning("FailedMount", "Unable to attach or mount volumes: unmounted volumes=[conf]", 8)
	rejected := &inspect.Event{Kind: "Job", Namespace: "ml", Name: "train", UID: "1", Warning: true, Reason: "FailedCreate", Message: "exceeded quota", Time: time.Unix(0, 0)}
	refused := &inspect.Event{
		Kind: "Job", Namespace: "ml", Name: "train", UID: "1", Warning: true, Reason: inspect.FailedCreate, Time: time.Unix(9, 0),
		Message: `pods "train-x7k" is forbidden: exceeded quota: few, used: pods=1`,
	}
	later := &inspect.Pod{UID: "l", JobUID: "1", Node: "n", Phase: corev1.PodRunning, CreationTimestamp: metav1.Unix(10, 0)}
	for name, tt := range map[string]struct {
		parallelism int32
		pods        []*inspect.Pod
		events      []*inspect.Event
		reason      inspect.JobReason
		message     string
	}{
		"all run":           {2, []*inspect.Pod{running}, nil, inspect.ReasonBuiltIn, "The built-in Job controller runs it on hub."},
		"some find no node": {2, []*inspect.Pod{running, pending}, nil, inspect.ReasonUnschedulable, "0/1 of 2 completions. 1 of 2 Pods find no node on hub."},
		"one is rejected":   {2, []*inspect.Pod{running}, []*inspect.Event{refused}, inspect.ReasonPods, "0/1 of 2 completions. 1 of 2 Pods cannot be created on hub: exceeded quota: few, used: pods=1."},
		"one was rejected":  {2, []*inspect.Pod{running, later}, []*inspect.Event{refused}, inspect.ReasonBuiltIn, "The built-in Job controller runs it on hub."},
		"one has no node":   {3, []*inspect.Pod{running, pending}, []*inspect.Event{refused}, inspect.ReasonUnschedulable, "0/1 of 3 completions. 1 of 2 Pods find no node on hub. 1 of 3 Pods cannot be created on hub: exceeded quota: few, used: pods=1."},
		"all are rejected":  {2, nil, []*inspect.Event{rejected}, inspect.ReasonPods, "No Pods on hub. FailedCreate: exceeded quota."},
		"fails":             {1, []*inspect.Pod{failed}, nil, inspect.ReasonPods, "Pods on hub: 1 Error. 1 Pod failed: exit code 3; backoffLimit is 6."},
		"fails twice":       {1, []*inspect.Pod{failed, killed}, nil, inspect.ReasonPods, "Pods on hub: 1 Error, 1 OOMKilled. 2 Pods failed: OOMKilled (exit code 137) and exit code 3; backoffLimit is 6."},
		"restarts":          {1, []*inspect.Pod{restarting}, nil, inspect.ReasonPods, "Pods on hub: 1 CrashLoopBackOff. c: back-off 10s. 1 Pod restarted 4 times: exit code 2; the Job fails at 6 restarts (backoffLimit)."},
		"was restarted":     {1, []*inspect.Pod{restarted}, nil, inspect.ReasonBuiltIn, "The built-in Job controller runs it on hub. 1 Pod restarted 3 times: OOMKilled (exit code 137)."},
		"some restart":      {2, []*inspect.Pod{running, restarting}, nil, inspect.ReasonBuiltIn, "The built-in Job controller runs it on hub. 1 Pod restarted 4 times: exit code 2; the Job fails at 6 restarts (backoffLimit)."},
		"both":              {2, []*inspect.Pod{failed, restarting}, nil, inspect.ReasonPods, "Pods on hub: 1 CrashLoopBackOff, 1 Error. c: back-off 10s. 1 Pod failed: exit code 3; backoffLimit is 6. 1 Pod restarted 4 times: exit code 2; the Job fails at 6 restarts (backoffLimit)."},
		"a volume fails":    {1, []*inspect.Pod{mounting}, []*inspect.Event{unmounted, summary, unscheduled}, inspect.ReasonPods, `Pods on hub: 1 ContainerCreating. m: FailedMount: configmap "c" not found.`},
		"before its node":   {1, []*inspect.Pod{mounting}, []*inspect.Event{warning("FailedMount", "old", 4)}, inspect.ReasonPods, "Pods on hub: 1 ContainerCreating."},
		"runs again":        {1, []*inspect.Pod{running, failed}, nil, inspect.ReasonBuiltIn, "The built-in Job controller runs it on hub. 1 Pod failed: exit code 3; backoffLimit is 6."},
		"parallelism 0":     {0, nil, nil, inspect.ReasonPods, "It starts no Pods: spec.parallelism is 0."},
	} {
		t.Run(name, func(t *testing.T) {
			job := &inspect.Job{
				Context: "hub", ClusterUID: "hub", APIVersion: "batch/v1", Kind: "Job", Namespace: "ml", Name: "train", UID: "1",
				ManagedBy: delegation.BuiltIn, Status: delegation.Running, Parallelism: ptr.To(tt.parallelism), BackoffLimit: ptr.To(int32(6)),
			}
			hub := &inspect.Facts{Context: "hub", ClusterUID: "hub", Jobs: []*inspect.Job{job}, Pods: tt.pods, Events: tt.events}
			v := inspect.NewInventory(time.Unix(0, 0), []*inspect.Facts{hub}, nil)
			trace := Trace(v, inspect.Pair{Origin: job})
			assert.Equal(t, trace.Message, tt.message)
			assert.Equal(t, trace.Reason, tt.reason)
			isFailing := trace.State == inspect.StateFailing
			assert.Equal(t, isFailing, slices.ContainsFunc(trace.Fixes, isLogs))
			assert.Equal(t, isFailing, strings.Contains(strings.ToLower(trace.Message), "exit code") && !slices.Contains(tt.pods, running) && !slices.Contains(tt.pods, restarted))
		})
	}
}

// TestNotReady checks that a Job of which the status counts no ready Pod is starting, as its status Pending says.
func TestNotReady(t *testing.T) {
	now := time.Unix(1000, 0)
	for name, tt := range map[string]struct {
		status  delegation.Status
		ready   int32
		isReady bool
		started time.Time
		state   inspect.JobState
		message string
		fix     string
	}{
		"none is ready":   {delegation.Pending, 0, false, now.Add(-2 * time.Minute), inspect.StateStarting, "1 of 1 Pods on hub runs, but none is ready.", "check why Pod r is not ready: `kubectl --context hub -n ml describe pod r`"},
		"none is yet":     {delegation.Pending, 0, false, now.Add(-30 * time.Second), inspect.StateStarting, "1 of 1 Pods on hub runs, but none is ready.", ""},
		"not yet counted": {delegation.Pending, 0, true, now.Add(-2 * time.Minute), inspect.StateStarting, "1 of 1 Pods on hub runs.", ""},
		"ready":           {delegation.Running, 1, true, now.Add(-2 * time.Minute), inspect.StateRunning, "The built-in Job controller runs it on hub.", ""},
	} {
		t.Run(name, func(t *testing.T) {
			job := &inspect.Job{
				Context: "hub", ClusterUID: "hub", APIVersion: "batch/v1", Kind: "Job", Namespace: "ml", Name: "train", UID: "1",
				ManagedBy: delegation.BuiltIn, Status: tt.status, Parallelism: ptr.To(int32(1)), Active: 1, Ready: &tt.ready,
			}
			pod := &inspect.Pod{
				Namespace: "ml", Name: "r", UID: "r", JobUID: "1", Node: "n", Phase: corev1.PodRunning, Reason: "Running", Ready: tt.isReady,
				Started: metav1.NewTime(tt.started),
			}
			hub := &inspect.Facts{Context: "hub", ClusterUID: "hub", Jobs: []*inspect.Job{job}, Pods: []*inspect.Pod{pod}}
			trace := Trace(inspect.NewInventory(now, []*inspect.Facts{hub}, nil), inspect.Pair{Origin: job})
			assert.Equal(t, trace.State, tt.state)
			assert.Equal(t, trace.Message, tt.message)
			assert.Equal(t, trace.Remedy, tt.fix)
		})
	}
}

// TestFailedMirror checks that the answer says why a mirror failed, if the origin does not.
func TestFailedMirror(t *testing.T) {
	origin := &inspect.Job{Context: "hub", APIVersion: "batch/v1", Kind: "Job", Namespace: "ml", Name: "train", UID: "1", ManagedBy: delegation.MultiKueue, Status: delegation.Running}
	mirror := &inspect.Job{
		Context: "w", APIVersion: "batch/v1", Kind: "Job", Namespace: "ml", Name: "train", UID: "2", ManagedBy: delegation.BuiltIn,
		Status: delegation.Failed, Failure: "BackoffLimitExceeded: too many failures",
	}
	hub := &inspect.Facts{Context: "hub", ClusterUID: "hub", Jobs: []*inspect.Job{origin}}
	worker := &inspect.Facts{Context: "w", ClusterUID: "w", Jobs: []*inspect.Job{mirror}}
	v := inspect.NewInventory(time.Unix(0, 0), []*inspect.Facts{hub, worker}, nil)
	p := inspect.Pair{Origin: origin, Mirrors: []inspect.Mirror{{Job: mirror, Relation: inspect.ByMultiKueue, Current: true}}}
	trace := Trace(v, p)
	assert.Equal(t, trace.State, inspect.StateFailed)
	assert.Assert(t, strings.HasPrefix(trace.Message, "The mirror is Failed. BackoffLimitExceeded: too many failures. "), trace.Message)
	trace.Findings = []inspect.Finding{{Code: "JM110", Severity: inspect.Error, Message: "Job ml/train: its mirror is Failed", Jobs: []inspect.Ref{inspect.RefOf(origin)}}}
	Fill(Question{Inventory: v, Pair: p, Trace: trace})
	assert.Assert(t, strings.HasSuffix(trace.Message, ". BackoffLimitExceeded: too many failures."), trace.Message)
}

// TestYoungFix checks that the first lines for a Job whose Pods find no node have the fix of a young
// finding, if no node is at fault.
func TestYoungFix(t *testing.T) {
	const said = "0/4 nodes are available: pod has unbound immediate PersistentVolumeClaims."
	pod := &inspect.Pod{Name: "u", UID: "u", JobUID: "1", Phase: corev1.PodPending, Reason: corev1.PodReasonUnschedulable, Message: said, Claims: []string{"data"}}
	job := &inspect.Job{
		Context: "hub", ClusterUID: "hub", APIVersion: "batch/v1", Kind: "Job", Namespace: "ml", Name: "train", UID: "1",
		ManagedBy: delegation.BuiltIn, Status: delegation.Pending, Parallelism: ptr.To(int32(1)),
	}
	hub := &inspect.Facts{Context: "hub", ClusterUID: "hub", Jobs: []*inspect.Job{job}, Pods: []*inspect.Pod{pod}}
	v := inspect.NewInventory(time.Unix(0, 0), []*inspect.Facts{hub}, nil)
	p := inspect.Pair{Origin: job}
	trace := Trace(v, p)
	assert.Equal(t, trace.Message, "Pods on hub: 1 Unschedulable. u: PersistentVolumeClaim data is not bound.")
	assert.Equal(t, len(trace.Fixes), 0)
	fix := command.Fix{Text: "find out why it is not bound", Command: []string{"kubectl", "describe", "pvc", "data"}}
	trace.Findings = []inspect.Finding{{Code: "JM049", Severity: inspect.Warning, Young: true, Jobs: []inspect.Ref{inspect.RefOf(job)}, Fixes: []command.Fix{fix}}}
	Fill(Question{Inventory: v, Pair: p, Trace: trace})
	assert.DeepEqual(t, trace.Fixes, []command.Fix{fix})
}

func isLogs(f command.Fix) bool {
	return strings.HasPrefix(f.Shell(), "kubectl jobs-managedby logs train -n ml")
}

// TestFailed checks that the answer for a failed Job has the exit code and the command that reads its
// logs or, if MultiKueue has deleted its Pods, where they ran.
func TestFailed(t *testing.T) {
	pod := &inspect.Pod{UID: "f", JobUID: "1", Node: "n", Phase: corev1.PodFailed, Reason: "Error", ExitCode: 3}
	workload := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ml", Name: "job-train", UID: "w",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "train", UID: "1", Controller: ptr.To(true)}},
	}}
	workload.Status.ClusterName = ptr.To("tokyo")
	for name, tt := range map[string]struct {
		owner   delegation.Owner
		pods    []*inspect.Pod
		message string
		fixes   int
	}{
		"here":        {delegation.BuiltIn, []*inspect.Pod{pod}, "BackoffLimitExceeded: too often. Exit code 3.", 1},
		"Pods gone":   {delegation.BuiltIn, nil, "BackoffLimitExceeded: too often.", 0},
		"on a worker": {delegation.MultiKueue, nil, "BackoffLimitExceeded: too often. It ran on tokyo; MultiKueue deletes its Pods and their logs there.", 0},
	} {
		t.Run(name, func(t *testing.T) {
			job := &inspect.Job{
				Context: "hub", ClusterUID: "hub", APIVersion: "batch/v1", Kind: "Job", Namespace: "ml", Name: "train", UID: "1",
				ManagedBy: tt.owner, Status: delegation.Failed, Failure: "BackoffLimitExceeded: too often",
			}
			hub := &inspect.Facts{Context: "hub", ClusterUID: "hub", Jobs: []*inspect.Job{job}, Pods: tt.pods, Kueue: &inspect.KueueFacts{}}
			if tt.owner == delegation.MultiKueue {
				hub.Kueue.Workloads = []*kueue.Workload{workload}
			}
			trace := Trace(inspect.NewInventory(time.Unix(0, 0), []*inspect.Facts{hub}, nil), inspect.Pair{Origin: job})
			assert.Equal(t, strings.TrimPrefix(trace.Message, "0/1 completions. "), tt.message)
			assert.Assert(t, len(trace.Fixes) == tt.fixes && !slices.ContainsFunc(trace.Fixes, func(f command.Fix) bool { return !isLogs(f) }), "%+v", trace.Fixes)
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

// TestRefusedPodsDoNotStart checks that a Job whose Pods are refused is not starting, unless that may pass.
func TestRefusedPodsDoNotStart(t *testing.T) {
	t.Parallel()
	const refused = `pods "train-" is forbidden: `
	origin := &inspect.Job{Kind: "Job", Namespace: "ml", Name: "train", Context: "hub", UID: "1"}
	for why, tt := range map[string]struct{ young, old bool }{
		refused + `serviceaccount "trainer" not found`:                {true, true},
		refused + "exceeded quota: few, requested: pods=1":            {false, false},
		`Internal error occurred: failed calling webhook "w.io": EOF`: {false, true},
	} {
		for young, want := range map[bool]bool{true: tt.young, false: tt.old} {
			f := inspect.Finding{Code: podsMissing, Severity: inspect.Error, Young: young, Message: "its mirror on w1 cannot create Pods: " + why, Jobs: []inspect.Ref{inspect.RefOf(origin)}}
			q := Question{Pair: inspect.Pair{Origin: origin}, Trace: &inspect.Trace{Findings: []inspect.Finding{f}}}
			assert.Equal(t, q.cannotCreatePods(&inspect.Job{Context: "w1"}), want, "%s, young %v", why, young)
			assert.Assert(t, !q.cannotCreatePods(&inspect.Job{Context: "w2"}), why)
		}
	}
}
