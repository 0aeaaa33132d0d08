package rules_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// TestMissingQueueWithoutWorkload checks that the finding about a Job without a Workload, and its answer, name the
// LocalQueue that does not exist, and how to use another one. Kueue's webhook lets the label of a Job that is not
// suspended not change.
func TestMissingQueueWithoutWorkload(t *testing.T) {
	const missing = "LocalQueue default/user-queu does not exist on kwok-mgr"
	typo := func(spec string) []edit {
		return []edit{patch("kwok-mgr", "Job/default/train", `{metadata: {labels: {kueue.x-k8s.io/queue-name: user-queu}}, spec: {`+spec+`}}`)}
	}
	for name, tt := range map[string]struct {
		edits           []edit
		message, remedy string
	}{
		"suspended": {
			typo("suspend: true"), missing + "; did you mean user-queue?",
			"move Job default/train to LocalQueue user-queue: `kubectl --context kwok-mgr -n default label job train --overwrite kueue.x-k8s.io/queue-name=user-queue`, and then if Kueue still creates no Workload, check that Kueue runs",
		},
		"not suspended": {
			typo("suspend: false"), missing + "; did you mean user-queue?",
			"recreate Job default/train in LocalQueue user-queue: `kubectl jobs-managedby recreate train -n default --context kwok-mgr --managed-by kueue.x-k8s.io/multikueue --queue user-queue`, and then if",
		},
		"not delegated": {
			typo("suspend: true, managedBy: null"), missing + "; did you mean user-queue?",
			"recreate Job default/train in LocalQueue user-queue: `kubectl jobs-managedby recreate train -n default --context kwok-mgr --managed-by kueue.x-k8s.io/multikueue --queue user-queue`, and then if",
		},
		"no other queue": {append(typo("suspend: true"), remove("kwok-mgr", "LocalQueue/*")), missing, "create LocalQueue default/user-queu on kwok-mgr: `printf "},
	} {
		v := testCase{base: "no-queue-name", edits: tt.edits}.make(t)
		rule, _ := rules.ByCode("JM017")
		found := judge(t, v, []rules.Rule{rule}, 0)
		assert.Equal(t, len(found), 1, name)
		assert.Equal(t, found[0].Predicate(), tt.message, name)
		assert.Assert(t, strings.HasPrefix(found[0].Remedy, tt.remedy), "%s: %s", name, found[0].Remedy)
		assert.Assert(t, !slices.Contains(codesOf(judge(t, v, rules.All(), 0)), "JM114"), name)

		trace := answersOf(t, v, 0)[0]
		assert.Equal(t, trace.State, inspect.StateBlocked, name)
		assert.Equal(t, strings.TrimSuffix(trace.Message, "."), tt.message, name)
		assert.Equal(t, trace.Remedy, found[0].Remedy, name)
	}
}

// TestAdmittedOnManager checks that a Job that Kueue admitted on the manager gets another LocalQueue first, which changes
// only the Job, and that the check of its ClusterQueue is no fix while this would stop other Jobs, or while no worker has
// the LocalQueue.
func TestAdmittedOnManager(t *testing.T) {
	const move, check, own = "with label kueue.x-k8s.io/queue-name=workers", "add AdmissionCheck multikueue to spec.admissionChecksStrategy", "to run it on kwok-mgr, give it to the built-in controller: "
	serves := func(counts string) edit {
		return patch("kwok-mgr", "ClusterQueue/cluster-queue", `{status: {`+counts+`}}`)
	}
	alone := serves("reservingWorkloads: 1, pendingWorkloads: 0")
	other := []edit{
		add("kwok-mgr", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: workers}, spec: {admissionChecksStrategy: {admissionChecks: [{name: multikueue}]}}}`),
		add("kwok-mgr", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: workers, namespace: default}, spec: {clusterQueue: workers}}`),
	}
	second := []edit{
		addOrigin("kwok-mgr", "second", "uid-of-second"),
		addWorkload("kwok-mgr", "job-second", "labels: {kueue.x-k8s.io/job-uid: uid-of-second}", withConditions(noQuotaCondition)),
	}
	stopped := patch("kwok-mgr", "LocalQueue/user-queue", `{spec: {stopPolicy: Hold}}`)
	for name, tt := range map[string]struct {
		edits []edit
		want  []string
	}{
		"the queue has no other Workloads": {[]edit{alone}, []string{check, own}},
		"another queue dispatches":         {append(other, alone), []string{move, check, own}},
		"another Workload has quota":       {append(other, serves("reservingWorkloads: 2, pendingWorkloads: 0")), []string{move, own}},
		"another Workload waits":           {[]edit{serves("reservingWorkloads: 1, pendingWorkloads: 1")}, []string{own}},
		"a delegated one waits":            {append(second, serves("reservingWorkloads: 1, pendingWorkloads: 1")), []string{check, own}},
		"a delegated one is not counted":   {append(second, stopped, serves("reservingWorkloads: 2, pendingWorkloads: 0")), []string{own}},
		"one worker has the LocalQueue":    {[]edit{alone, remove("kwok-w1", "LocalQueue/*")}, []string{check, own}},
		"no worker has the LocalQueue":     {[]edit{alone, remove("kwok-w1", "LocalQueue/*"), remove("kwok-w2", "LocalQueue/*")}, []string{own}},
	} {
		v := testCase{base: "running", edits: append(admittedHere(), tt.edits...)}.make(t)
		f := findingOf(t, judge(t, v, rules.All(), 0), "JM013")
		ways := strings.Split(f.Remedy, "; or ")
		assert.Equal(t, len(ways), len(tt.want), "%s: %s", name, f.Remedy)
		for i, way := range ways {
			assert.Assert(t, strings.Contains(way, tt.want[i]), "%s: %s", name, way)
		}
	}
}

// TestCheckStopsOthers checks that a fix that adds MultiKueue's check to a ClusterQueue says which other Jobs it stops.
func TestCheckStopsOthers(t *testing.T) {
	for count, warns := range map[string]bool{"1": false, "2": true} {
		v := testCase{base: "running", edits: []edit{
			patch("kwok-mgr", "ClusterQueue/cluster-queue", `{spec: {admissionChecksStrategy: null}, status: {reservingWorkloads: `+count+`, pendingWorkloads: 0}}`),
			patch("kwok-mgr", "Workload/default/job-train-1c348", `{status: {admissionChecks: null}}`),
			patch("kwok-mgr", "Job/default/train", `{status: {active: 0, ready: 0}}`),
		}}.make(t)
		f := findingOf(t, judge(t, v, rules.All(), 0), "JM104")
		const warning = " of ClusterQueue cluster-queue (stops its Jobs whose managedBy is not kueue.x-k8s.io/multikueue): "
		assert.Equal(t, strings.Contains(f.Remedy, warning), warns, f.Remedy)
	}
}

// TestChainStrandsJobs checks that the fix of a worker that dispatches says so if its check also serves Jobs of its own.
func TestChainStrandsJobs(t *testing.T) {
	copied := addWorkload("kwok-mgr", "job-other", "labels: {kueue.x-k8s.io/multikueue-origin: upstream}",
		`admissionChecks: [{name: multikueue, state: Rejected, message: No multikueue adapter found, lastTransitionTime: "2026-11-20T23:50:26Z"}]`)
	for _, has := range []bool{true, false} {
		edits := []edit{copied}
		if !has {
			edits = append(edits, remove("kwok-mgr", "Job/*"))
		}
		f := findingOf(t, judge(t, testCase{base: "running", edits: edits}.make(t), rules.All(), 0), "JM015")
		const warning = "remove the MultiKueue check from ClusterQueue cluster-queue (strands the Jobs that kwok-mgr itself gives to workers), or "
		assert.Equal(t, strings.HasPrefix(f.Remedy, warning), has, f.Remedy)
	}
}

// queuedHere is the Job in a ClusterQueue without MultiKueue check, with a condition that says why it has no quota.
func queuedHere(quota string, more ...edit) []edit {
	return append(offered(remove(w1, workload),
		patch(mgr, workload, `{status: {admission: null, admissionChecks: null, nominatedClusterNames: null, `+withConditions(quota)+`}}`),
		patch(mgr, "ClusterQueue/cluster-queue", `{spec: {admissionChecksStrategy: null}, status: {reservingWorkloads: 0, pendingWorkloads: 1}}`)), more...)
}

// TestQueuedOnManager checks that a Job in a ClusterQueue without MultiKueue check is reported before Kueue admits it, whatever
// it waits for: more quota, a resumed queue or another check would only let Kueue admit it where nothing runs it.
func TestQueuedOnManager(t *testing.T) {
	const says = "ClusterQueue cluster-queue has no MultiKueue check: Kueue would admit it on kwok-mgr, where nothing runs it"
	const check = "add AdmissionCheck multikueue to spec.admissionChecksStrategy of ClusterQueue cluster-queue: "
	tooLarge := condition("QuotaReserved", "False", "ExceedsMaxQuota", "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor default-flavor, "+
		"previously considered podsets requests (0) + current podset request (2) > maximum capacity (1)")
	limited := patch(mgr, "ClusterQueue/cluster-queue", `{spec: {resourceGroups: [{coveredResources: [cpu], flavors: [{name: default-flavor, resources: [{name: cpu, nominalQuota: "1"}]}]}]}}`)
	stopped := patch(mgr, "LocalQueue/user-queue", `{spec: {stopPolicy: Hold}}`)
	other := []edit{
		add("kwok-mgr", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: workers}, spec: {admissionChecksStrategy: {admissionChecks: [{name: multikueue}]}}}`),
		add("kwok-mgr", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: workers, namespace: default}, spec: {clusterQueue: workers}}`),
	}
	budget := append(queuedHere(gotQuota), patch(mgr, workload, `{status: {admissionChecks: [{name: budget, state: Pending, message: "", lastTransitionTime: "2026-11-20T23:43:18Z"}]}}`),
		patch(mgr, "ClusterQueue/cluster-queue", `{spec: {admissionChecksStrategy: {admissionChecks: [{name: budget}]}}}`),
		add(mgr, `{apiVersion: kueue.x-k8s.io/v1beta2, kind: AdmissionCheck, metadata: {name: budget}, spec: {controllerName: acme.example.com/budget},
			status: {conditions: [{type: Active, status: "True", reason: Active, message: "", lastTransitionTime: "2026-11-20T23:20:00Z"}]}}`))
	for name, tt := range map[string]struct {
		edits []edit
		first string
	}{
		"waits for quota":          {queuedHere(noQuotaCondition), check},
		"over the limit":           {queuedHere(tooLarge, limited), check},
		"in a stopped queue":       {queuedHere(condition("QuotaReserved", "False", "Suspended", "LocalQueue user-queue is stopped"), stopped), "to run it on kwok-mgr, give it to the built-in controller: "},
		"waits for another check":  {budget, check + "`kubectl --context kwok-mgr edit clusterqueues.kueue.x-k8s.io cluster-queue`"},
		"another queue dispatches": {queuedHere(noQuotaCondition, other...), "move Job default/train to LocalQueue workers: `kubectl --context kwok-mgr -n default label job train --overwrite kueue.x-k8s.io/queue-name=workers`"},
	} {
		v := testCase{base: "running", edits: tt.edits, later: time.Hour}.make(t)
		found := judge(t, v, rules.All(), 0)
		f := findingOf(t, found, "JM013")
		assert.Equal(t, f.Predicate(), says, name)
		first, _, _ := strings.Cut(f.Remedy, "; or ")
		assert.Assert(t, strings.Contains(first, tt.first), "%s: %s", name, f.Remedy)
		assert.Assert(t, !slices.Contains(codesOf(found), "JM019"), "%s: %v", name, codesOf(found))
		trace := answersOf(t, v, 0)[0]
		assert.Equal(t, trace.State, inspect.StateBlocked, name)
		assert.Equal(t, trace.Message, says+".", name)
		assert.Equal(t, trace.Remedy, f.Remedy, name)
	}
	for name, edits := range map[string][]edit{
		"the queue dispatches": append(queuedHere(noQuotaCondition), patch(mgr, "ClusterQueue/cluster-queue", `{spec: {admissionChecksStrategy: {admissionChecks: [{name: multikueue}]}}}`)),
		"a check is unknown":   append(queuedHere(noQuotaCondition), patch(mgr, "ClusterQueue/cluster-queue", `{spec: {admissionChecksStrategy: {admissionChecks: [{name: gone}]}}}`)),
		"deactivated":          queuedHere(noQuotaCondition, patch(mgr, workload, `{spec: {active: false}}`)),
	} {
		v := testCase{base: "running", edits: edits, later: time.Hour}.make(t)
		assert.Assert(t, !slices.Contains(codesOf(judge(t, v, rules.All(), 0)), "JM013"), name)
	}
}

// TestOnlyWorkerIsManager checks that a manager that is its own only worker explains why a Job waits, with the fix; that it
// does not while there is another worker.
func TestOnlyWorkerIsManager(t *testing.T) {
	for config, explains := range map[string]bool{`[worker2]`: true, `[worker1, worker2]`: false} {
		v := testCase{base: "running", edits: offered(remove(w1, workload), pointsTo("worker2-secret", "https://127.0.0.1:32764"),
			patch(mgr, workload, `{status: {nominatedClusterNames: null}}`), patch(mgr, "MultiKueueConfig/fleet", `{spec: {clusters: `+config+`}}`))}.make(t)
		f := findingOf(t, judge(t, v, rules.All(), 0), "JM018")
		assert.Equal(t, len(f.Jobs) == 1, explains, config)
		trace := answersOf(t, v, 0)[0]
		assert.Equal(t, trace.Message == "MultiKueueCluster worker2 points to kwok-mgr itself, which cannot be its own worker.", explains, trace.Message)
		assert.Equal(t, trace.Remedy == f.Remedy, explains, trace.Remedy)
	}
}
