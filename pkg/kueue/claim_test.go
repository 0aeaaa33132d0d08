package kueue_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// claimOf returns the claim of a Workload in YAML.
func claimOf(t *testing.T, text string) *kueue.Claim {
	t.Helper()
	w := &kueue.ClaimedWorkload{}
	assert.NilError(t, yaml.Unmarshal([]byte(text), w))
	return w.Claim()
}

// TestClaim checks which Workloads hold quota, wait for it, or do neither.
func TestClaim(t *testing.T) {
	const reserved = `{type: QuotaReserved, status: "True", reason: QuotaReserved, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}`
	const admission = `admission: {clusterQueue: q, podSetAssignments: [{name: main, count: 4, flavors: {cpu: f}, resourceUsage: {cpu: 6, memory: 0}}]}`
	for name, test := range map[string]struct{ text, want string }{
		"reserved":             {`{status: {` + admission + `, conditions: [` + reserved + `]}}`, "q holds f/cpu=6"},
		"some Pods have ended": {`{spec: {podSets: [{name: main, count: 4}]}, status: {` + admission + `, reclaimablePods: [{name: main, count: 3}], conditions: [` + reserved + `]}}`, "q holds f/cpu=1500m"},
		"some Pods of a Job that started with fewer have ended": {`{spec: {podSets: [{name: main, count: 6, minCount: 2}]}, status: {` + admission +
			`, reclaimablePods: [{name: main, count: 2}], conditions: [` + reserved + `]}}`, "q holds f/cpu=6"},
		"most Pods of a Job that started with fewer have ended": {`{spec: {podSets: [{name: main, count: 6, minCount: 2}]}, status: {` + admission +
			`, reclaimablePods: [{name: main, count: 5}], conditions: [` + reserved + `]}}`, "q holds f/cpu=1500m"},
		"evicted, with Pods left": {`{status: {` + admission + `, conditions: [` + reserved +
			`, {type: Evicted, status: "True", reason: Preempted, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]}}`, "q holds f/cpu=6"},
		"deactivated": {`{spec: {active: false}, status: {` + admission + `, conditions: [` + reserved + `]}}`, "none"},
		"finished": {`{status: {` + admission + `, conditions: [` + reserved +
			`, {type: Finished, status: "True", reason: Succeeded, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]}}`, "none"},
		"waiting, with requests from Kueue": {`{status: {resourceRequests: [{name: main, resources: {cpu: 3}}]}}`, "requests cpu=3"},
		"waiting, not evaluated yet":        {`{spec: {podSets: [{name: main, count: 3, template: {spec: {containers: [{resources: {requests: {cpu: 500m}}}]}}}]}}`, "requests cpu=1500m"},
		"waiting, after some Pods have ended": {`{spec: {podSets: [{name: main, count: 3, template: {spec: {containers: [{resources: {requests: {cpu: 500m}}}]}}}]},
  status: {reclaimablePods: [{name: main, count: 1}]}}`, "requests cpu=1"},
		"being deleted": {`{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}}`, "none"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, describe(claimOf(t, test.text)), test.want)
		})
	}
}

// describe formats a claim in one line.
func describe(c *kueue.Claim) string {
	if c == nil {
		return "none"
	}
	var words []string
	for _, h := range c.Holds {
		words = append(words, fmt.Sprintf("%s/%s=%s", h.Flavor, h.Resource, h.Quantity.String()))
	}
	for _, set := range c.Requests {
		for name, q := range set.Resources {
			words = append(words, fmt.Sprintf("%s=%s", name, q.String()))
		}
	}
	slices.Sort(words)
	verb := "requests "
	if c.ClusterQueue != "" {
		verb = c.ClusterQueue + " holds "
	}
	return verb + strings.Join(words, " ")
}

// TestRequests checks the quota that a Pod requests.
func TestRequests(t *testing.T) {
	for name, test := range map[string]struct{ pod, limits, want string }{
		"maximum of init container and container": {`{initContainers: [{resources: {requests: {cpu: 4}}}], containers: [{resources: {requests: {cpu: 1}}}]}`, "", "cpu=4"},
		"an init container after a sidecar": {`{initContainers: [{restartPolicy: Always, resources: {requests: {cpu: 1}}}, {resources: {requests: {cpu: 4}}}],
  containers: [{resources: {requests: {cpu: 1}}}]}`, "", "cpu=5"},
		"limits without requests":             {`{containers: [{resources: {limits: {nvidia.com/gpu: 1}}}]}`, "", "nvidia.com/gpu=1"},
		"a request of less than the limit":    {`{containers: [{resources: {requests: {cpu: 1}, limits: {cpu: 4}}}]}`, "", "cpu=1"},
		"defaults of a LimitRange":            {`{containers: [{}]}`, `[{type: Container, default: {cpu: 4}, defaultRequest: {cpu: 2}}]`, "cpu=2"},
		"a default limit as a request":        {`{containers: [{}]}`, `[{type: Container, default: {cpu: 4}}]`, "cpu=4"},
		"its own limit and a default request": {`{containers: [{resources: {limits: {cpu: 4}}}]}`, `[{type: Container, defaultRequest: {cpu: 500m}}]`, "cpu=500m"},
		"limits of a LimitRange for Pods":     {`{containers: [{}]}`, `[{type: Pod, max: {cpu: 4}}]`, ""},
		"overhead":                            {`{overhead: {cpu: 250m}, containers: [{resources: {requests: {cpu: 1}}}]}`, "", "cpu=1250m"},
		"resources of the whole pod":          {`{resources: {requests: {cpu: 3}}, containers: [{resources: {requests: {cpu: 1}}}]}`, "", "cpu=3"},
	} {
		t.Run(name, func(t *testing.T) {
			var spec corev1.PodSpec
			assert.NilError(t, yaml.UnmarshalStrict([]byte(test.pod), &spec))
			limits := []corev1.LimitRange{{}}
			assert.NilError(t, yaml.UnmarshalStrict([]byte(test.limits), &limits[0].Spec.Limits))
			var words []string
			for name, q := range kueue.Requests(&spec, limits, kueue.CountingRules{}) {
				words = append(words, fmt.Sprintf("%s=%s", name, q.String()))
			}
			slices.Sort(words)
			assert.Equal(t, strings.Join(words, " "), test.want)
		})
	}
}

// TestCountingRules checks that Pod-level requests count at least as much as the
// containers since 0.20.
func TestCountingRules(t *testing.T) {
	cpu := func(amount string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(amount)}
	}
	spec := corev1.PodSpec{
		Resources:  &corev1.ResourceRequirements{Requests: cpu("1")},
		Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: cpu("3")}}},
	}
	before, since := kueue.Requests(&spec, nil, kueue.CountingRules{}), kueue.Requests(&spec, nil, kueue.CountingRules{Containers: true})
	assert.Equal(t, before.Cpu().String(), "1")
	assert.Equal(t, since.Cpu().String(), "3")
}

// TestPriorityBoost checks that the annotation moves a Workload in its queue.
func TestPriorityBoost(t *testing.T) {
	for boost, want := range map[string]int32{"": 10, "5": 15, "-20": -10, "2147483647": 2147483647, "much": 10} {
		var claimed kueue.ClaimedWorkload
		var w kueue.Workload
		priority := int32(10)
		claimed.Spec.Priority, w.Spec.Priority = &priority, &priority
		claimed.Metadata.Annotations = map[string]string{"kueue.x-k8s.io/priority-boost": boost}
		w.Annotations = claimed.Metadata.Annotations
		assert.Equal(t, claimed.Claim().Rank.Priority, want, boost)
		assert.Equal(t, w.Rank().Priority, want, boost)
	}
}
