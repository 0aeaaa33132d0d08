package preflight

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

func TestUnfit(t *testing.T) {
	var nodes struct{ Items []corev1.Node }
	assert.NilError(t, yaml.UnmarshalStrict([]byte(`
items:
- metadata: {labels: {kubernetes.io/os: linux, disk: ssd}}
  status: {allocatable: {cpu: "4", memory: 8Gi}}
- metadata: {labels: {kubernetes.io/os: linux, pool: gpu}}
  spec: {taints: [{key: dedicated, value: gpu, effect: NoSchedule}, {key: hint, effect: PreferNoSchedule}]}
  status: {allocatable: {cpu: "2", memory: 64Gi, nvidia.com/gpu: "4"}}
`), &nodes))
	for _, c := range []struct{ name, pod, want string }{
		{"nothing asked for", `{}`, ""},
		{"label", `{nodeSelector: {disk: ssd}}`, ""},
		{"no such label", `{nodeSelector: {disk: tape, a: b}}`, "none of the 2 has the labels that the Pods request: a=b, disk=tape"},
		{
			"affinity",
			`{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a, b]}]}]}}}}`,
			"none of the 2 has the labels that the Pods request: zone In a,b",
		},
		{"operating system", `{os: {name: windows}}`, "none of the 2 has the labels that the Pods request: kubernetes.io/os=windows"},
		{"taint", `{nodeSelector: {pool: gpu}}`, "the Pods do not tolerate the taints of the 1 with the labels that they request: dedicated=gpu:NoSchedule"},
		{"tolerated", `{nodeSelector: {pool: gpu}, tolerations: [{key: dedicated, operator: Exists}], containers: [{name: a, resources: {requests: {nvidia.com/gpu: "4"}}}]}`, ""},
		{"no such resource", `{containers: [{name: a, resources: {requests: {nvidia.com/gpu: "1"}}}]}`, "none of the 1 other nodes has what a Pod requests: nvidia.com/gpu=1"},
		{
			"too much together",
			`{tolerations: [{operator: Exists}], containers: [{name: a, resources: {requests: {cpu: "3"}}}, {name: b, resources: {requests: {memory: 9Gi}}}]}`,
			"none of the 2 other nodes has everything that a Pod requests at once",
		},
		{"broken selector", `{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: Nonsense}]}]}}}}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := &corev1.Pod{}
			assert.NilError(t, yaml.UnmarshalStrict([]byte(c.pod), &pod.Spec))
			assert.Equal(t, unfit(t.Context(), pod, nodes.Items), c.want)
		})
	}
	assert.Equal(t, unfit(t.Context(), &corev1.Pod{}, nil), "there are none")
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
