package read

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/apijson"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// leaseOf decodes a Lease with these parts, as an API server sends it.
func leaseOf(t *testing.T, managedFields, spec string) *inspect.Lease {
	t.Helper()
	var o leaseObject
	assert.NilError(t, apijson.Unmarshal([]byte(`{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
		"metadata": {"namespace": "ns", "name": "jobs-managedby-a", "labels": {"jobmanagedby.github.io/origin-uid": "u"}, "managedFields": [`+managedFields+`]},
		"spec": {`+spec+`}}`), &o))
	return readLease(&o)
}

func TestReadLease(t *testing.T) {
	const (
		spec = `"holderIdentity": "alice", "leaseDurationSeconds": 15, "leaseTransitions": 2,
			"acquireTime": "2025-03-01T12:00:00.123456Z", "renewTime": "2025-03-01T12:10:00.654321Z"`
		written = `{"manager": "m", "operation": "Update", "time": "2025-03-01T12:09:00Z"}, {"manager": "n", "operation": "Update", "time": "2025-03-01T12:09:30Z"}, {"manager": "o"}`
	)
	l := leaseOf(t, written, spec)
	noon := time.Date(2025, time.March, 1, 12, 0, 0, 0, time.UTC)
	assert.Equal(t, l.Namespace+"/"+l.Name+" "+l.OriginUID+" "+l.Holder, "ns/jobs-managedby-a u alice")
	assert.Equal(t, l.Duration, 15*time.Second)
	assert.Assert(t, l.Acquired.Equal(noon.Add(123456*time.Microsecond)))
	assert.Assert(t, l.Renewed.Equal(noon.Add(9*time.Minute+30*time.Second)), "the API server's clock, not the holder's: %s", l.Renewed)
	assert.Assert(t, leaseOf(t, "", spec).Renewed.Equal(noon.Add(10*time.Minute+654321*time.Microsecond)), "the holder's, where there is no other")

	// If the holder's clock is wrong, the two dates of the renewal show it.
	for at, want := range map[string]time.Duration{"13:10:00": time.Hour, "11:10:02": 2*time.Second - time.Hour, "12:10:02": 0} {
		l = leaseOf(t, `{"manager": "m", "time": "2025-03-01T`+at+`Z"}`, spec)
		assert.Assert(t, l.Acquired.Sub(noon.Add(want)).Abs() < time.Second, "%s: %s", at, l.Acquired)
	}

	// A Lease was created but not acquired.
	l = leaseOf(t, `{"time": "2025-03-01T12:09:00Z"}`, "")
	assert.Equal(t, l.Holder, "")
	assert.Assert(t, l.Acquired.IsZero())
	assert.Assert(t, l.FreeSince().Equal(noon.Add(9*time.Minute)))
}

// TestUnschedulableReason checks that the reason of a Pod without a node ends before what the
// scheduler says about preemption.
func TestUnschedulableReason(t *testing.T) {
	const why = "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector."
	for _, rest := range []string{
		"", " preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.",
		" no new claims to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.",
		" not found",
	} {
		pod := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: why + rest},
		}}}
		reason, message := podReason(pod)
		assert.Equal(t, reason, "Unschedulable")
		assert.Equal(t, message, why)
	}
}

// TestHiddenContainer checks that a Pod names the container that failed, and whether kubectl shows another one's log.
func TestHiddenContainer(t *testing.T) {
	failed := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
	for name, tt := range map[string]struct {
		isInit     bool
		annotation string
		isHidden   bool
	}{
		"the first container":     {false, "", false},
		"an init container":       {true, "", true},
		"the annotated container": {true, "fetch", false},
		"an annotation that lies": {false, "nothing", false},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{{Name: "fetch"}}, Containers: []corev1.Container{{Name: "main"}, {Name: "side"}},
		}}
		pod.Annotations = map[string]string{"kubectl.kubernetes.io/default-container": tt.annotation}
		want := "main"
		if tt.isInit {
			want = "fetch"
			pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: want, LastTerminationState: failed}}
		} else {
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: want, State: failed}}
		}
		p := readPod(pod)
		assert.Equal(t, p.ExitContainer, want, name)
		assert.Equal(t, p.IsExitHidden, tt.isHidden, name)
	}
}

// TestSchedulingGates checks that a Pod that waits for its scheduling gates names them, and that the gate of its
// admission is a wait in a queue.
func TestSchedulingGates(t *testing.T) {
	for gate, isGated := range map[string]bool{"example.com/gate": true, delegation.AdmissionGate: false} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: gate}}}}
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated, Message: "Scheduling is blocked due to non-empty scheduling gates",
		}}
		p := readPod(pod)
		assert.Equal(t, p.Message, "waits for the removal of scheduling gate "+gate)
		assert.Equal(t, p.IsGated(), isGated)
	}
}
