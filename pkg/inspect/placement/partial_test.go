package placement_test

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestPartialStart checks that a Job that Kueue may start with fewer Pods needs quota for these only,
// and that changes are as small as that.
func TestPartialStart(t *testing.T) {
	full := "workloads: [" + holding("q", "a", "f", "4", "0") + "]"
	for name, tt := range map[string]struct {
		cluster, job string
		verdict      inspect.Verdict
		needs        string
		partial      *inspect.PartialStart
		change       string
	}{
		"waits": {
			simple("4") + full, flexible("4", "1"), inspect.Waits, "1", &inspect.PartialStart{Pods: 1, Of: 4},
			"raise the quota of ClusterQueue q on w from 4 to 5 cpu (flavor f)",
		},
		"never": {
			simple("4"), flexible("6", "5"), inspect.Never, "5", &inspect.PartialStart{Pods: 5, Of: 6},
			"request at most 4 cpu (kueue.x-k8s.io/job-min-parallelism at most 4, not 5), for w, where it fits now",
		},
		"starts with all": {simple("4"), flexible("4", "1"), inspect.Fits, "4", nil, ""},
		"must start with all": {
			simple("4") + full, pods("4", "cpu: 1"), inspect.Waits, "4", nil, "raise the quota of ClusterQueue q on w from 4 to 8 cpu (flavor f)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := judged(t, tt.cluster, tt.job)
			assert.Equal(t, p.Verdict, tt.verdict, p.Message)
			assert.Equal(t, p.Needs, tt.needs)
			assert.DeepEqual(t, p.Partial, tt.partial)
			if tt.change == "" {
				assert.Equal(t, len(p.Changes), 0)
			} else {
				assert.Equal(t, p.Changes[0].Message, tt.change)
			}
		})
	}
}

// TestPartialStartOfSeveralPodSets checks that the numbers of Pods are those of the whole Job.
func TestPartialStartOfSeveralPodSets(t *testing.T) {
	w := parse[world](t, simple("4"))
	workers, leader := parse[batchv1.Job](t, flexible("4", "1")), parse[batchv1.Job](t, pods("2", "cpu: 1"))
	workers.Namespace = "ml"
	r := placement.OfJob(&workers, "q")
	r.PodSets = append(r.PodSets, placement.OfJob(&leader, "q").PodSets...)
	r.PodSets[1].Name = "leader"
	p := placement.On(w.facts(), &r, nil, time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC))
	assert.Equal(t, p.Verdict, inspect.Fits, p.Message)
	assert.DeepEqual(t, p.Partial, &inspect.PartialStart{Pods: 4, Of: 6})
}

// TestPodSetsInEachOthersWay checks that a Job does not wait for quota in use if the first PodSet would
// take what the second one needs once the quota is free.
func TestPodSetsInEachOthersWay(t *testing.T) {
	w := parse[world](t, plain+`
queues: [{metadata: {name: q}, spec: {namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu], flavors: [
  {name: f, resources: [{name: cpu, nominalQuota: 4}]}, {name: g, resources: [{name: cpu, nominalQuota: 2}]}]}]}}]
workloads: [`+holding("q", "a", "f", "3", "0")+"]")
	w.Flavors = append(w.Flavors, parse[*kueue.ResourceFlavor](t, "{metadata: {name: g}}"))
	first, second := parse[batchv1.Job](t, pods("1", "cpu: 2")), parse[batchv1.Job](t, pods("1", "cpu: 4"))
	first.Namespace = "ml"
	r := placement.OfJob(&first, "q")
	r.PodSets = append(r.PodSets, placement.OfJob(&second, "q").PodSets...)
	r.PodSets[1].Name = "second"
	p := placement.On(w.facts(), &r, nil, time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC))
	assert.Equal(t, p.Verdict, inspect.Unknown, p.Message)
	assert.Equal(t, p.Message, "fits only if its pod sets are placed in another order, which Kueue does not try")
}

// TestSeveralShortResources checks that a Job that lacks several resources gets changes that are enough
// for all of them, in one group of resources or in several.
func TestSeveralShortResources(t *testing.T) {
	const (
		job      = `{spec: {parallelism: 6, template: {spec: {containers: [{name: c, resources: {requests: {cpu: 5, nvidia.com/gpu: 3}}}]}}}}`
		together = plain + `
queues: [{metadata: {name: q}, spec: {namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu, nvidia.com/gpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: 26}, {name: nvidia.com/gpu, nominalQuota: 10}]}]}]}}]
`
		apart = `
locals: [{metadata: {namespace: ml, name: q}, spec: {clusterQueue: q}}]
flavors: [{metadata: {name: f}}, {metadata: {name: g}}]
queues: [{metadata: {name: q}, spec: {namespaceSelector: {}, resourceGroups: [
 {coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: 26}]}]},
 {coveredResources: [nvidia.com/gpu], flavors: [{name: g, resources: [{name: nvidia.com/gpu, nominalQuota: 10}]}]}]}}]
`
		set = `kubectl --context w patch clusterqueues.kueue.x-k8s.io q --type json -p '[{"op":"test","path":"/spec/resourceGroups/0/flavors/0/name","value":"f"},` +
			`{"op":"test","path":"/spec/resourceGroups/0/flavors/0/resources/0/name","value":"cpu"},{"op":"replace","path":"/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota","value":"30"},`
	)
	for _, tt := range []struct{ cluster, message, raise string }{
		{
			together, "needs 30 cpu and 18 nvidia.com/gpu, limits 26 and 10 (flavor f)",
			"raise the quota of ClusterQueue q on w from 26 to 30 cpu and from 10 to 18 nvidia.com/gpu (flavor f): " + set +
				`{"op":"test","path":"/spec/resourceGroups/0/flavors/0/name","value":"f"},{"op":"test","path":"/spec/resourceGroups/0/flavors/0/resources/1/name","value":"nvidia.com/gpu"},` +
				`{"op":"replace","path":"/spec/resourceGroups/0/flavors/0/resources/1/nominalQuota","value":"18"}]'`,
		},
		{
			apart, "needs 30 cpu, limit 26 (flavor f); needs 18 nvidia.com/gpu, limit 10 (flavor g)",
			"raise the quota of ClusterQueue q on w from 26 to 30 cpu (flavor f) and from 10 to 18 nvidia.com/gpu (flavor g): " + set +
				`{"op":"test","path":"/spec/resourceGroups/1/flavors/0/name","value":"g"},{"op":"test","path":"/spec/resourceGroups/1/flavors/0/resources/0/name","value":"nvidia.com/gpu"},` +
				`{"op":"replace","path":"/spec/resourceGroups/1/flavors/0/resources/0/nominalQuota","value":"18"}]'`,
		},
	} {
		p := judged(t, tt.cluster, job)
		assert.Equal(t, p.Verdict, inspect.Never)
		assert.Equal(t, p.Message, tt.message)
		assert.Equal(t, len(p.Short), 2)
		assert.Equal(t, p.Changes[0].Message, "request at most 26 cpu and 10 nvidia.com/gpu (3 Pods at once, not 6), for w, where it fits now")
		assert.Equal(t, p.Changes[1].Message+": "+p.Changes[1].Command, tt.raise)
		// One resource alone keeps its text.
		one := judged(t, tt.cluster, strings.Replace(job, "cpu: 5", "cpu: 1", 1))
		assert.Equal(t, one.Changes[0].Message, "request at most 10 nvidia.com/gpu (3 Pods at once, not 6), for w, where it fits now")
	}
	// Quota in use: both must be released.
	busy := together + "workloads: [{metadata: {namespace: ml, name: a, uid: a}, status: {admission: {clusterQueue: q, podSetAssignments: [{name: main, count: 1, " +
		`flavors: {cpu: f, nvidia.com/gpu: f}, resourceUsage: {cpu: 25, nvidia.com/gpu: 9}}]}, conditions: [{type: QuotaReserved, status: "True", reason: "", message: "", lastTransitionTime: null}]}}]`
	p := judged(t, busy, strings.Replace(job, "parallelism: 6", "parallelism: 2", 1))
	assert.Equal(t, p.Verdict, inspect.Waits)
	assert.Assert(t, strings.HasPrefix(p.Message, "needs 10 cpu and 6 nvidia.com/gpu, 1 and 1 free (flavor f); "), p.Message)
	assert.Assert(t, strings.HasPrefix(p.Changes[0].Message, "raise the quota of ClusterQueue q on w from 26 to 35 cpu and from 10 to 15 nvidia.com/gpu (flavor f)"), p.Changes[0].Message)
}
