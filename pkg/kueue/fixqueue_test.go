package kueue_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
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

// TestInactiveUnreadQueue checks that no command reads a ClusterQueue that the user may not read.
func TestInactiveUnreadQueue(t *testing.T) {
	for name, tt := range map[string]struct {
		mayNotRead  bool
		queue, want string
	}{
		"readable":  {false, "q", "resume ClusterQueue q on w1, or add what is missing: kubectl --context w1 describe clusterqueues.kueue.x-k8s.io q"},
		"forbidden": {true, "q", "ask an administrator of w1 why ClusterQueue q is not active: "},
		"unknown":   {true, "", "ask an administrator of w1 why its ClusterQueue is not active: "},
	} {
		fixes := kueue.FixTarget{Context: "w1", MayNotRead: tt.mayNotRead}.ActivateQueue(tt.queue)
		assert.Equal(t, len(fixes), 1, name)
		assert.Equal(t, fixes[0].Text+": "+fixes[0].Shell(), tt.want, name)
	}
}

// TestActivateInStoppedQueues checks that a deactivated Workload is activated after its stopped queues are resumed.
func TestActivateInStoppedQueues(t *testing.T) {
	step := func(text, words, patch string) command.Step {
		return command.Step{Text: text, Command: append(strings.Fields("kubectl --context w1 "+words+" --type merge -p"), patch)}
	}
	const resumed = `{"spec":{"stopPolicy":"None"}}`
	cluster := step("if its maintenance is over, resume ClusterQueue q on w1", "patch clusterqueues.kueue.x-k8s.io q", resumed)
	local := step("if its maintenance is over, resume LocalQueue ml/gpu on w1", "-n ml patch localqueues.kueue.x-k8s.io gpu", resumed)
	activate := step("if its pause is over, activate the Workload", "-n ml patch workloads.kueue.x-k8s.io job-a", `{"spec":{"active":true}}`)
	for _, tt := range []struct {
		cluster, local string
		want           []command.Step
	}{
		{"None", "", []command.Step{activate}},
		{"Hold", "", []command.Step{cluster, activate}},
		{"", "Hold", []command.Step{local, activate}},
		{"HoldAndDrain", "Hold", []command.Step{local, cluster, activate}},
	} {
		target := targetOf(t, "{metadata: {name: q}}")
		target.LocalQueue.Namespace, target.LocalQueue.Name = "ml", "gpu"
		target.ClusterQueue.Spec.StopPolicy, target.LocalQueue.Spec.StopPolicy = tt.cluster, tt.local
		wait := kueue.Wait{Reason: kueue.ReasonDeactivated}
		fixes := wait.Fixes(target)
		assert.Equal(t, len(fixes), 1)
		assert.DeepEqual(t, append([]command.Step{{Text: fixes[0].Text, Command: fixes[0].Command}}, fixes[0].Then...), tt.want)
	}
	// A Job that is created again waits in the same queue. A copy that MultiKueue deletes does not.
	target := targetOf(t, "{metadata: {name: q}, spec: {stopPolicy: Hold}}")
	target.Workload.Status.Conditions = []metav1.Condition{{Type: kueue.DeactivationTarget, Status: metav1.ConditionTrue}}
	for reason, want := range map[kueue.WaitReason]string{
		kueue.ReasonTimedOut:         "if its maintenance is over, resume ClusterQueue q on w1, then delete the Job, and create it again with a longer kueue.x-k8s.io/max-exec-time-seconds",
		kueue.ReasonDeactivated:      "if its maintenance is over, resume ClusterQueue q on w1, then resolve what Kueue reports, then delete the Job, and create it again",
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
