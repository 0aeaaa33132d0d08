package rules_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/answer"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/chain"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// traceWithQuotas returns the trace of the first Job of a case, whose quotas are read, as trace does.
func traceWithQuotas(t *testing.T, c testCase) *inspect.Trace {
	t.Helper()
	o := open(t, c.bundle(t))
	known := o.inventory(t)
	judgment := rules.Judge(known, rules.All(), rules.Options{})
	queues, workloads := []types.NamespacedName{{Namespace: "default", Name: "user-queue"}}, []types.NamespacedName{{Namespace: "default", Name: "job-train-aa7b6"}}
	v := read.Read(t.Context(), o.fleet, read.Want{Capacity: true, Queues: queues, Workloads: workloads, Known: known, Addresses: o.addresses, Now: o.takenAt})
	for _, f := range v.Clusters {
		// The recordings lack these kinds.
		delete(f.Kueue.Capacity.Gaps, inspect.PartLimitRanges)
		delete(f.Kueue.Capacity.Gaps, inspect.PartNamespaces)
		delete(f.Kueue.Capacity.Gaps, inspect.PartCohorts)
	}
	p := v.Subjects()[0]
	trace := chain.Trace(v, p)
	trace.Placements = append(trace.Placements, placement.Around(v).Judge(p, nil)...)
	trace.Findings = judgment.About(trace)
	answer.Fill(answer.Question{Inventory: v, Pair: p, Trace: trace, Findings: judgment.All(answer.IsAboutOthers)})
	return trace
}

// quotaOn returns edits that give a worker a known flavor with much quota.
func quotaOn(context string) []edit {
	return []edit{
		add(context, `{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: default-flavor, uid: flavor-`+context+`}}`),
		patch(context, "ClusterQueue/cluster-queue", `{spec: {resourceGroups: [{coveredResources: [cpu, memory], flavors: [{name: default-flavor, resources: [
			{name: cpu, nominalQuota: "100"}, {name: memory, nominalQuota: 100Gi}]}]}]}}`),
	}
}

// onlyTo returns edits after which the waiting Job was offered to one of the two workers only.
func onlyTo(cluster, other string) []edit {
	return []edit{patch("kwok-mgr", waitingWorkload, `{status: {nominatedClusterNames: [`+cluster+`]}}`), remove(other, waitingWorkload)}
}

// TestReconcileNamesWorkloads checks that the fix for Jobs that Kueue does not offer to a worker, or whose mirrors a worker
// refuses, changes their Workloads and no others.
func TestReconcileNamesWorkloads(t *testing.T) {
	var offers, refusals []edit
	for _, name := range []string{"job-d02-bcd7e", "job-d04-aca09"} {
		offers = append(offers, patch("kwok-mgr", "Workload/"+name, `{status: {nominatedClusterNames: [worker1]}}`), remove("kwok-w2", "Workload/"+name))
	}
	for _, name := range []string{"job-b-90-b358d", "job-b-91-eb849"} {
		refusals = append(refusals, patch("kwok-w1", "Workload/"+name, `{status: {conditions: [{type: Admitted, status: "True", reason: Admitted, message: "",
			lastTransitionTime: "2026-11-22T04:38:00Z"}]}}`))
	}
	for _, tt := range []struct {
		code, base string
		edits      []edit
		later      time.Duration
		steps      string
		workloads  string
	}{
		{"JM032", "many-quota-faults", offers, time.Hour, "", "job-d02-bcd7e job-d04-aca09"},
		{"JM035", recordedBurst, refusals, 0, "; once nothing rejects it, ", "job-b-90-b358d job-b-91-eb849"},
	} {
		rule, _ := rules.ByCode(tt.code)
		found := judge(t, testCase{base: tt.base, later: tt.later, edits: tt.edits}.make(t), []rules.Rule{rule}, 0)
		assert.Equal(t, len(found), 1, linesOf(found))
		assert.Equal(t, len(found[0].Jobs), 2, linesOf(found))
		_, change, _ := strings.Cut(found[0].Remedy, tt.steps)
		assert.Assert(t, strings.HasPrefix(change, "change their Workloads, so that Kueue reconciles them: "), found[0].Remedy)
		for _, command := range []string{"look-again=now", "look-again-"} {
			assert.Assert(t, strings.Contains(found[0].Remedy, " annotate workloads.kueue.x-k8s.io "+tt.workloads+" "+command+"`"), found[0].Remedy)
		}
	}
}

// TestOfferedToUnreachable checks that a Job that was offered only to a worker that its manager cannot use, and fits on
// another one, gets the fix that offers it there, before the connection.
func TestOfferedToUnreachable(t *testing.T) {
	c := testCase{base: recordedNoQuota, later: time.Hour}
	c.edits = append(onlyTo("worker1", "kwok-w2"), remove("kwok-w1", waitingWorkload), cannotUse("worker1", "ClientConnectionFailed", "connection refused"))
	c.edits = slices.Concat(c.edits, quotaOn("kwok-w1"), quotaOn("kwok-w2"))
	trace := traceWithQuotas(t, c)
	assert.Equal(t, trace.Message, "Fits on kwok-w2 now, but Kueue has offered it only to kwok-w1, which kwok-mgr cannot use.")
	assert.Assert(t, strings.HasPrefix(trace.Fixes[0].Text, "change the Workload"), trace.Remedy)
	assert.Assert(t, strings.HasPrefix(trace.Fixes[1].Text, "restore the connection from kwok-mgr"), trace.Remedy)
	assert.Equal(t, strings.Join(codesOf(trace.Findings), " "), "JM004 JM032")
}

// TestNominatedUnreachable checks that the findings about lost connections replace the one that a Job is nominated for
// no other cluster, and that the answer has their fix.
func TestNominatedUnreachable(t *testing.T) {
	c := testCase{base: recordedNoQuota, edits: []edit{
		cannotUse("worker1", "ClientConnectionFailed", "connection refused"), cannotUse("worker2", "ClientConnectionFailed", "connection refused"),
		remove("kwok-w1", waitingWorkload), remove("kwok-w2", waitingWorkload),
	}}
	trace := traceWithQuotas(t, c)
	assert.Equal(t, strings.Join(codesOf(trace.Findings), " "), "JM004 JM133")
	assert.Assert(t, strings.Contains(trace.Fixes[0].Text, "restore the connection from kwok-mgr"), trace.Remedy)
}

// TestRestrictedWorkers checks that a cluster that an annotation of the Workload excludes is no place for it: Kueue does
// not offer the Job there, and only the annotation changes that. A nomination shows that Kueue ignores the annotation.
func TestRestrictedWorkers(t *testing.T) {
	restricted := patch("kwok-mgr", waitingWorkload, `{metadata: {annotations: {kueue.x-k8s.io/multikueue-cluster-names: "worker2"}}}`)
	c := testCase{base: recordedNoQuota, later: time.Hour, edits: append(onlyTo("worker2", "kwok-w1"), restricted)}
	c.edits = append(c.edits, quotaOn("kwok-w1")...)
	trace := traceWithQuotas(t, c)
	assert.Equal(t, strings.Join(codesOf(trace.Findings), " "), "JM029")
	i := slices.IndexFunc(trace.Placements, func(p inspect.Placement) bool { return p.Cluster == "worker1" })
	assert.Assert(t, i >= 0)
	assert.Equal(t, trace.Placements[i].Reason, inspect.NotRequested)
	assert.Equal(t, trace.Placements[i].Message, "not requested (kueue.x-k8s.io/multikueue-cluster-names: worker2)")
	assert.Equal(t, trace.State, inspect.StateBlocked)
	assert.Equal(t, trace.Message, "Fits on no cluster. kwok-w2: needs 2 cpu, limit 1; 1 more on kwok-w1.")
	assert.Assert(t, strings.Contains(trace.Remedy, "annotate workloads.kueue.x-k8s.io job-train-aa7b6 kueue.x-k8s.io/multikueue-cluster-names=worker2,worker1 --overwrite"), trace.Remedy)

	c.edits = append(onlyTo("worker1", "kwok-w2"), restricted)
	trace = traceWithQuotas(t, c)
	assert.Assert(t, slices.Contains(codesOf(trace.Findings), "JM032"))
}

// TestWhyNoWorker checks that the answer and the finding about unread workers quote what MultiKueue says about them.
func TestWhyNoWorker(t *testing.T) {
	const says = "worker1: waiting for quota; worker2: LocalQueue user-queue does not exist"
	said := patch("kwok-mgr", waitingWorkload, `{status: {conditions: [
		{type: QuotaReserved, status: "True", reason: QuotaReserved, message: "", lastTransitionTime: "2026-11-20T23:24:44Z"},
		{type: MultiKueueWorkload, status: "False", reason: WaitingForWorker, message: "`+says+`", lastTransitionTime: "2026-11-20T23:24:45Z"}]}}`)
	c := testCase{base: recordedNoQuota, edits: []edit{said, unreachable("kwok-w1"), unreachable("kwok-w2")}}
	trace := answersOf(t, c.make(t), 0)[0]
	assert.Assert(t, strings.HasPrefix(trace.Message, "Kueue on kwok-mgr offered it to worker1 and worker2, and says: "+says+". Cannot see more: "), trace.Message)
	f := findingOf(t, trace.Findings, "JM135")
	assert.Assert(t, strings.Contains(f.Message, "waits for a worker; Kueue says: "+says+"; not all workers were read: "), f.Message)
}
