package kueue_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestLabelNamespace checks that the fix of a namespace that a ClusterQueue excludes names the labels that it replaces
// and, if it is no step of another fix, that another queue helps, too.
func TestLabelNamespace(t *testing.T) {
	q := &kueue.ClusterQueue{}
	q.Name, q.Spec.NamespaceSelector = "q", &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
	w := &kueue.Workload{}
	w.Namespace, w.Spec.QueueName = "ml", "gpu"
	const label = "if namespace ml may use ClusterQueue q, label it on w1"
	for name, tt := range map[string]struct {
		labels map[string]string
		isStep bool
		want   string
	}{
		"no label":      {map[string]string{"kubernetes.io/metadata.name": "ml"}, false, "use another queue or, " + label},
		"another value": {map[string]string{"team": "b"}, false, "use another queue or, " + label + " (replaces team=b)"},
		"unread":        {nil, false, "use another queue or, " + label + " (replaces another value of team)"},
		"a step":        {map[string]string{}, true, label},
	} {
		target := kueue.FixTarget{
			Context: "w1", Workload: w, ClusterQueue: q, IsStep: tt.isStep,
			NamespaceLabels: func(string) map[string]string { return tt.labels },
		}
		wait := kueue.Wait{Reason: kueue.ReasonNamespaceExcluded, Queue: "q"}
		assert.Equal(t, wait.Fixes(target)[0].Text, tt.want, name)
	}
}

// TestActivateInStoppedQueues checks that a deactivated Workload is activated after its stopped queues are resumed.
func TestActivateInStoppedQueues(t *testing.T) {
	const activate = "activate the Workload: kubectl --context w1 -n ml patch workloads.kueue.x-k8s.io job-a --type merge -p {\"spec\":{\"active\":true}}"
	resume := func(what, command string) string {
		return "resume " + what + " on w1: kubectl --context w1 " + command + " --type merge -p '{\"spec\":{\"stopPolicy\":\"None\"}}', and then "
	}
	cluster, local := resume("ClusterQueue q", "patch clusterqueues.kueue.x-k8s.io q"), resume("LocalQueue ml/gpu", "-n ml patch localqueues.kueue.x-k8s.io gpu")
	for want, stopped := range map[string][2]string{activate: {"None", ""}, cluster + activate: {"Hold", ""}, local + activate: {"", "Hold"}, local + "CLUSTER" + activate: {"HoldAndDrain", "Hold"}} {
		target := targetOf(t, "{metadata: {name: q}}")
		target.LocalQueue.Namespace, target.LocalQueue.Name = "ml", "gpu"
		target.ClusterQueue.Spec.StopPolicy, target.LocalQueue.Spec.StopPolicy = stopped[0], stopped[1]
		wait := kueue.Wait{Reason: kueue.ReasonDeactivated}
		// As a step, a command is words without quotes.
		step := strings.ReplaceAll(cluster, "'", "")
		got := strings.ReplaceAll(strings.ReplaceAll(fixesOf(&wait, target), "'", ""), "\\", "")
		assert.Equal(t, got, strings.ReplaceAll(strings.ReplaceAll(want, "CLUSTER", step), "'", ""))
	}
	// A Job that is created again waits in the same queue. A copy that MultiKueue deletes does not.
	target := targetOf(t, "{metadata: {name: q}, spec: {stopPolicy: Hold}}")
	target.Workload.Status.Conditions = []metav1.Condition{{Type: kueue.DeactivationTarget, Status: metav1.ConditionTrue}}
	for reason, want := range map[kueue.WaitReason]string{
		kueue.ReasonTimedOut:         "resume ClusterQueue q on w1, then delete the Job, and create it again with a longer kueue.x-k8s.io/max-exec-time-seconds",
		kueue.ReasonDeactivated:      "resume ClusterQueue q on w1, then resolve what Kueue reports, then delete the Job, and create it again",
		kueue.ReasonEvictedOnManager: "wait until MultiKueue deletes this copy",
	} {
		wait := kueue.Wait{Reason: reason}
		f := wait.Fixes(target)[0]
		for _, step := range f.Then {
			f.Text += ", then " + step.Text
		}
		assert.Equal(t, f.Text, want)
	}
}
