package rules_test

import (
	"slices"
	"strings"
	"testing"

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
