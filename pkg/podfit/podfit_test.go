package podfit_test

import (
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/podfit"
)

func parse[T any](t *testing.T, text string) (v T) {
	t.Helper()
	assert.NilError(t, yaml.UnmarshalStrict([]byte(text), &v))
	return v
}

func podOf(t *testing.T, spec string) *podfit.Pod {
	t.Helper()
	pod := corev1.Pod{Spec: parse[corev1.PodSpec](t, spec)}
	return podfit.New(&pod.Spec, resource.PodRequests(&pod, resource.PodResourcesOptions{}))
}

// TestOn compares Pods with one node.
func TestOn(t *testing.T) {
	const plain = `{metadata: {name: a, labels: {kubernetes.io/os: linux, kubernetes.io/arch: arm64, disk: ssd}}, status: {allocatable: {cpu: "4"}}}`
	with := func(spec string) string { return plain[:len(plain)-1] + ", spec: " + spec + "}" }
	affinity := func(term string) string {
		return `{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [` + term + `]}}}}`
	}
	cordoned, tainted := with(`{unschedulable: true}`), with(`{taints: [{key: gpu, effect: NoSchedule}, {key: hint, effect: PreferNoSchedule}]}`)
	for _, c := range []struct {
		name, pod, node string
		want            podfit.Reason
	}{
		{"no requirements", `{}`, plain, podfit.Fits},
		{"named", `{nodeName: a}`, plain, podfit.Fits},
		{"another named", `{nodeName: b, nodeSelector: {disk: tape}}`, plain, podfit.OtherName},
		{"label", `{nodeSelector: {disk: ssd}}`, plain, podfit.Fits},
		{"other label", `{nodeSelector: {disk: tape}}`, plain, podfit.OtherLabels},
		{"architecture", `{nodeSelector: {kubernetes.io/arch: amd64}}`, plain, podfit.OtherLabels},
		{"affinity", affinity(`{matchExpressions: [{key: disk, operator: In, values: [ssd]}]}`), plain, podfit.Fits},
		{"other affinity", affinity(`{matchExpressions: [{key: disk, operator: NotIn, values: [ssd]}]}`), plain, podfit.OtherLabels},
		{"field", affinity(`{matchFields: [{key: metadata.name, operator: In, values: [b]}]}`), plain, podfit.OtherLabels},
		{"invalid affinity", affinity(`{matchExpressions: [{key: disk, operator: Nonsense}]}`), plain, podfit.Fits},
		{"operating system", `{os: {name: linux}}`, plain, podfit.Fits},
		{"other operating system", `{os: {name: windows}}`, plain, podfit.OtherOS},
		{"unknown operating system", `{os: {name: windows}}`, `{metadata: {name: a}}`, podfit.Fits},
		{"cordoned", `{}`, cordoned, podfit.Cordoned},
		{"cordoned, tainted by the controller", `{}`, with(`{taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule}]}`), podfit.Cordoned},
		{"cordoned, tolerated", `{tolerations: [{operator: Exists}]}`, cordoned, podfit.Fits},
		{"cordoned and named", `{nodeName: a}`, cordoned, podfit.Fits},
		{"tainted", `{}`, tainted, podfit.Tainted},
		{"tainted, tolerated", `{tolerations: [{key: gpu, operator: Exists}]}`, tainted, podfit.Fits},
		{"tainted and named", `{nodeName: a}`, tainted, podfit.Fits},
		{"evicts, and named", `{nodeName: a}`, with(`{taints: [{key: gpu, effect: NoExecute}]}`), podfit.Tainted},
		{"fits exactly", `{containers: [{name: c, resources: {requests: {cpu: "4"}}}]}`, plain, podfit.Fits},
		{"too small", `{containers: [{name: c, resources: {requests: {cpu: "5"}}}]}`, plain, podfit.TooSmall},
		{"no such resource", `{containers: [{name: c, resources: {requests: {nvidia.com/gpu: "1"}}}]}`, plain, podfit.TooSmall},
	} {
		t.Run(c.name, func(t *testing.T) {
			node := parse[corev1.Node](t, c.node)
			assert.Equal(t, podOf(t, c.pod).On(podfit.NodeOf(&node)).Reason, c.want)
		})
	}
}

// TestAtOnce counts the Pods that an empty node runs at the same time.
func TestAtOnce(t *testing.T) {
	const gpus = `{status: {allocatable: {cpu: "8", pods: "110", memory: 64Gi, nvidia.com/gpu: "16"}}}`
	requesting := func(requests string) string {
		return `{containers: [{name: c, resources: {requests: {` + requests + `}}}]}`
	}
	for _, c := range []struct {
		pod, node string
		want      int64
	}{
		{requesting("nvidia.com/gpu: 12"), gpus, 1},
		{requesting("nvidia.com/gpu: 8"), gpus, 2},
		{requesting("nvidia.com/gpu: 17"), gpus, 0},
		{requesting("cpu: 300m"), gpus, 26},
		{requesting("cpu: 300m, memory: 32Gi"), gpus, 2},
		{requesting("cpu: 0"), gpus, 110},
		{requesting("memory: 1"), `{status: {allocatable: {memory: 100Pi, pods: "200"}}}`, 200},
		{`{nodeSelector: {disk: ssd}}`, gpus, 0},
	} {
		node := parse[corev1.Node](t, c.node)
		assert.Equal(t, podOf(t, c.pod).AtOnce(podfit.NodeOf(&node)), c.want, c.pod)
	}
}

// TestSummarize checks the counts, and which single change would help.
func TestSummarize(t *testing.T) {
	nodes := parse[struct{ Items []corev1.Node }](t, `
items:
- {metadata: {name: tape}}
- {metadata: {name: cordoned, labels: {disk: ssd}}, spec: {unschedulable: true}}
- {metadata: {name: tainted, labels: {disk: ssd}}, spec: {taints: [{key: a, effect: NoSchedule}]}, status: {allocatable: {cpu: "8", gpu: "8"}}}
- {metadata: {name: twice, labels: {disk: ssd}}, spec: {taints: [{key: a, effect: NoSchedule}, {key: b, effect: NoExecute}]}, status: {allocatable: {cpu: "8", gpu: "8"}}}
- {metadata: {name: small, labels: {disk: ssd}}, status: {allocatable: {cpu: "4", gpu: "1"}}}
- {metadata: {name: smaller, labels: {disk: ssd}}, status: {allocatable: {cpu: "2", gpu: "1"}}}
- {metadata: {name: smallest, labels: {disk: ssd}}, status: {allocatable: {cpu: "3"}}}
`)
	var all []*podfit.Node
	for i := range nodes.Items {
		all = append(all, podfit.NodeOf(&nodes.Items[i]))
	}
	s := podOf(t, `{nodeSelector: {disk: ssd}, containers: [{name: c, resources: {requests: {cpu: "5", gpu: "1"}}}]}`).Summarize(all)
	assert.Equal(t, s.Nodes, 7)
	assert.DeepEqual(t, s.Counts, map[podfit.Reason]int{podfit.OtherLabels: 1, podfit.Cordoned: 1, podfit.Tainted: 2, podfit.TooSmall: 3})
	assert.Equal(t, s.Other(), 1)
	assert.Equal(t, s.Fits(), 0)
	assert.DeepEqual(t, s.Taints, []string{"a:NoSchedule", "b:NoExecute"})
	assert.DeepEqual(t, s.OneTaint, map[string]int{"a:NoSchedule": 1})
	assert.DeepEqual(t, s.Lacking, parse[corev1.ResourceList](t, `{cpu: "5"}`))
	assert.DeepEqual(t, s.Largest, parse[corev1.ResourceList](t, `{cpu: "4"}`))
}

// TestIsSelective checks which Pods are selective. Without the right to read nodes, only such Pods
// deserve a warning.
func TestIsSelective(t *testing.T) {
	for pod, want := range map[string]bool{
		`{}`: false, `{os: {name: linux}}`: false, `{containers: [{name: c, resources: {requests: {cpu: "1"}}}]}`: false,
		`{nodeName: a}`: true, `{nodeSelector: {a: b}}`: true, `{affinity: {nodeAffinity: {}}}`: true, `{os: {name: windows}}`: true,
		`{containers: [{name: c, resources: {requests: {nvidia.com/gpu: "1"}}}]}`: true,
	} {
		assert.Equal(t, podOf(t, pod).IsSelective(), want, pod)
	}
}

// TestResourceTolerations checks that only extended resources have tolerations.
func TestResourceTolerations(t *testing.T) {
	requests := parse[corev1.ResourceList](t, `{cpu: 1, hugepages-2Mi: 2Mi, kubernetes.io/batch-cpu: 1, requests.example.com/a: 1, nvidia.com/gpu: 1, amd.com/gpu: 1}`)
	var keys []string
	for _, toleration := range podfit.ResourceTolerations(requests) {
		assert.Equal(t, toleration.Effect, corev1.TaintEffectNoSchedule)
		keys = append(keys, toleration.Key)
	}
	assert.DeepEqual(t, keys, []string{"amd.com/gpu", "nvidia.com/gpu"})
}
