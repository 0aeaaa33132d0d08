package rules_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// originUIDs are those of Jobs that cases add; the names of their Workloads hold
// them.
const (
	newerUID      = "11111111-1111-4111-8111-111111111111"
	newerWorkload = "job-newer-942e9"
	otherUID      = "22222222-2222-4222-8222-222222222222"
	otherWorkload = "job-other-e42b0"
)

// addOrigin adds a Job of MultiKueue's.
func addOrigin(context, name, uid string) edit {
	return add(context, fmt.Sprintf(`{apiVersion: batch/v1, kind: Job,
		metadata: {name: %s, namespace: default, uid: %s, creationTimestamp: "2026-11-20T23:43:30Z", labels: {kueue.x-k8s.io/queue-name: user-queue}},
		spec: {managedBy: kueue.x-k8s.io/multikueue, completions: 1, parallelism: 1, suspend: false},
		status: {active: 1, ready: 1, startTime: "2026-11-20T23:43:31Z"}}`, name, uid))
}

// addMirror adds the mirror that MultiKueue made of it.
func addMirror(context, name, workload, origin string) edit {
	return add(context, fmt.Sprintf(`{apiVersion: batch/v1, kind: Job,
		metadata: {name: %s, namespace: default, uid: mirror-of-%s, creationTimestamp: "2026-11-20T23:43:31Z",
			labels: {kueue.x-k8s.io/queue-name: user-queue, kueue.x-k8s.io/multikueue-origin: %s},
			annotations: {kueue.x-k8s.io/prebuilt-workload-name: %s}},
		spec: {completions: 1, parallelism: 1, suspend: false},
		status: {active: 1, ready: 1, startTime: "2026-11-20T23:43:31Z"}}`, name, name, origin, workload))
}

// addWorkload adds a Workload, with more of its metadata and with a status.
func addWorkload(context, name, metadata, status string) edit {
	return add(context, fmt.Sprintf(`{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload,
		metadata: {name: %s, namespace: default, uid: uid-of-%s-%s, creationTimestamp: "2026-11-20T23:43:30Z", %s},
		spec: {queueName: user-queue}, status: {%s}}`, name, name, context, metadata, status))
}

func orphanCases() []testCase {
	var all []testCase
	for _, cases := range [][]testCase{strayCases(), cutOffCases(), twiceCases(), leftCases(), markCases(), podsLeftCases(), olderCases()} {
		all = append(all, cases...)
	}
	return all
}

// dyingWorkload is the Workload of a deleted Job, which Kueue has not released.
func dyingWorkload() edit {
	return addWorkload("kwok-mgr", "job-train-01764", `deletionTimestamp: "2026-11-20T23:27:38Z", finalizers: [kueue.x-k8s.io/resource-in-use],
		ownerReferences: [{apiVersion: batch/v1, kind: Job, name: train, uid: deleted-train, controller: true}]`, "")
}

func strayCases() []testCase {
	const base = "origin-deleted-controller-down"
	copyOnly := []edit{
		dyingWorkload(), remove("kwok-w2", "Job/train"), patch("kwok-w2", "Workload/job-train-01764", `{metadata: {ownerReferences: null}}`),
	}
	toBeDeleted := patch("kwok-w2", "Job/train", `{metadata: {deletionTimestamp: "2026-11-20T23:27:38Z", finalizers: [foregroundDeletion]}}`)
	return []testCase{
		{name: "origin deleted", code: "JM053", base: base, fires: true},
		{name: "only the copy of the Workload is left", code: "JM053", base: base, fires: true, edits: []edit{
			remove("kwok-w2", "Job/train"),
			patch("kwok-w2", "Workload/job-train-01764", `{metadata: {ownerReferences: null}}`),
		}},
		{name: "finished", code: "JM053", base: base, fires: true, edits: []edit{
			patch("kwok-w2", "Job/train", `{status: {active: 0, succeeded: 2, conditions: [{type: Complete, status: "True", lastTransitionTime: "2026-11-20T23:27:30Z"}]}}`),
		}},
		{name: "another worker is not reached", code: "JM053", base: base, fires: true, edits: []edit{unreachable("kwok-w1")}},
		{name: "origin there", code: "JM053", base: "running"},
		{name: "being deleted", code: "JM053", base: base, edits: []edit{toBeDeleted}},
		{name: "the management cluster does not answer", code: "JM053", base: base, edits: []edit{unreachable("kwok-mgr")}},
		{name: "the Workload is still there", code: "JM053", base: base, edits: []edit{
			addWorkload("kwok-mgr", "job-train-01764", `deletionTimestamp: "2026-11-20T23:27:38Z", finalizers: [kueue.x-k8s.io/resource-in-use]`, ""),
		}},
		{name: "Kueue has just begun to delete", code: "JM053", base: base, edits: []edit{dyingWorkload()}},
		{name: "Kueue has not deleted for minutes", code: "JM053", base: base, fires: true, later: 3 * time.Minute, edits: []edit{dyingWorkload()}},
		{name: "Kueue has not deleted the copy for minutes", code: "JM053", base: base, fires: true, later: 3 * time.Minute, edits: copyOnly},
		{name: "only the Workload was deleted, and its Job is there", code: "JM053", base: base, later: 3 * time.Minute, edits: append(copyOnly,
			addOrigin("kwok-mgr", "other", "deleted-train"))},
		{name: "Kueue has not deleted for minutes, and Jobs are unread", code: "JM053", base: base, later: 3 * time.Minute, edits: append(copyOnly,
			forbidden("kwok-mgr", "jobs.batch"))},
		{name: "of a management cluster that is not among the contexts", code: "JM053", base: base, edits: []edit{
			addOrigin("kwok-mgr", "newer", newerUID), addMirror("kwok-w2", "newer", newerWorkload, "multikueue"),
			patch("kwok-w2", "Job/train", `{metadata: {labels: {kueue.x-k8s.io/multikueue-origin: somebody-else}}}`),
		}},
		{name: "of another management cluster, while this one has none", code: "JM053", base: base, edits: []edit{
			patch("kwok-w2", "Job/train", `{metadata: {labels: {kueue.x-k8s.io/multikueue-origin: somebody-else}}}`),
			patch("kwok-w2", "Workload/job-train-01764", `{metadata: {labels: {kueue.x-k8s.io/multikueue-origin: somebody-else}}}`),
		}},

		{name: "its Workload is gone too", code: "JM057", base: base, fires: true, edits: []edit{remove("kwok-w2", "Workload/job-train-01764")}},
		{name: "its Workload is gone too, and Kueue keeps the one of the manager", code: "JM057", base: base, fires: true, edits: []edit{
			dyingWorkload(), remove("kwok-w2", "Workload/job-train-01764"),
		}},
		{name: "its Workload is there", code: "JM057", base: base},
		{name: "origin there", code: "JM057", base: "running", edits: []edit{remove("kwok-w1", "Workload/job-train-1c348")}},
	}
}

func cutOffCases() []testCase {
	gone := remove("kwok-mgr", "MultiKueueCluster/worker1")
	return []testCase{
		{name: "MultiKueueCluster deleted while it ran", code: "JM054", base: "cluster-removed-from-config", fires: true, edits: []edit{gone}},
		{name: "origin deleted as well", code: "JM054", base: "cluster-removed-from-config", fires: true, edits: []edit{
			gone, addMirror("kwok-w1", "other", otherWorkload, "multikueue"),
		}},
		{name: "MultiKueueCluster there", code: "JM054", base: "cluster-removed-from-config"},
		{name: "the MultiKueueCluster that has it seems to lead elsewhere", code: "JM054", base: "cluster-removed-from-config", edits: []edit{
			gone, remove("kwok-w2", "Job/train"),
		}},
		{name: "another MultiKueueCluster has an unknown target", code: "JM054", base: "cluster-removed-from-config", edits: []edit{
			gone, add("kwok-mgr", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: MultiKueueCluster, metadata: {name: mystery},
				spec: {clusterSource: {clusterProfileRef: {name: mystery}}}}`),
		}},
		{name: "a mirror of a management cluster that is not among the contexts", code: "JM054", base: "no-queue-name", edits: []edit{
			gone, addMirror("kwok-w1", "other", otherWorkload, "multikueue"),
		}},
	}
}

func twiceCases() []testCase {
	const base = "cluster-removed-from-config"
	inConfig := patch("kwok-mgr", "MultiKueueConfig/fleet", `{spec: {clusters: [worker1, worker2]}}`)
	finished := patch("kwok-w1", "Job/train", `{status: {active: 0, succeeded: 2, conditions: [{type: Complete, status: "True", lastTransitionTime: "2026-11-20T23:49:05Z"}]}}`)
	heldBack := patch("kwok-w1", "Job/train", `{spec: {suspend: true}, status: {active: 0, ready: 0}}`)
	return []testCase{
		{name: "runs on both", code: "JM055", base: base, fires: true},
		{name: "not yet given to another cluster", code: "JM055", base: base, fires: true, edits: []edit{
			remove("kwok-w2", "Job/train"), patch("kwok-mgr", "Workload/job-train-267ae", `{status: {clusterName: null}}`),
		}},
		{name: "the cluster is in the config", code: "JM055", base: base, edits: []edit{inConfig}},
		{name: "still has it", code: "JM055", base: base, edits: []edit{
			patch("kwok-mgr", "Workload/job-train-267ae", `{status: {clusterName: worker1}}`),
		}},
		{name: "finished there", code: "JM055", base: base, edits: []edit{finished}},
		{name: "suspended on the worker", code: "JM055", base: base, edits: []edit{heldBack}},

		{name: "completed on a removed cluster", code: "JM141", base: base, fires: true, edits: []edit{finished}},
		{name: "completed on a lost worker that is back", code: "JM141", base: base, fires: true, edits: []edit{inConfig, finished}},
		{name: "its end is about to be copied", code: "JM141", base: base, edits: []edit{
			inConfig, finished, patch("kwok-mgr", "Job/train", `{status: {startTime: "2026-11-20T23:48:50Z"}}`),
		}},
		{name: "runs on both", code: "JM141", base: base},
		{name: "completed where it was", code: "JM141", base: base, edits: []edit{
			finished, patch("kwok-mgr", "Workload/job-train-267ae", `{status: {clusterName: worker1}}`),
		}},

		{name: "the lost worker is back", code: "JM056", base: base, fires: true, edits: []edit{inConfig}},
		{name: "MultiKueue uses it again", code: "JM056", base: base, fires: true, edits: []edit{
			inConfig, remove("kwok-w2", "Job/train"), remove("kwok-w2", "Workload/job-train-267ae"),
		}},
		{name: "and its status is copied", code: "JM056", base: base, edits: []edit{
			inConfig, remove("kwok-w2", "Job/train"), remove("kwok-w2", "Workload/job-train-267ae"),
			patch("kwok-mgr", "Job/train", `{status: {startTime: "2026-11-20T23:48:50Z"}}`),
		}},
		{name: "not given to a worker yet", code: "JM056", base: base, edits: []edit{
			inConfig, patch("kwok-mgr", "Workload/job-train-267ae", `{status: {clusterName: null}}`),
		}},
		{name: "the chosen worker is unreachable, perhaps known by another address", code: "JM056", base: base, edits: []edit{inConfig, unreachable("kwok-w2")}},
		{name: "Jobs on the chosen worker are unreadable", code: "JM056", base: base, edits: []edit{inConfig, forbidden("kwok-w2", "jobs.batch")}},
		{name: "which context reaches which worker is a guess", code: "JM056", base: base, edits: []edit{
			inConfig, remove("kwok-mgr", "Secret/*"),
			addWorkload("kwok-mgr", otherWorkload, "", `nominatedClusterNames: [worker1, worker2]`),
			addWorkload("kwok-w1", otherWorkload, "labels: {kueue.x-k8s.io/multikueue-origin: multikueue}", ""),
			addWorkload("kwok-w2", otherWorkload, "labels: {kueue.x-k8s.io/multikueue-origin: multikueue}", ""),
		}},
		{name: "suspended on the worker", code: "JM056", base: base, edits: []edit{inConfig, heldBack}},
		{name: "taken out of the config", code: "JM056", base: base},
		{name: "runs on the chosen worker", code: "JM056", base: "running"},
	}
}

// TestLostWorkerIsBack checks that no remedy deletes a mirror which
// MultiKueue deletes by itself once it reaches both workers again. A user who
// deletes another one at that moment has none left.
func TestLostWorkerIsBack(t *testing.T) {
	connected := patch("kwok-mgr", "MultiKueueCluster/worker1", `{status: {conditions: [
		{type: Active, status: "True", reason: Active, message: Connected, lastTransitionTime: "2026-11-21T00:49:00Z"}]}}`)
	c := testCase{name: "seen twice", code: "JM056", base: "cluster-removed-from-config", later: time.Hour, edits: []edit{
		patch("kwok-mgr", "MultiKueueConfig/fleet", `{spec: {clusters: [worker1, worker2]}}`), connected,
	}}
	twice := func(grace time.Duration) string {
		var codes []string
		for _, code := range codesOf(judge(t, c.inventory(t), rules.All(), grace)) {
			if code == "JM056" || code == "JM107" {
				codes = append(codes, code)
			}
		}
		return strings.Join(codes, " ")
	}
	assert.Equal(t, twice(5*time.Minute), "")
	assert.Equal(t, twice(0), "JM056")
}

func leftCases() []testCase {
	const orphan = "origin-deleted-controller-down"
	copied := `labels: {kueue.x-k8s.io/multikueue-origin: multikueue}`
	forGone := `labels: {kueue.x-k8s.io/job-uid: 33333333-3333-4333-8333-333333333333}`
	return []testCase{
		{name: "a worker has a copy", code: "JM058", base: "managed-by-missing", fires: true, edits: []edit{
			addWorkload("kwok-w1", "job-train-f2552", copied, ""),
		}},
		{name: "no worker has one", code: "JM058", base: "managed-by-missing"},
		{name: "not rejected", code: "JM058", base: "running"},

		{name: "the Workload has lost its Job", code: "JM062", base: orphan, fires: true, edits: []edit{
			addWorkload("kwok-mgr", "job-train-01764", forGone,
				`conditions: [{type: Finished, status: "True", reason: OwnerNotFound, message: "", lastTransitionTime: "2026-11-20T23:27:35Z"}]`),
		}},
		{name: "a worker keeps the mirror, too", code: "JM058", base: orphan, edits: []edit{
			addWorkload("kwok-mgr", "job-train-01764", forGone, `admissionChecks: [{name: multikueue, state: Rejected, message: No multikueue adapter found, lastTransitionTime: "2026-11-20T23:50:26Z"}]`),
		}},
		{name: "the Workload was rejected, too", code: "JM062", base: orphan, fires: true, edits: []edit{
			addWorkload("kwok-mgr", "job-train-01764", forGone, `admissionChecks: [{name: multikueue, state: Rejected, message: No multikueue adapter found, lastTransitionTime: "2026-11-20T23:50:26Z"}]`),
		}},
		{name: "the Workload has an owner", code: "JM062", base: orphan, edits: []edit{
			addWorkload("kwok-mgr", "job-train-01764", forGone+`, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: train, uid: x, controller: true}]`, ""),
		}},
		{name: "the Workload is gone", code: "JM062", base: orphan},
	}
}

func markCases() []testCase {
	second := []edit{
		addOrigin("kwok-w2", "other", otherUID),
		addWorkload("kwok-w2", otherWorkload, `labels: {kueue.x-k8s.io/job-uid: `+otherUID+`}`, `clusterName: theirs`),
		add("kwok-w2", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: MultiKueueCluster, metadata: {name: theirs}, spec: {}}`),
	}
	return []testCase{
		{name: "later mirrors have another mark", code: "JM059", base: "running", fires: true, edits: []edit{
			addOrigin("kwok-mgr", "newer", newerUID), addMirror("kwok-w2", "newer", newerWorkload, "fleet-a"),
		}},
		{name: "another manager uses the old name", code: "JM059", base: "running", edits: []edit{
			remove("kwok-w1", "Job/train"), remove("kwok-mgr", "Job/train"), remove("kwok-mgr", "Workload/job-train-1c348"),
			addOrigin("kwok-mgr", "other", otherUID), addMirror("kwok-w1", "other", otherWorkload, "multikueue"),
			addOrigin("kwok-mgr", "newer", newerUID), addMirror("kwok-w2", "newer", newerWorkload, "fleet-a"),
			addMirror("kwok-w2", "theirs", "job-theirs-12345", "multikueue"),
			patch("kwok-w1", "Job/other", `{metadata: {deletionTimestamp: "2026-11-20T23:43:41Z", creationTimestamp: "2026-11-20T23:43:20Z", finalizers: [foregroundDeletion]}}`),
			patch("kwok-w2", "Job/theirs", `{metadata: {creationTimestamp: "2026-11-20T23:43:35Z"}}`),
		}},
		{name: "all is marked in one way", code: "JM059", base: "running", edits: []edit{
			addOrigin("kwok-mgr", "newer", newerUID), addMirror("kwok-w2", "newer", newerWorkload, "multikueue"),
		}},

		{name: "two management clusters, one name", code: "JM060", base: "running", fires: true, edits: append([]edit{
			addWorkload("kwok-w1", otherWorkload, `labels: {kueue.x-k8s.io/multikueue-origin: multikueue}`, ""),
		}, second...)},
		{name: "two management clusters, two names", code: "JM060", base: "running", edits: append([]edit{
			addWorkload("kwok-w1", otherWorkload, `labels: {kueue.x-k8s.io/multikueue-origin: fleet-b}`, ""),
		}, second...)},
	}
}

func podsLeftCases() []testCase {
	const mirror = "3669332a-c7a6-4bee-ae29-2f5fdaf72828"
	pod := func(job, uid, phase, more string) []edit {
		return []edit{add("kwok-w1", fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: left, namespace: default, uid: left, creationTimestamp: "2026-11-20T23:20:00Z",
			labels: {batch.kubernetes.io/job-name: %s, batch.kubernetes.io/controller-uid: %s}%s}, spec: {nodeName: node-1}, status: {phase: %s, startTime: "2026-11-20T23:20:00Z"}}`, job, uid, more, phase))}
	}
	return []testCase{
		{name: "of a mirror before", code: "JM061", base: "running", fires: true, edits: pod("train", otherUID, "Running", "")},
		{name: "they never ran", code: "JM061", base: "running", fires: true, edits: pod("train", otherUID, "Pending", "")},
		{name: "they have ended", code: "JM061", base: "running", edits: pod("train", otherUID, "Succeeded", "")},
		{name: "they are being deleted", code: "JM061", base: "running", edits: pod("train", otherUID, "Running", `, deletionTimestamp: "2026-11-20T23:25:00Z"`)},
		{name: "their Job is there", code: "JM061", base: "running", edits: pod("train", mirror, "Running", "")},
		{name: "they are about to be deleted with their Job", code: "JM061", base: "running", edits: pod("train", otherUID, "Running",
			`, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: train, uid: `+otherUID+`, controller: true}]`)},
		{name: "no Job is left on the cluster", code: "JM061", base: "running", fires: true, edits: append(pod("train", otherUID, "Running", ""), remove("kwok-w1", "Job/train"))},
		{name: "of no origin's name", code: "JM061", base: "running", edits: pod("other", otherUID, "Running", "")},
		{name: "the origin is gone too", code: "JM061", base: "running", edits: append(pod("train", otherUID, "Running", ""), remove("kwok-mgr", "Job/train"))},
		{name: "none are left", code: "JM061", base: "running"},
	}
}

func olderCases() []testCase {
	again := patch("kwok-mgr", "Job/train", `{metadata: {uid: `+otherUID+`, creationTimestamp: "2026-11-20T23:43:38Z"}}`)
	return []testCase{
		{name: "the origin was created again", code: "JM063", base: "running", fires: true, edits: []edit{again}},
		{name: "it is the same origin", code: "JM063", base: "running"},
		{name: "another management cluster has a Job of that name", code: "JM063", base: "running", edits: []edit{
			addMirror("kwok-w2", "train", "job-train-abcde", "somebody-else"),
		}},
		{name: "the Workload was made by a person, under a name of its own", code: "JM063", base: "running", edits: []edit{
			again, patch("kwok-mgr", "Workload/job-train-1c348", `{metadata: {labels: {kueue.x-k8s.io/job-uid: `+otherUID+`}}}`),
		}},
		{name: "being deleted", code: "JM063", base: "running", edits: []edit{
			again, patch("kwok-w1", "Job/train", `{metadata: {deletionTimestamp: "2026-11-20T23:43:41Z", finalizers: [foregroundDeletion]}}`),
		}},
	}
}

// TestCollectedByKueue checks that the first fix of an orphan is a Kueue that runs, unless Kueue is at work,
// and that leftovers younger than the interval of its garbage collection are
// only information.
func TestCollectedByKueue(t *testing.T) {
	rule, _ := rules.ByCode("JM053")
	const base = "origin-deleted-controller-down"
	f := judge(t, inventory(t, recordings+"/"+base), []rules.Rule{rule}, 0)[0]
	assert.Equal(t, f.Severity, inspect.Warning)
	assert.Equal(t, f.Fixes[0].Text, "check that Kueue runs on kwok-mgr (it deletes orphans every minute)")
	assert.Equal(t, f.Fixes[0].Shell(), "kubectl --context kwok-mgr get deployments,pods -A -l app.kubernetes.io/name=kueue")
	assert.Assert(t, strings.HasPrefix(f.Fixes[1].Text, "wait one minute, then delete it if it still exists"), f.Remedy)
	atWork := add("kwok-mgr", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: another, namespace: default,
		creationTimestamp: "2026-11-20T23:27:30Z"}, status: {conditions: [
		{type: QuotaReserved, status: "False", reason: WaitingForQuota, message: "", lastTransitionTime: "2026-11-20T23:27:30Z"}]}}`)
	f = judge(t, testCase{base: base, edits: []edit{atWork}}.make(t), []rules.Rule{rule}, 0)[0]
	assert.Equal(t, f.Severity, inspect.Info)
	assert.Assert(t, strings.HasPrefix(f.Remedy, "wait one minute, then delete it if it still exists") && !strings.Contains(f.Remedy, "check that Kueue runs"), f.Remedy)
}

// TestSuspendedOrphan checks that a suspended orphan is not called running.
func TestSuspendedOrphan(t *testing.T) {
	rule, _ := rules.ByCode("JM053")
	heldBack := patch("kwok-w2", "Job/train", "{spec: {suspend: true}, status: {active: 0, ready: 0}}")
	down := testCase{base: "origin-deleted-controller-down", later: 3 * time.Minute, edits: []edit{heldBack, dyingWorkload()}}
	f := judge(t, down.make(t), []rules.Rule{rule}, time.Minute)[0]
	assert.Equal(t, f.Message, "Job default/train: orphan on kwok-w2, suspended: its origin is gone, and Kueue on kwok-mgr seems down")
}

// TestKueueDown checks that a mirror that Kueue had to delete with its origin is an orphan, and
// that its first fix is a Kueue that runs.
func TestKueueDown(t *testing.T) {
	rule, _ := rules.ByCode("JM053")
	down := testCase{base: "origin-deleted-controller-down", later: 3 * time.Minute, edits: []edit{dyingWorkload()}}
	f := judge(t, down.make(t), []rules.Rule{rule}, time.Minute)[0]
	assert.Equal(t, f.Message, "Job default/train: orphan on kwok-w2, running: its origin is gone, and Kueue on kwok-mgr seems down")
	assert.Equal(t, f.Since.UTC().Format(time.TimeOnly), "23:27:38")
	assert.Equal(t, len(f.Fixes), 2, f.Remedy)
	assert.Equal(t, f.Fixes[0].Shell(), "kubectl --context kwok-mgr get deployments,pods -A -l app.kubernetes.io/name=kueue")
	assert.Assert(t, strings.HasPrefix(f.Fixes[1].Text, "wait one minute, then delete it if it still exists"), f.Fixes[1].Text)
	slow := down
	slow.edits = append(slow.edits, add("kwok-mgr", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: slow, namespace: default,
		creationTimestamp: "2026-11-20T23:17:30Z"}, status: {conditions: [
		{type: QuotaReserved, status: "False", reason: WaitingForQuota, message: "", lastTransitionTime: "2026-11-20T23:27:30Z"}]}}`))
	f = judge(t, slow.make(t), []rules.Rule{rule}, time.Minute)[0]
	assert.Assert(t, strings.HasSuffix(f.Message, "Kueue on kwok-mgr seems down"), "another step took ten minutes: %s", f.Message)
	down.edits = append(down.edits, remove("kwok-w2", "Job/train"), patch("kwok-w2", "Workload/job-train-01764", `{metadata: {ownerReferences: null}}`))
	f = judge(t, down.make(t), []rules.Rule{rule}, time.Minute)[0]
	assert.Equal(t, f.Message, "Workload default/job-train-01764: its Job on kwok-mgr is gone, but the copy on kwok-w2 still waits or holds quota; Kueue on kwok-mgr seems down")
}

// TestDeletionOfForeignObjects checks that remedies to delete objects which
// another, unknown management cluster may have created say so, and do not
// delete by label.
func TestDeletionOfForeignObjects(t *testing.T) {
	again := patch("kwok-mgr", "Job/train", `{metadata: {uid: `+otherUID+`, creationTimestamp: "2026-11-20T23:43:38Z"}}`)
	older := []edit{
		again, remove("kwok-mgr", "Workload/job-train-1c348"),
		addWorkload("kwok-mgr", "job-train-new", `labels: {kueue.x-k8s.io/job-uid: `+otherUID+`}`, ""),
	}
	const ask = `, unless another manager that uses kwok-w%s also has multiKueue.origin multikueue ("explain JM053"): `
	for name, tt := range map[string]struct {
		code, base string
		edits      []edit
		asks       bool
	}{
		"its origin is gone": {"JM053", "origin-deleted-controller-down", nil, true},
		"a Workload of its manager has the same mark": {"JM053", "origin-deleted-controller-down", []edit{
			addWorkload("kwok-mgr", otherWorkload, "", ""), addWorkload("kwok-w1", otherWorkload, "labels: {kueue.x-k8s.io/multikueue-origin: multikueue}", ""),
		}, false},
		"its Workload is gone, too":      {"JM057", "origin-deleted-controller-down", []edit{remove("kwok-w2", "Workload/job-train-01764")}, true},
		"it is older than its origin":    {"JM063", "running", older, true},
		"its manager uses the same mark": {"JM063", "running", []edit{again}, false},
		"its manager goes by another":    {"JM059", "running", []edit{addOrigin("kwok-mgr", "newer", newerUID), addMirror("kwok-w2", "newer", newerWorkload, "fleet-a")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			rule, _ := rules.ByCode(tt.code)
			findings := judge(t, testCase{base: tt.base, edits: tt.edits}.make(t), []rules.Rule{rule}, 0)
			assert.Equal(t, len(findings), 1)
			worker := strings.TrimPrefix(findings[0].Context, "kwok-w")
			assert.Equal(t, strings.Contains(findings[0].Remedy, fmt.Sprintf(ask, worker)), tt.asks, findings[0].Remedy)
			assert.Assert(t, strings.Contains(findings[0].Remedy, "delete job train`"), findings[0].Remedy)
			assert.Assert(t, !strings.Contains(strings.ReplaceAll(findings[0].Remedy, " get deployments,pods -A -l ", ""), " -l "), findings[0].Remedy)
		})
	}
}
