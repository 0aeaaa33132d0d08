package preflight

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/podfit"
)

func TestUnfit(t *testing.T) {
	var nodes struct{ Items []corev1.Node }
	assert.NilError(t, yaml.UnmarshalStrict([]byte(`
items:
- metadata: {name: a, labels: {kubernetes.io/os: linux, disk: ssd}}
  status: {allocatable: {cpu: "4", memory: 8Gi}}
- metadata: {name: b, labels: {kubernetes.io/os: linux, pool: gpu}}
  spec: {taints: [{key: dedicated, value: gpu, effect: NoSchedule}, {key: hint, effect: PreferNoSchedule}]}
  status: {allocatable: {cpu: "2", memory: 64Gi, nvidia.com/gpu: "4"}}
- metadata: {name: c, labels: {kubernetes.io/os: linux, pool: old, spare: "yes"}}
  spec: {unschedulable: true}
- metadata: {name: d, labels: {kubernetes.io/os: linux, spare: "yes"}}
  spec: {taints: [{key: spare, effect: NoExecute}]}
`), &nodes))
	for _, c := range []struct{ name, pod, want string }{
		{"nothing asked for", `{}`, ""},
		{"label", `{nodeSelector: {disk: ssd}}`, ""},
		{"no such label", `{nodeSelector: {disk: tape, a: b}}`, "none of the 4 has the labels that the Pods request: a=b, disk=tape"},
		{
			"affinity",
			`{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a, b]}]}]}}}}`,
			"none of the 4 has the labels that the Pods request: zone In a,b",
		},
		{"operating system", `{os: {name: windows}}`, "none of the 4 has the labels that the Pods request: kubernetes.io/os=windows"},
		{"taint", `{nodeSelector: {pool: gpu}}`, "the Pods do not tolerate the taints of the 1 with the labels that they request: dedicated=gpu:NoSchedule"},
		{"tolerated", `{nodeSelector: {pool: gpu}, tolerations: [{key: dedicated, operator: Exists}], containers: [{name: a, resources: {requests: {nvidia.com/gpu: "4"}}}]}`, ""},
		{"no such resource", `{containers: [{name: a, resources: {requests: {nvidia.com/gpu: "1"}}}]}`, "none of the 1 that they may use has what a Pod requests: nvidia.com/gpu=1"},
		{
			"too much together",
			`{tolerations: [{operator: Exists}], containers: [{name: a, resources: {requests: {cpu: "3"}}}, {name: b, resources: {requests: {memory: 9Gi}}}]}`,
			"none of the 4 that they may use has everything that a Pod requests at once",
		},
		{"limits only", `{containers: [{name: a, resources: {limits: {nvidia.com/gpu: "1"}}}]}`, "none of the 1 that they may use has what a Pod requests: nvidia.com/gpu=1"},
		{"cordoned", `{nodeSelector: {pool: old}}`, "each of the 1 with the labels that the Pods request is cordoned"},
		{"cordoned or tainted", `{nodeSelector: {spare: "yes"}}`, "the Pods do not tolerate the taints of the 1 with the labels that they request: spare:NoExecute; cordoned: 1 more"},
		{"named", `{nodeName: b}`, ""},
		{"no such node", `{nodeName: x}`, "none of the 4 is the node that the Pods name: x"},
		{"broken selector", `{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: Nonsense}]}]}}}}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := &corev1.Pod{}
			assert.NilError(t, yaml.UnmarshalStrict([]byte(c.pod), &pod.Spec))
			assert.Equal(t, unfitOn(pod, nodes.Items...), c.want)
		})
	}
	assert.Equal(t, unfitOn(&corev1.Pod{}), "there are none")
}

func unfitOn(pod *corev1.Pod, nodes ...corev1.Node) string {
	var all []*podfit.Node
	for i := range nodes {
		all = append(all, podfit.NodeOf(&nodes[i]))
	}
	return unfit(pod, fitOf(pod).Summarize(all))
}

func TestGrant(t *testing.T) {
	p := Probe{Cluster: &fleet.Cluster{Context: "prod"}}
	status := rightsOnOrigin(delegation.Job(), false)[1]
	const name = "jobs-managedby-jobs-status-jo-example.com"
	assert.Equal(t, string(p.grant("ml", "Jo@example.com", status)),
		"a user who may grant it in the cluster of prod runs, with a CONTEXT of their own: "+
			"`kubectl --context CONTEXT -n ml create role "+name+" --verb=patch --resource=jobs.batch/status`, and then "+
			"`kubectl --context CONTEXT -n ml create rolebinding "+name+" --role="+name+" --user=Jo@example.com`")
	for user, want := range map[string]string{
		"system:serviceaccount:ci:robot": "--serviceaccount=ci:robot", "": "--user=USER", "a b'c": `'--user=a b'"'"'c'`,
	} {
		assert.Assert(t, strings.Contains(string(p.grant("ml", user, status)), want))
	}
}
