package placement_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestOrderByUsage checks that a StrictFIFO queue that Kueue orders by the usage of LocalQueues is ordered by
// priority and age only within a LocalQueue, unless Kueue itself reports the order.
func TestOrderByUsage(t *testing.T) {
	const usage = "UsageBasedAdmissionFairSharing"
	queued := func(localQueue string) string {
		return `workloads: [{metadata: {namespace: ml, name: head, uid: head, creationTimestamp: "2026-01-01T00:00:00Z"}, spec: {queueName: ` + localQueue + `, priority: 9,
  podSets: [{name: main, count: 1, template: {spec: {containers: [{name: c, resources: {requests: {cpu: 9}}}]}}}]}}]
`
	}
	const behind = "behind ml/head (priority 9) in ClusterQueue q (StrictFIFO)"
	const unknown = "quota is free, but ClusterQueue q (StrictFIFO) orders Jobs by the past usage of LocalQueues; ml/head may come first"
	for name, tt := range map[string]struct {
		mode, local string
		order       *kueue.Order
		verdict     inspect.Verdict
		message     string
		hasPlace    bool
	}{
		"by priority":                         {"NoAdmissionFairSharing", "other", nil, inspect.Waits, behind, true},
		"by usage, in another LocalQueue":     {usage, "other", nil, inspect.Unknown, unknown, false},
		"by usage, in the same LocalQueue":    {usage, "q", nil, inspect.Waits, behind, true},
		"by usage, and first, says Kueue":     {usage, "other", &kueue.Order{Before: map[string]int{"own": 0}}, inspect.Fits, "fits now", true},
		"by usage, and second, says Kueue":    {usage, "other", &kueue.Order{Before: map[string]int{"own": 1}, First: []kueue.PendingWorkload{{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "head"}}}}, inspect.Waits, behind, true},
		"by usage, and second, not the first": {usage, "other", &kueue.Order{Before: map[string]int{"own": 1}}, inspect.Unknown, unknown, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := parse[world](t, strings.ReplaceAll(strict("4"), "{queueingStrategy", "{admissionScope: {admissionMode: "+tt.mode+"}, queueingStrategy")+queued(tt.local)+
				`own: {metadata: {namespace: ml, name: own, uid: own, creationTimestamp: "2026-01-01T00:01:00Z"}, spec: {queueName: q}}`)
			w.Locals = append(w.Locals, &kueue.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "other"}})
			w.Locals[1].Spec.ClusterQueue = "q"
			j := parse[batchv1.Job](t, pods("1", "cpu: 1"))
			j.Namespace = "ml"
			r, f := placement.OfJob(&j, "q"), w.facts()
			if tt.order != nil {
				f.Kueue.Orders = kueue.Orders{types.NamespacedName{Namespace: "ml", Name: "q"}: tt.order}
			}
			p := placement.On(f, &r, w.Own, time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC))
			assert.Equal(t, p.Verdict, tt.verdict, p.Message)
			assert.Equal(t, p.Message, tt.message)
			assert.Equal(t, p.Position != nil, tt.hasPlace)
		})
	}
}

// TestRaiseOfUsedQuota checks that the fix of a Job that is larger than a quota says how much it
// takes to start it while others use that quota.
func TestRaiseOfUsedQuota(t *testing.T) {
	const raise = "raise the quota of ClusterQueue q on w from 4 to 6 cpu (flavor f)"
	used := simple("4") + "workloads: [" + holding("q", "a", "f", "3", "0") + "]"
	orchestrated := strings.Replace(used, "{metadata: {name: q}, spec:", `{metadata: {name: q}, status: {effectiveQuotas: {orchestratorRef: {kind: Plan, name: night},
		resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: 4}]}]}]}}, spec:`, 1)
	for cluster, want := range map[string]string{
		simple("4"): raise, used: raise + ", or to 9 to start it before other Jobs end",
		orchestrated: "raise the quota of ClusterQueue q on w by 2 cpu (flavor f), in Plan night: it sets the quota of ClusterQueue q; by 5 cpu to start it before other Jobs end",
	} {
		p := judged(t, cluster, pods("6", "cpu: 1"))
		assert.Assert(t, slices.ContainsFunc(p.Changes, func(c inspect.PlacementChange) bool { return c.Message == want }), "%+v", p.Changes)
	}
}
