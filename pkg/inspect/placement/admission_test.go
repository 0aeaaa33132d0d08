package placement_test

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/podfit"
)

// nodeIn parses a node.
func nodeIn(t *testing.T, text string) *podfit.Node {
	t.Helper()
	n := parse[corev1.Node](t, text)
	return podfit.NodeOf(&n)
}

// TestNodesOfARuntimeClass checks that nodes are compared with Pods that have what their RuntimeClass
// adds: overhead, node selector and tolerations.
func TestNodesOfARuntimeClass(t *testing.T) {
	const kata = `{metadata: {name: a, labels: {runtime: kata}}, spec: {taints: [{key: kata, effect: NoSchedule}]}, status: {allocatable: {cpu: "4"}}}`
	const plain = `{metadata: {name: b}, status: {allocatable: {cpu: "8"}}}`
	const scheduling = `{metadata: {name: kata}, scheduling: {nodeSelector: {runtime: kata}, tolerations: [{key: kata, operator: Exists}]}}`
	job := func(more, cpu string) string {
		return `{spec: {template: {spec: {runtimeClassName: kata, ` + more + ` containers: [{name: c, resources: {requests: {cpu: ` + cpu + `}}}]}}}}`
	}
	for name, tt := range map[string]struct {
		class, job string
		nodes      []string
		verdict    inspect.Verdict
		pods, says string
		change     string
	}{
		"no effects":            {`{}`, job("", "4"), []string{plain}, inspect.Fits, "1 of 1 node", "", ""},
		"overhead":              {`{overhead: {podFixed: {cpu: 1}}}`, job("", "4"), []string{plain}, inspect.Fits, "1 of 1 node", "", ""},
		"overhead is too much":  {`{overhead: {podFixed: {cpu: 1}}}`, job("", "8"), []string{plain}, inspect.Unknown, "0 of 1 node", "no node has 9 cpu for one Pod: the largest has 8", "use Pods that request at most 7 cpu each, not 8, for w"},
		"its own overhead":      {`{overhead: {podFixed: {cpu: 1}}}`, job("overhead: {cpu: 0},", "8"), []string{plain}, inspect.Fits, "1 of 1 node", "", ""},
		"scheduling":            {scheduling, job("", "1"), []string{kata, plain}, inspect.Fits, "1 of 2 nodes", "", ""},
		"no node of it":         {scheduling, job("", "1"), []string{plain}, inspect.Unknown, "0 of 1 node", "no node has label runtime=kata", "add nodes with label runtime=kata, which their flavor or RuntimeClass requires, on w"},
		"selects another value": {scheduling, job("nodeSelector: {runtime: runc},", "1"), []string{kata}, inspect.Never, "0 of 1 node", "its Pods select runtime=runc, and RuntimeClass kata selects runtime=kata", "select runtime=kata, or name another RuntimeClass"},
		"unread":                {"", job("overhead: {cpu: 0},", "100"), []string{plain}, inspect.Fits, "?", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := parse[world](t, simple("1000"))
			j := parse[batchv1.Job](t, tt.job)
			j.Namespace = "ml"
			r := placement.OfJob(&j, "q")
			r.Check("w").Class = &placement.Class{RuntimeUnread: "RuntimeClass kata was not found"}
			if tt.class != "" {
				class := parse[nodev1.RuntimeClass](t, tt.class)
				r.Check("w").Class = &placement.Class{Runtime: &class}
			}
			f := w.facts()
			f.Environment = &inspect.Environment{}
			for _, n := range tt.nodes {
				f.Environment.Nodes = append(f.Environment.Nodes, nodeIn(t, n))
			}
			p := placement.Submit(inspect.NewInventory(time.Now(), []*inspect.Facts{f}, nil), &r)[0]
			assert.Equal(t, p.Verdict, tt.verdict, p.Message)
			assert.Equal(t, p.Condition(inspect.ConditionPods).Text, tt.pods)
			assert.Assert(t, strings.Contains(p.Message, tt.says), p.Message)
			change := ""
			if len(p.Changes) > 0 {
				change = p.Changes[0].Message
			}
			assert.Equal(t, change, tt.change)
		})
	}
}

// TestOwnResourceTaint checks nodes with a taint whose key is an extended resource that the Pods request:
// admission may add the toleration, so they may fit. If the scheduler says that the Pods do not tolerate
// taints, it has added none.
func TestOwnResourceTaint(t *testing.T) {
	gpu := func(taint, amount string) string {
		return `{metadata: {name: a}, spec: {taints: [{key: ` + taint + `, value: present, effect: NoSchedule}]}, status: {allocatable: {cpu: "8", nvidia.com/gpu: ` + amount + `}}}`
	}
	gpus := strings.NewReplacer("coveredResources: [cpu]", "coveredResources: [cpu, nvidia.com/gpu]", "nominalQuota: 10}", "nominalQuota: 10}, {name: nvidia.com/gpu, nominalQuota: 10}").Replace(simple("10"))
	job := func(more string) string {
		return `{spec: {template: {spec: {` + more + `containers: [{name: c, resources: {limits: {nvidia.com/gpu: 2}}}]}}}}`
	}
	const may = "quota is free, but its Pods do not tolerate taint nvidia.com/gpu=present:NoSchedule; admission may add the toleration"
	for name, tt := range map[string]struct {
		job, node  string
		verdict    inspect.Verdict
		reason     inspect.PlacementReason
		pods, says string
		changes    int
	}{
		"tolerated":      {job("tolerations: [{operator: Exists}], "), gpu("nvidia.com/gpu", "2"), inspect.Fits, inspect.HasRoom, "1 of 1 node", "fits now", 0},
		"may tolerate":   {job(""), gpu("nvidia.com/gpu", "2"), inspect.Unknown, inspect.HasRoom, "1 of 1 node?", may, 0},
		"another taint":  {job(""), gpu("spot", "2"), inspect.Unknown, inspect.NoNode, "0 of 1 node", "1 have taints that it does not tolerate", 1},
		"also too small": {job(""), gpu("nvidia.com/gpu", "1"), inspect.Unknown, inspect.NoNode, "0 of 1 node", "no node has 2 nvidia.com/gpu for one Pod: the largest has 1", 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := parse[world](t, gpus)
			j := parse[batchv1.Job](t, tt.job)
			j.Namespace = "ml"
			r := placement.OfJob(&j, "q")
			f := w.facts()
			f.Environment = &inspect.Environment{Nodes: []*podfit.Node{nodeIn(t, tt.node)}}
			p := placement.Submit(inspect.NewInventory(time.Now(), []*inspect.Facts{f}, nil), &r)[0]
			assert.Equal(t, p.Verdict, tt.verdict, p.Message)
			assert.Equal(t, p.Reason, tt.reason, p.Message)
			assert.Equal(t, p.Condition(inspect.ConditionPods).Text, tt.pods)
			assert.Assert(t, strings.Contains(p.Message, tt.says), p.Message)
			assert.Equal(t, len(p.Changes), tt.changes, "%+v", p.Changes)
		})
	}
}
