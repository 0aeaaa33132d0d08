package placement_test

import (
	"errors"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/podfit"
)

// TestPodsWithoutANode checks a Job of the built-in controller whose Pods
// find no node. The nodes of its cluster show whether any could take them,
// and the scheduler's message explains the rest. If none could, changes are
// suggested, but the verdict is not Never: nodes may be added.
func TestPodsWithoutANode(t *testing.T) {
	waiting := inspect.Pod{Namespace: "ml", Name: "train-x", JobUID: "u", Phase: corev1.PodPending, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes are available"}
	nodes := &inspect.Environment{Nodes: someNodes()}
	gpus := &inspect.Environment{Nodes: []*podfit.Node{nodeIn(t, `{spec: {taints: [{key: example.com/gpu, effect: NoSchedule}]}, status: {allocatable: {example.com/gpu: 1}}}`)}}
	for _, tt := range []struct {
		name, spec      string
		owner           delegation.Owner
		site            *inspect.Environment
		pod             func(*inspect.Pod)
		verdict         inspect.Verdict
		message, change string
	}{
		{
			name: "busy", spec: "containers: [{name: c, resources: {requests: {cpu: 1}}}]", site: nodes, verdict: inspect.Waits,
			message: "the scheduler cannot place Pod train-x: 0/3 nodes are available",
		},
		{
			name: "only a taint prevents it", spec: "nodeSelector: {zone: b}, containers: [{name: c, resources: {requests: {cpu: 2}}}]", site: nodes, verdict: inspect.Unknown,
			message: "none of 3 nodes fits its Pods, even if empty; 2 do not match its node selector, affinity, node name or operating system; 1 have taints that it does not tolerate; an autoscaler may add nodes",
			change:  "use Pods that tolerate taint gpu=a100:NoSchedule (1 node on w), then delete Job ml/train, and create it again",
		},
		{
			name: "too big", spec: "tolerations: [{key: gpu, operator: Exists}], containers: [{name: c, resources: {requests: {cpu: 10}}}]", site: nodes, verdict: inspect.Unknown,
			message: "no node has 10 cpu for one Pod: the largest has 8; an autoscaler may add nodes",
			change:  "use Pods that request at most 8 cpu each, not 10, for w, then delete Job ml/train, and create it again",
		},
		{
			name: "too big for a large node", spec: "containers: [{name: c, resources: {requests: {cpu: 1500}}}]", verdict: inspect.Unknown,
			site:    &inspect.Environment{Nodes: []*podfit.Node{nodeIn(t, `{status: {allocatable: {cpu: 1k}}}`)}},
			message: "no node has 1500 cpu for one Pod: the largest has 1000; an autoscaler may add nodes",
			change:  "use Pods that request at most 1000 cpu each, not 1500, for w, then delete Job ml/train, and create it again",
		},
		{
			name: "on a cordoned node", spec: "nodeSelector: {zone: c}, containers: [{name: c}]", site: nodes, verdict: inspect.Unknown,
			message: "none of 3 nodes fits its Pods, even if empty; 2 do not match its node selector, affinity, node name or operating system; 1 cordoned; an autoscaler may add nodes",
			change:  "make 1 cordoned node on w schedulable again",
		},
		{name: "on no such node", spec: "nodeSelector: {zone: d}, containers: [{name: c}]", site: nodes, verdict: inspect.Unknown, message: "no node has label zone=d; an autoscaler may add nodes", change: "use Pods that do not select zone=d, which no node on w has, then delete Job ml/train, and create it again"},
		{
			name: "a taint of its own resource", spec: "containers: [{name: c, resources: {limits: {example.com/gpu: 1}}}]", site: gpus, verdict: inspect.Waits,
			message: "the scheduler cannot place Pod train-x: 0/3 nodes are available; its Pods do not tolerate taint example.com/gpu:NoSchedule; admission may add the toleration",
		},
		{
			name: "a taint of its own resource, says the scheduler", spec: "containers: [{name: c, resources: {limits: {example.com/gpu: 1}}}]", site: gpus, verdict: inspect.Unknown,
			pod:     func(p *inspect.Pod) { p.Message = "1 node(s) had untolerated taint {example.com/gpu: }" },
			message: "none of 1 node fits its Pods, even if empty; 1 have taints that it does not tolerate; an autoscaler may add nodes",
			change:  "use Pods that tolerate taint example.com/gpu:NoSchedule (1 node on w), then delete Job ml/train, and create it again",
		},
		{name: "in a snapshot", site: nil, verdict: inspect.Unknown, message: "the scheduler cannot place Pod train-x: 0/3 nodes are available"},
		{name: "nodes refused", site: &inspect.Environment{NodesErr: errors.New("no")}, spec: "containers: [{name: c}]", verdict: inspect.Unknown, message: "the scheduler cannot place Pod train-x: 0/3 nodes are available; cannot read its nodes: no"},
		{name: "has a node", site: nodes, pod: func(p *inspect.Pod) { p.Node, p.Reason = "a", "Running" }},
		{name: "waits for an image", site: nodes, pod: func(p *inspect.Pod) { p.Reason = "ImagePullBackOff" }},
		{name: "another's", site: nodes, owner: "example.com/mine"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			job := parse[batchv1.Job](t, `{spec: {template: {spec: {`+tt.spec+`}}}}`)
			job.Namespace = "ml"
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&job)
			assert.NilError(t, err)
			row := delegation.Job()
			j := &inspect.Job{
				KindRow: &row, Context: "w", Kind: "Job", Namespace: "ml", Name: "train", UID: "u", Active: 1, Status: delegation.Pending, ManagedBy: delegation.BuiltIn,
				Object: &unstructured.Unstructured{Object: content},
			}
			if tt.owner != "" {
				j.ManagedBy = tt.owner
			}
			pod := waiting
			if tt.pod != nil {
				tt.pod(&pod)
			}
			v := inspect.NewInventory(time.Now(), []*inspect.Facts{{Context: "w", Jobs: []*inspect.Job{j}, Pods: []*inspect.Pod{&pod}, Environment: tt.site}}, nil)
			all := placement.Around(v).Judge(inspect.Pair{Origin: j}, nil)
			if tt.verdict == "" {
				assert.Equal(t, len(all), 0)
				return
			}
			assert.Equal(t, len(all), 1)
			assert.Equal(t, all[0].Verdict, tt.verdict)
			assert.Equal(t, all[0].Message, tt.message)
			change := ""
			if len(all[0].Changes) > 0 {
				change = all[0].Changes[0].Message
			}
			assert.Equal(t, change, tt.change)
		})
	}
}
