package placement_test

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
)

// TestLabelsOfOtherFlavors checks Pods that select a label of another flavor of the resource group. Some
// versions of Kueue before 0.20 compare all flavors of the group with it.
func TestLabelsOfOtherFlavors(t *testing.T) {
	cluster := func(a100 string) string {
		return `
locals: [{metadata: {namespace: ml, name: q}, spec: {clusterQueue: q}}]
flavors: [{metadata: {name: default}}, {metadata: {name: a100}, spec: {nodeLabels: {gpu: a100}}}, {metadata: {name: store}, spec: {nodeLabels: {disk: ssd}}}]
queues: [{metadata: {name: q}, spec: {namespaceSelector: {}, resourceGroups: [
  {coveredResources: [cpu], flavors: [{name: default, resources: [{name: cpu, nominalQuota: 8}]}, {name: a100, resources: [{name: cpu, nominalQuota: ` + a100 + `}]}]},
  {coveredResources: [memory], flavors: [{name: store, resources: [{name: memory, nominalQuota: 8}]}]}]}}]
`
	}
	job := func(spec string) string {
		return `{spec: {template: {spec: {` + spec + `, containers: [{name: c, resources: {requests: {cpu: 4}}}]}}}}`
	}
	const selector = "nodeSelector: {gpu: a100}"
	affinity := func(terms string) string {
		return "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [" + terms + "]}}}"
	}
	const some = "flavor default matches its Pods only in some versions of Kueue, and the version is unknown"
	for name, tt := range map[string]struct {
		a100, spec, own string
		isOld           bool
		verdict         inspect.Verdict
		says            string
	}{
		"new":                          {"1", selector, "", false, inspect.Fits, "fits now"},
		"old":                          {"1", selector, "", true, inspect.Unknown, some},
		"old, affinity":                {"1", affinity("{matchExpressions: [{key: gpu, operator: In, values: [a100]}]}"), "", true, inspect.Unknown, some},
		"old, an affinity that agrees": {"1", affinity("{matchExpressions: [{key: gpu, operator: DoesNotExist}]}"), "", true, inspect.Fits, "fits now"},
		"old, the other flavor fits":   {"4", selector, "", true, inspect.Fits, "fits now"},
		"old, another group":           {"1", "nodeSelector: {disk: tape}", "", true, inspect.Fits, "fits now"},
		"old, and Kueue says":          {"1", selector, own("NoMatchingFlavor", "couldn't assign flavors to pod set main: flavor default doesn't match node affinity, insufficient quota for cpu in flavor a100, previously considered podsets requests (0) + current podset request (4) > maximum capacity (1)"), true, inspect.Never, "flavor default does not match its node selector or affinity"},
	} {
		t.Run(name, func(t *testing.T) {
			w := parse[world](t, cluster(tt.a100)+tt.own)
			j := parse[batchv1.Job](t, job(tt.spec))
			j.Namespace = "ml"
			r := placement.OfJob(&j, "q")
			f := w.facts()
			f.Kueue.ServesOld = tt.isOld
			p := placement.On(f, &r, w.Own, time.Now())
			assert.Equal(t, p.Verdict, tt.verdict, p.Message)
			assert.Assert(t, strings.Contains(p.Message, tt.says), p.Message)
		})
	}
}
