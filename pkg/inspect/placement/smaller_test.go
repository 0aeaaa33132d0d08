package placement_test

import (
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
)

// TestSmallerWithoutToleration checks that a Job that is too large for a flavor with a taint is offered a smaller size
// for a flavor without one, and the toleration only if more of its Pods then run at once.
func TestSmallerWithoutToleration(t *testing.T) {
	const (
		smaller = "request at most 14 cpu and 6 gpu (2 Pods at once, not 6), for w, where it fits now"
		fewer   = "request at most 14 cpu (2 Pods at once, not 6), for w, where it fits now"
	)
	for name, tt := range map[string]struct {
		gpus, od string
		want     []string
	}{
		"as many Pods":          {"6", "14", []string{smaller}},
		"fewer Pods":            {"99", "14", []string{"request at most 18 cpu (3 Pods at once, not 6) and tolerate taint spot=true:NoSchedule of flavor spot on w, where it fits now", fewer}},
		"no Pod":                {"6", "4", []string{"request at most 18 cpu and 6 gpu (2 Pods at once, not 6) and tolerate taint spot=true:NoSchedule of flavor spot on w, where it fits now"}},
		"no GPUs of any flavor": {"0", "14", nil},
	} {
		w := parse[world](t, `
locals: [{metadata: {namespace: ml, name: q}, spec: {clusterQueue: q}}]
flavors: [{metadata: {name: spot}, spec: {nodeTaints: [{key: spot, value: "true", effect: NoSchedule}]}}, {metadata: {name: od}}, {metadata: {name: a100}}]
queues: [{metadata: {name: q}, spec: {namespaceSelector: {}, resourceGroups: [
  {coveredResources: [cpu], flavors: [{name: spot, resources: [{name: cpu, nominalQuota: 18}]}, {name: od, resources: [{name: cpu, nominalQuota: `+tt.od+`}]}]},
  {coveredResources: [gpu], flavors: [{name: a100, resources: [{name: gpu, nominalQuota: `+tt.gpus+`}]}]}]}}]
`)
		j := parse[batchv1.Job](t, `{spec: {parallelism: 6, completions: 6, template: {spec: {containers: [{name: c, resources: {requests: {cpu: 5, gpu: 3}}}]}}}}`)
		j.Namespace = "ml"
		r := placement.OfJob(&j, "q")
		p := placement.On(w.facts(), &r, nil, time.Now())
		var got []string
		for _, c := range p.Changes {
			got = append(got, c.Message)
		}
		assert.Check(t, slices.Equal(got, tt.want), "%s: %q", name, got)
	}
}
