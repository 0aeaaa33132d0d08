package queues_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/queues"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// fleet is one cluster with these objects. gaps are the parts that may not be
// read.
func fleet(t *testing.T, namespace, objects string, gaps ...inspect.Part) *inspect.Inventory {
	t.Helper()
	quotas := &inspect.Capacity{Gaps: map[inspect.Part]error{}}
	var o struct {
		Queues    []*kueue.ClusterQueue    `json:"queues"`
		Cohorts   []*kueue.Cohort          `json:"cohorts"`
		Locals    []*kueue.LocalQueue      `json:"locals"`
		Workloads []*kueue.ClaimedWorkload `json:"workloads"`
	}
	assert.NilError(t, yaml.UnmarshalStrict([]byte(objects), &o))
	k := &inspect.KueueFacts{Version: "v1beta2", Capacity: quotas}
	for _, gap := range gaps {
		quotas.Gaps[gap] = errors.New("forbidden")
	}
	if quotas.ClusterQueues = o.Queues; quotas.Gaps[inspect.PartClusterQueues] != nil {
		quotas.ClusterQueues = nil
	}
	quotas.Cohorts, k.LocalQueues = o.Cohorts, o.Locals
	if quotas.Gaps[inspect.PartClaims] == nil {
		for _, w := range o.Workloads {
			quotas.Claims = append(quotas.Claims, w.Claim())
		}
	}
	f := &inspect.Facts{Context: "one", Namespace: namespace, Kueue: k, Gaps: map[inspect.Part]error{}}
	return inspect.NewInventory(time.Now(), []*inspect.Facts{f}, nil)
}

// queue is a ClusterQueue with an amount of cpu, of which some is given
// according to its status.
func queue(name, cohort, cpu, given string) string {
	return fmt.Sprintf(`{metadata: {name: %s}, spec: {cohortName: %q, resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: %s}]}]}]},
 status: {flavorsReservation: [{name: f, resources: [{name: cpu, total: %s}]}]}}`, name, cohort, cpu, given)
}

// holding is a Workload that has so much cpu, waiting one that asks for it.
// holding is a Workload with quota that still waits for its AdmissionChecks.
func holding(queue, local, cpu string) string { return withQuota(queue, local, cpu, "") }

// admitted is a Workload that was admitted a minute after it got quota.
func admitted(queue, local, cpu string) string {
	return withQuota(queue, local, cpu, `, {type: Admitted, status: "True", reason: Admitted, message: "", lastTransitionTime: "2026-01-01T00:01:00Z"}`)
}

func withQuota(queue, local, cpu, condition string) string {
	return fmt.Sprintf(`{metadata: {namespace: ml, name: h%[3]s}, spec: {queueName: %[2]s}, status: {admission: {clusterQueue: %[1]s,
 podSetAssignments: [{name: main, count: 1, flavors: {cpu: f}, resourceUsage: {cpu: %[3]s}}]},
 conditions: [{type: QuotaReserved, status: "True", reason: QuotaReserved, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}%[4]s]}}`, queue, local, cpu, condition)
}

func waiting(local, cpu string) string {
	return fmt.Sprintf(`{metadata: {namespace: ml, name: w}, spec: {queueName: %s, podSets: [{name: main, count: 2, template: {spec: {containers: [{name: c, resources: {requests: {cpu: %s}}}]}}}]}}`, local, cpu)
}

func local(name, queue, given string) string {
	return fmt.Sprintf(`{metadata: {namespace: ml, name: %s}, spec: {clusterQueue: %s}, status: {flavorsReservation: [{name: f, resources: [{name: cpu, total: %s}]}]}}`, name, queue, given)
}

// lines returns a short form of rows: name, nominal, borrowed, used, free,
// pending.
func lines(rows []queues.QueueQuota) string {
	var all []string
	for i := range rows {
		q := &rows[i]
		cells := []string{q.Name}
		for _, amount := range []*string{q.Nominal, q.Borrowed, q.Used, q.Free, q.Pending} {
			if amount == nil {
				amount = new("?")
			}
			cells = append(cells, *amount)
		}
		all = append(all, strings.Join(cells, " "))
	}
	return strings.Join(all, "; ")
}

func TestList(t *testing.T) {
	shared := "queues: [" + queue("b", "team", "4", "6") + ", " + queue("a", "team", "6", "1") + ", " + queue("c", "", "2", "0") + "]\n" +
		"locals: [" + local("q", "b", "6") + ", " + local("other", "b", "0") + ", " + local("lost", "gone", "3") + "]\n" +
		"workloads: [" + holding("b", "q", "6") + ", " + holding("a", "q2", "1") + ", " + waiting("other", "2") + "]\n"
	for _, c := range []struct {
		name, objects string
		gaps          []inspect.Part
		within        string
		list, locals  string
	}{
		{
			name: "all is known", objects: shared,
			list:   "team 10 ? 7 3 ?; a 6 0 1 3 0; b 4 2 6 3 4; c 2 0 0 2 0",
			locals: "lost ? ? 0 ? 0; other 4 ? 0 3 4; q 4 ? 6 3 0",
		},
		{
			name: "Workloads of others may not be listed", objects: shared, gaps: []inspect.Part{inspect.PartClaims},
			list:   "team 10 ? 7 3 ?; a 6 0 1 3 ?; b 4 2 6 3 ?; c 2 0 0 2 ?",
			locals: "lost ? ? 3 ? ?; other 4 ? 0 3 ?; q 4 ? 6 3 ?",
		},
		{
			name: "nor cohorts", objects: shared, gaps: []inspect.Part{inspect.PartClaims, inspect.PartCohorts},
			list:   "team 10 ? ? ? ?; a 6 0 1 ? ?; b 4 2 6 ? ?; c 2 0 0 2 ?",
			locals: "lost ? ? 3 ? ?; other 4 ? 0 ? ?; q 4 ? 6 ? ?",
		},
		{
			name: "nor ClusterQueues", objects: shared, gaps: []inspect.Part{inspect.PartClaims, inspect.PartCohorts, inspect.PartClusterQueues},
			list:   "",
			locals: "lost ? ? 3 ? ?; other ? ? 0 ? ?; q ? ? 6 ? ?",
		},
		{
			name:    "a cohort with quota of its own, and one that is its own ancestor",
			objects: "cohorts: [{metadata: {name: p}, spec: {parentName: r}}, {metadata: {name: r}, spec: {parentName: p}}]\nqueues: [" + queue("a", "p", "3", "0") + "]\n",
			list:    "p 3 ? 0 0 ?; a 3 0 0 0 0; r 3 ? 0 0 ?",
		},
		{
			name: "a cohort that borrows from its parent",
			objects: "cohorts: [{metadata: {name: ml}, spec: {parentName: org}}, {metadata: {name: org}, spec: {resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: 10}]}]}]}}]\n" +
				"queues: [" + queue("a", "ml", "4", "4") + "]\nworkloads: [" + holding("a", "q", "4") + "]\n",
			list: "org 14 ? 4 10 ?; ml 4 ? 4 10 ?; a 4 0 4 10 0",
		},
		{
			name:    "a cohort whose queues lend nothing",
			objects: "queues: [" + strings.ReplaceAll(queue("a", "x", "4", "0")+", "+queue("b", "x", "3", "0"), "nominalQuota", "lendingLimit: 0, nominalQuota") + "]\n",
			list:    "x 7 ? 0 4 ?; a 4 0 0 4 0; b 3 0 0 3 0",
		},
		{
			name:    "a cohort whose only queue is stopped",
			objects: "queues: [" + strings.ReplaceAll(queue("a", "x", "4", "0"), "cohortName", "stopPolicy: Hold, cohortName") + "]\n",
			list:    "x 4 ? 0 0 ?; a 4 0 0 0 0",
		},
		{
			name: "only Workloads of a namespace", objects: shared, within: "ml", gaps: []inspect.Part{inspect.PartClaims, inspect.PartCohorts, inspect.PartClusterQueues},
			list:   "",
			locals: "lost ? ? 0 ? 0; other ? ? 0 ? 4; q ? ? 6 ? 0",
		},
		{name: "no quota at all", objects: "queues: [{metadata: {name: empty}}]", list: "empty ? ? ? ? ?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, lines(queues.List(fleet(t, "", c.objects, c.gaps...))), c.list)
			v := fleet(t, "ml", c.objects, c.gaps...)
			if quotas := v.Clusters[0].Kueue.Capacity; c.within != "" {
				quotas.Within = c.within
				quotas.ClaimsWithin = fleet(t, "", c.objects).Clusters[0].Kueue.Capacity.Claims
			}
			assert.Equal(t, lines(queues.Locals(v)), c.locals)
			assert.Equal(t, len(queues.Locals(fleet(t, "other", c.objects, c.gaps...))), 0)
		})
	}
	sum := queues.Sum(fleet(t, "", shared))
	assert.Equal(t, lines(sum), "one 12 ? 7 5 4")
}

// TestProblems checks that the row of a stopped queue says so.
func TestProblems(t *testing.T) {
	v := fleet(t, "ml", "queues: ["+queue("b", "", "4", "0")+"]\nlocals: ["+local("q", "b", "0")+"]\n")
	v.Clusters[0].Kueue.Capacity.ClusterQueues[0].Status.Conditions = []metav1.Condition{{Type: kueue.Active, Status: metav1.ConditionFalse, Reason: "Stopped", Message: "is stopped"}}
	assert.Equal(t, queues.List(v)[0].Problem, "not active: is stopped")
	assert.Equal(t, *queues.List(v)[0].Free, "0")
	assert.Equal(t, queues.Locals(v)[0].Problem, "not active: is stopped")
}

// TestStoppedBeforeStatus checks that a stopPolicy counts before Kueue has updated the status.
func TestStoppedBeforeStatus(t *testing.T) {
	v := fleet(t, "ml", "queues: ["+queue("b", "", "4", "0")+"]\nlocals: ["+local("q", "b", "0")+"]\n")
	v.Clusters[0].Kueue.Capacity.ClusterQueues[0].Spec.StopPolicy = "HoldAndDrain"
	assert.Equal(t, queues.List(v)[0].Problem, "not active: stopPolicy is HoldAndDrain")
	assert.Equal(t, *queues.List(v)[0].Free, "0")
	assert.Equal(t, queues.Locals(v)[0].Problem, "not active: stopPolicy is HoldAndDrain")
}

// TestSum checks that the state of clusters is what their managers report,
// and that a MultiKueueCluster without a context has a row.
func TestSum(t *testing.T) {
	v := fleet(t, "", fmt.Sprintf("{queues: [%s, %s], locals: [%s], workloads: [%s, %s, %s]}",
		queue("a", "", "10", "4"), queue("b", "", "6", "0"), local("a", "a", "4"), admitted("a", "a", "3"), holding("a", "a", "1"), waiting("a", "3")))
	v.Clusters[0].Kueue.Release = "v0.19.2"
	lost := &kueue.MultiKueueCluster{}
	lost.Name = "paris"
	since := metav1.NewTime(v.Now.Add(-time.Hour))
	lost.Status.Conditions = []metav1.Condition{{Type: kueue.Active, Status: metav1.ConditionFalse, Message: "no route to host", LastTransitionTime: since}}
	v.Clusters[0].Kueue.Clusters = []*kueue.MultiKueueCluster{lost, {ObjectMeta: metav1.ObjectMeta{Name: "tokyo"}}}

	rows := queues.Sum(v)
	assert.Equal(t, len(rows), 3)
	manager := rows[0]
	assert.Equal(t, *manager.Nominal+" "+*manager.Used, "16 4")
	assert.Equal(t, manager.Cluster.State, queues.ClusterManager)
	assert.Equal(t, manager.Cluster.Kueue, "v0.19.2")
	assert.Equal(t, *manager.Cluster.Running, 1)
	assert.Equal(t, *manager.Cluster.Waiting, 2, "one waits for quota, and one for a worker")
	assert.Equal(t, *manager.Cluster.LargestFit, "6")
	assert.Equal(t, manager.Cluster.LastAdmittedAt.UTC(), time.Date(2026, 1, 1, 0, 1, 0, 0, time.UTC))

	paris := rows[1]
	assert.Equal(t, paris.Name, "paris")
	assert.Equal(t, paris.Cluster.State, queues.ClusterLost)
	assert.Equal(t, paris.Problem, "no route to host")
	assert.Assert(t, paris.Cluster.Since.Equal(&since))
	assert.Assert(t, paris.Nominal == nil && paris.Cluster.Running == nil)
	assert.Equal(t, rows[2].Cluster.State, queues.ClusterUnknown)

	// A worker without Kueue has a row that says so, another cluster without Kueue has none.
	worker, other := &inspect.Facts{Context: "w1", NoKueue: true}, &inspect.Facts{Context: "other", NoKueue: true}
	v.Clusters[0].Kueue.Addresses = map[string]kubecontext.Address{"paris": {Server: "https://w1:6443", CA: "ca"}}
	v = inspect.NewInventory(v.Now, []*inspect.Facts{v.Clusters[0], worker, other}, []kubecontext.Address{{Context: "w1", Server: "https://w1:6443", CA: "ca"}})
	rows = queues.Sum(v)
	assert.Equal(t, len(rows), 3)
	assert.Equal(t, rows[1].Context+": "+rows[1].Problem, "w1: no Kueue; install it")
	assert.DeepEqual(t, rows[1].Cluster.Names, []string{"paris"})

	// Without the right to list Workloads, none is counted.
	v = fleet(t, "", fmt.Sprintf("{queues: [%s]}", queue("a", "", "10", "4")), inspect.PartClaims)
	one := queues.Sum(v)[0].Cluster
	assert.Equal(t, one.State, queues.ClusterNoManager)
	assert.Assert(t, one.Running == nil && one.Waiting == nil && one.LastAdmittedAt == nil)
	assert.Equal(t, *one.LargestFit, "6")
}
