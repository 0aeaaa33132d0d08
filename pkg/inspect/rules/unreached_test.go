package rules_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// secondJob is a Job that got quota on the management cluster at a given
// time, and waits for worker1.
func secondJob(at string) []edit {
	return []edit{
		add(mgr, `{apiVersion: batch/v1, kind: Job, metadata: {name: second, namespace: default, uid: second-uid, creationTimestamp: "`+at+`",
			labels: {kueue.x-k8s.io/queue-name: user-queue}}, spec: {suspend: true, parallelism: 1, completions: 1, managedBy: kueue.x-k8s.io/multikueue}}`),
		add(mgr, `{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: job-second-abcde, namespace: default, uid: second-workload,
			creationTimestamp: "`+at+`", labels: {kueue.x-k8s.io/job-uid: second-uid},
			ownerReferences: [{apiVersion: batch/v1, kind: Job, name: second, uid: second-uid, controller: true}]},
			spec: {active: true, priority: 0, queueName: user-queue, podSets: [{name: main, count: 1}]},
			status: {nominatedClusterNames: [worker1, worker2], admission: {clusterQueue: cluster-queue},
			conditions: [{type: QuotaReserved, status: "True", reason: QuotaReserved, message: "", lastTransitionTime: "`+at+`"}],
			admissionChecks: [{name: multikueue, state: Pending, message: "", lastTransitionTime: "`+at+`"}]}}`),
	}
}

// revoked is a fleet whose manager has no copy on either worker: the credentials for one of them
// were revoked, and both MultiKueueClusters are Connected.
func revoked(at string) []edit { return slices.Concat(offered(remove(w1, workload)), secondJob(at)) }

func unreachedCases() []testCase {
	const minutes = 3 * time.Minute
	// The copy of the second Job on a worker shows that MultiKueue gets through.
	copyOn := func(context string) edit {
		return add(context, `{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: job-second-abcde, namespace: default, uid: second-copy,
			creationTimestamp: "2026-11-20T23:46:30Z", labels: {kueue.x-k8s.io/multikueue-origin: multikueue}},
			spec: {active: true, priority: 0, queueName: user-queue, podSets: [{name: main, count: 1}]}, status: {`+withConditions(noQuotaCondition)+`}}`)
	}
	return []testCase{
		{name: "nothing gets through to connected workers", code: "JM137", base: "running", fires: true, later: minutes, edits: revoked("2026-11-20T23:46:20Z")},
		{name: "nothing is nominated", code: "JM137", base: "running", fires: true, later: minutes, edits: append(revoked("2026-11-20T23:46:20Z"), notNominated()...)},
		{name: "nothing is nominated, and Kueue was not seen since", code: "JM137", base: "running", later: time.Hour, edits: append(revoked("2026-11-20T23:44:20Z"), notNominated()...)},
		{name: "not yet for two minutes", code: "JM137", base: "running", later: time.Minute, edits: revoked("2026-11-20T23:44:20Z")},
		{name: "copies of other Jobs get through", code: "JM137", base: "running", later: minutes, edits: append(revoked("2026-11-20T23:46:20Z"), copyOn(w1), copyOn(w2))},
		{name: "Kueue on the manager was not seen since", code: "JM137", base: "running", later: time.Hour, edits: revoked("2026-11-20T23:44:20Z")},
		{name: "a single Job", code: "JM137", base: "running", later: minutes, edits: offered(remove(w1, workload), evaluated(mgr, "2026-11-20T23:46:20Z"))},
		{
			name: "a worker that is not connected", code: "JM137", base: "running", later: minutes,
			edits: append(revoked("2026-11-20T23:46:20Z"), disconnected("worker1"), disconnected("worker2")),
		},
	}
}

// notNominated leaves both Jobs without nominated clusters: Kueue reads a Workload on all workers
// before it nominates any.
func notNominated() []edit {
	const none = `{status: {nominatedClusterNames: null}}`
	return []edit{patch(mgr, workload, none), patch(mgr, "Workload/job-second-abcde", none)}
}

func disconnected(cluster string) edit {
	return patch(mgr, "MultiKueueCluster/"+cluster, `{status: {`+withConditions(condition("Active", "False", "ClientConnectionFailed", "Unauthorized"))+`}}`)
}

// TestUnreachedWorkerIsOneFinding checks that Jobs behind workers that
// nothing reaches are one finding, which names the credentials first. None of
// them counts as behind.
func TestUnreachedWorkerIsOneFinding(t *testing.T) {
	c := unreachedCases()[0]
	found := judge(t, c.make(t), rules.All(), 0)
	assert.Equal(t, strings.Join(codesOf(found), " "), "JM137", linesOf(found))
	f := found[0]
	assert.Equal(t, f.Message, "requests of MultiKueue on kwok-mgr to at least one of worker1 (kwok-w1), worker2 (kwok-w2) have failed since 2026-11-20T23:43:20Z, although it is Connected: 2 Jobs wait")
	assert.Assert(t, strings.HasPrefix(f.Remedy, "check the credentials first: run doctor, or search the log for Unauthorized or forbidden: "), f.Remedy)
	assert.Equal(t, len(f.Jobs), 2)
	assert.Assert(t, !strings.Contains(f.Remedy, "dispatcherName"), f.Remedy)

	// Another dispatcher that does not run leaves the same traces.
	c = unreachedCases()[1]
	found = judge(t, c.make(t), rules.All(), 0)
	assert.Equal(t, strings.Join(codesOf(found), " "), "JM137", linesOf(found))
	assert.Assert(t, strings.Contains(found[0].Remedy, "if multiKueue.dispatcherName in Kueue's configuration names another dispatcher, check that it runs"), found[0].Remedy)
}
