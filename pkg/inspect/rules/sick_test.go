package rules_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/chain"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

const (
	mgr = "kwok-mgr"
	w1  = "kwok-w1"
	w2  = "kwok-w2"
	// workload is that of the Job in the recording "running", on all clusters.
	workload = "Workload/job-train-1c348"
)

// faultCase is a variation of a recorded fleet one hour later, without any action
// since: what no controller has done by then, none will do.
type faultCase struct {
	name string
	base string
	// edits make it sick. None remove rights.
	edits []edit
	// codes are the codes that check reports with its default grace period.
	// says are words that one of the messages must have.
	codes string
	says  string
}

// condition returns a condition in the form of a patch.
func condition(kind, status, reason, message string) string {
	return `{type: ` + kind + `, status: "` + status + `", reason: ` + reason + `, message: "` + message + `", lastTransitionTime: "2026-11-20T23:43:20Z"}`
}

func withConditions(list ...string) string { return "conditions: [" + strings.Join(list, ", ") + "]" }

var (
	gotQuota         = condition("QuotaReserved", "True", "QuotaReserved", "")
	gotAdmitted      = condition("Admitted", "True", "Admitted", "")
	unevaluated      = condition("QuotaReserved", "False", "PendingEvaluation", "Workload is pending evaluation in the scheduling queue")
	noQuotaCondition = condition("QuotaReserved", "False", "WaitingForQuota", "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default-flavor, 1 more needed")
)

// offered is the Job while it waits for a worker: worker1 has the copy of its
// Workload, and there is no mirror.
func offered(more ...edit) []edit {
	return append([]edit{
		patch(mgr, workload, `{status: {clusterName: null, nominatedClusterNames: [worker1, worker2], `+withConditions(gotQuota)+`,
			admissionChecks: [{name: multikueue, state: Pending, message: "", lastTransitionTime: "2026-11-20T23:43:18Z"}]}}`),
		patch(mgr, "Job/train", `{spec: {suspend: true}, status: null}`), remove(w1, "Job/train"), remove(w1, "Pod/*"),
		patch(w1, workload, `{metadata: {ownerReferences: null, labels: {kueue.x-k8s.io/job-uid: null}}}`),
	}, more...)
}

// copied is the copy of the Workload on worker2.
func copied(status string) edit {
	return add(w2, `{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: job-train-1c348, namespace: default, uid: c2,
		creationTimestamp: "2026-11-20T23:43:18Z", labels: {kueue.x-k8s.io/multikueue-origin: multikueue}},
		spec: {active: true, priority: 0, queueName: user-queue, podSets: [{name: main, count: 2}]}, status: `+status+`}`)
}

// deleting is a deletion that waits for a finalizer.
func deleting(finalizer string) string {
	return `{metadata: {deletionTimestamp: "2026-11-20T23:43:38Z", finalizers: [` + finalizer + `]}}`
}

// pods are the mirror's Pods, none of which is ready.
func pods(status string) []edit {
	return []edit{
		patch(w1, "Pod/*", `{status: `+status+`}`), patch(w1, "Job/train", `{status: {ready: 0}}`), patch(mgr, "Job/train", `{status: {ready: 0}}`),
	}
}

func worker(status string) edit {
	return patch(mgr, "MultiKueueCluster/worker1", `{status: `+status+`}`)
}

func faultsOnManager() []faultCase {
	m := func(text string) []edit { return []edit{patch(mgr, workload, text)} }
	done := `{status: {active: 0, ready: 0, succeeded: 2, completionTime: "2026-11-20T23:43:40Z", conditions: [{type: Complete, status: "True", lastTransitionTime: "2026-11-20T23:43:40Z"}]}}`
	return []faultCase{
		{"the Workload is gone", "running", []edit{remove(mgr, workload)}, "JM131", "its Workload on kwok-mgr is gone"},
		{"the Workload is gone, and the origin still counts Pods", "running", countsGonePods(), "JM131", "creates none while its status counts 2 Pods as active"},
		{"Kueue says nothing of the Workload", "running", []edit{
			patch(mgr, workload, `{metadata: {managedFields: null}, status: null}`), patch(mgr, "Job/train", `{spec: {suspend: true}, status: null}`),
			remove(w1, "Job/train"), remove(w1, "Pod/*"), remove(w1, workload),
		}, "JM129", "Kueue on kwok-mgr has set no condition on its Workload"},
		{"its Workload waits for its evaluation", "running", offered(remove(w1, workload), patch(mgr, workload, `{metadata: {managedFields: null}, status: {admission: null, nominatedClusterNames: null, `+
			withConditions(unevaluated)+`}}`)), "JM129", "Kueue on kwok-mgr has not evaluated its Workload"},
		{"not admitted, though all checks are ready", "running", m(`{status: {` + withConditions(gotQuota) + `}}`), "JM129", "does not admit its Workload"},
		{"the Workload is being deleted", "running", m(deleting("kueue.x-k8s.io/resource-in-use")), "JM129", "does not remove its finalizer from the deleted Workload"},
		{"it lost its quota, and runs on", "running", m(`{status: {admission: null, ` + withConditions(noQuotaCondition) + `}}`), "JM130", "lost its quota"},
		{"it was preempted, and runs on", "running", m(`{status: {` + withConditions(gotQuota, condition("Evicted", "True", "Preempted", "")) + `}}`), "JM130", "Job default/train was evicted (Preempted)"},
		{"its Workload is deactivated, and runs on", "running", m(`{spec: {active: false}}`), "JM124 JM130", "its Workload was deactivated"},
		{"its check is retried, and it runs on", "running", m(`{status: {admissionChecks: [{name: multikueue, state: Retry, message: "Admitting remote lost", lastTransitionTime: "2026-11-20T23:43:38Z"}]}}`), "JM130", "withdrawn (Retry)"},
		{"its Workload has finished, and it runs on", "running", m(`{status: {` + withConditions(condition("Finished", "True", "Succeeded", "done")) + `}}`), "JM130", "has finished (Succeeded)"},
		{"it has ended, and its mirror runs on", "running", []edit{patch(mgr, "Job/train", done)}, "JM130", "Job default/train is Complete on kwok-mgr"},
		{"its mirror has ended, and it has not", "running", []edit{patch(w1, "Job/train", done), patch(w1, "Pod/*", `{status: {phase: Succeeded}}`)}, "JM110", "the origin still says Running"},
		{"its deletion hangs", "running", []edit{patch(mgr, "Job/train", deleting("example.com/x"))}, "JM111", "example.com/x"},
		{"its deletion waits for its Workload", "running", []edit{
			patch(mgr, "Job/train", deleting("foregroundDeletion")), patch(mgr, workload, deleting("kueue.x-k8s.io/resource-in-use")),
		}, "JM111 JM129", "which Kueue on kwok-mgr keeps"},
		{"it was created again", "running", []edit{patch(mgr, "Job/train", `{metadata: {uid: "0000"}, spec: {suspend: true}, status: null}`)}, "JM017 JM063", "an older Job"},
		{"its status is not copied", "running", []edit{patch(mgr, "Job/train", `{metadata: {managedFields: null}, status: null}`)}, "JM104", "does not copy its status"},
		{"the record of its worker is lost", "running", m(`{status: {clusterName: null, nominatedClusterNames: [worker1, worker2], ` + withConditions(gotQuota) + `, admissionChecks: [{name: multikueue, state: Pending, lastTransitionTime: "2026-11-20T23:43:18Z"}]}}`), "JM022", "has not recorded that"},
		{
			"MultiKueue has gone back to another worker", "running", append(m(`{status: {clusterName: worker2}}`),
				patch(mgr, "Job/train", `{status: {startTime: "2026-11-20T23:43:59Z"}}`)), "JM056", "only worker1 runs the Job, although MultiKueue gave it to worker2",
		},
		{"the MultiKueueConfig is gone", "running", []edit{remove(mgr, "MultiKueueConfig/fleet")}, "JM008", `MultiKueueConfig "fleet", which does not exist`},
		{"the AdmissionCheck is gone", "running", []edit{remove(mgr, "AdmissionCheck/multikueue")}, "JM008", "AdmissionCheck multikueue, which does not exist"},
		{"the MultiKueueCluster is gone", "running", []edit{remove(mgr, "MultiKueueCluster/worker1")}, "JM054", "no MultiKueueCluster of kwok-mgr points to kwok-w1"},
		{"an unconnected MultiKueueCluster", "running", []edit{worker("null")}, "JM008", "its status was never written"},
		{"the worker's certificate has expired", "running", []edit{worker(`{` + withConditions(condition("Active", "False", "ClientConnectionFailed", "x509: certificate has expired")) + `}`)}, "JM004", "it runs default/train; MultiKueue has not restarted the Job elsewhere, although workerLostTimeout ended"},
		{"the worker's Secret is gone", "running", []edit{
			remove(mgr, "Secret/worker1-secret"), worker(`{` + withConditions(condition("Active", "False", "BadKubeConfig", "load client config failed: Secret worker1-secret not found")) + `}`),
		}, "JM001", "Secret worker1-secret not found"},
		{"the origin is gone", "running", []edit{remove(mgr, "Job/train"), remove(mgr, workload)}, "JM053", "its origin on kwok-mgr is gone"},
		{"Kueue has stopped under load", "burst-1", nil, "JM049 JM132", "Kueue on kwok-mgr stopped: its last action was at 2026-11-22T04:43:53Z"},
		{"Kueue has stopped later", "burst-3", nil, "JM049 JM122 JM132", "Kueue on kwok-mgr stopped"},
	}
}

// notResumed are edits of a fleet whose worker has admitted a Workload, and has not resumed the mirror.
func notResumed() []edit {
	return []edit{
		patch(w1, "Job/train", `{spec: {suspend: true}, status: {active: 0, ready: 0, startTime: null, `+withConditions(condition("Suspended", "True", "JobSuspended", ""))+`}}`),
		remove(w1, "Pod/*"), patch(mgr, "Job/train", `{status: {active: 0, ready: 0}}`),
	}
}

func faultsOnWorkers() []faultCase {
	none := `{admission: null, ` + withConditions(condition("QuotaReserved", "False", "ExceedsMaxQuota",
		"couldn't assign flavors to pod set main: insufficient quota for cpu in flavor default-flavor, previously considered podsets requests (0) + current podset request (2) > maximum capacity (0)")) + `}`
	inactive := `{admission: null, ` + withConditions(condition("QuotaReserved", "False", "Suspended", "ClusterQueue cluster-queue is inactive")) + `}`
	noFlavor := `{status: {` + withConditions(condition("Active", "False", "FlavorNotFound", "references missing ResourceFlavor(s): default-flavor")) + `}}`
	c := func(status string) edit { return patch(w1, workload, `{status: `+status+`}`) }
	return []faultCase{
		{"the copy is gone", "running", []edit{remove(w1, workload)}, "JM131", "the copy of its Workload on worker1 (kwok-w1) is gone"},
		{"the mirror is gone", "running", []edit{remove(w1, "Job/train"), remove(w1, "Pod/*")}, "JM105", "there is no such Job on kwok-w1"},
		{"its pods are gone", "running", []edit{remove(w1, "Pod/*")}, "JM131", "counts 2 as active"},
		{"it was started, and has no pods", "running", []edit{
			patch(w1, "Job/train", `{status: {active: 0, ready: 0}}`), remove(w1, "Pod/*"), patch(mgr, "Job/train", `{status: {active: 0, ready: 0}}`),
		}, "JM131", "it was started at 2026-11-20T23:43:19Z"},
		{"the copy is being deleted", "running", []edit{patch(w1, workload, deleting("kueue.x-k8s.io/resource-in-use"))}, "JM129", "Kueue on kwok-w1 does not remove its finalizer"},
		{"the mirror's deletion hangs", "running", []edit{patch(w1, "Job/train", deleting("example.com/x"))}, "JM111", "example.com/x"},
		{"the copy was deactivated", "running", []edit{patch(w1, workload, `{spec: {active: false}}`)}, "JM124", "a user deactivated its Workload"},
		{"the mirror is not resumed", "running", notResumed(), "JM129", "admitted it, but does not resume its mirror"},
		{"the copy is not admitted", "running", offered(c(`{`+withConditions(gotQuota)+`}`), copied(`{`+withConditions(noQuotaCondition)+`}`)), "JM129", "does not admit the copy"},
		{"a check of the worker's own", "running", offered(
			c(`{`+withConditions(gotQuota)+`, admissionChecks: [{name: prov, state: Pending, lastTransitionTime: "2026-11-20T23:43:20Z"}]}`), copied(`{`+withConditions(noQuotaCondition)+`}`),
		), "JM030", "on kwok-w1, but AdmissionCheck prov has not passed"},
		{"copies that no controller processes", "running", offered(c("null"), patch(w1, workload, `{metadata: {managedFields: null}}`), copied("{}")), "JM031", "has not processed new Workloads"},
		{"copies wait for their evaluation", "running", offered(c(`{`+withConditions(unevaluated)+`}`), patch(w1, workload, `{metadata: {managedFields: null}}`),
			copied(`{`+withConditions(unevaluated)+`}`)), "JM031", "has not evaluated Workloads"},
		{"no worker has quota", "running", offered(c(none), copied(none)), "JM029", "needs 2 cpu, limit 0"},
		{"the flavor is missing on the workers", "running", offered(c(inactive), copied(inactive),
			patch(w1, "ClusterQueue/cluster-queue", noFlavor), patch(w2, "ClusterQueue/cluster-queue", noFlavor)), "JM027", "FlavorNotFound"},
		{"no nominations", "running", offered(patch(mgr, workload, `{status: {nominatedClusterNames: null}}`), remove(w1, workload)), "JM021", "no clusters are nominated"},
		{"no copies are created", "running", offered(remove(w1, workload)), "JM025", "have no copy of the Workload"},
		{"the namespace is missing", "running", offered(remove(w1, workload), remove(w1, "Namespace/default")), "JM024 JM025", "does not exist on kwok-w1"},
		{"the namespace is being deleted", "running", offered(remove(w1, workload), patch(w1, "Namespace/default", `{status: {phase: Terminating}}`)), "JM024 JM025", "is being deleted on kwok-w1"},
		{"mirrors are refused", "running", offered(c(`{` + withConditions(gotQuota, gotAdmitted) + `}`)), "JM035", "but MultiKueue created no mirror"},
		{"the Job controller is stopped", "running", []edit{
			patch(w1, "Job/train", `{metadata: {managedFields: null}, status: null}`), remove(w1, "Pod/*"), patch(mgr, "Job/train", `{status: null}`),
		}, "JM121", "no controller on kwok-w1 picks up its mirror"},
		{"the scheduler is stopped", "running", append(pods(`{phase: Pending, conditions: null, containerStatuses: null, startTime: null}`), patch(w1, "Pod/*", `{spec: {nodeName: null}}`)), "JM122", "the scheduler on kwok-w1"},
		{"a kubelet that is stopped", "running", pods(`{phase: Pending, containerStatuses: null, startTime: null, ` + withConditions(condition("PodScheduled", "True", "Scheduled", "")) + `}`), "JM122", "the kubelet of node"},
		{"its containers are never made", "starting", nil, "JM049", "not started, without a stated reason"},
		{"the worker's clock is ahead", "running", []edit{skewed(w1, 600)}, "JM113", "the clock of kwok-w1 is 600s ahead of that of kwok-mgr"},
		{"the worker's clock is behind", "running", []edit{skewed(w1, -600)}, "JM113", "the clock of kwok-w1 is 599s behind that of kwok-mgr"},
	}
}

// healthyWithLess are healthy fleets in which less and less is readable.
func healthyWithLess() []faultCase {
	var all []faultCase
	var kueues []edit
	for _, resource := range []string{"workloads", "localqueues", "clusterqueues", "admissionchecks", "multikueueconfigs", "multikueueclusters"} {
		kueues = append(kueues, forbidden(mgr, resource+".kueue.x-k8s.io"), forbidden(w1, resource+".kueue.x-k8s.io"))
	}
	for name, edits := range map[string][]edit{
		"everything": nil, "no Workloads": {kueues[0], kueues[1]}, "no Workloads on the manager": {kueues[0]}, "no Workloads on the worker": {kueues[1]},
		"nothing of Kueue's": kueues, "no events": {forbidden(mgr, "events"), forbidden(w1, "events"), forbidden(w2, "events")},
		"no Jobs on the worker": {forbidden(w1, "jobs.batch")}, "no pods": {forbidden(w1, "pods")},
		"no Secrets and no namespaces": {forbidden(mgr, "secrets"), forbidden(mgr, "namespaces"), forbidden(w1, "namespaces"), forbidden(w2, "namespaces")},
		"a worker is out of reach":     {unreachable(w2)},
	} {
		all = append(all, faultCase{name: "well, seeing " + name, base: "running", edits: edits})
	}
	return all
}

// shortfallCases are the cases of JM133 to JM135. The Workload of no-quota-on-workers
// holds 2 cpu of its manager's queue.
func shortfallCases() []testCase {
	const queue = "ClusterQueue/cluster-queue"
	quota := func(worker, resources string) edit {
		return patch(worker, queue, `{spec: {resourceGroups: [{coveredResources: [x], flavors: [{name: default-flavor, resources: [`+resources+`]}]}]}}`)
	}
	onlyMemory := "{name: memory, nominalQuota: 1Gi}"
	return []testCase{
		{name: "more than any worker has", code: "JM133", base: recordedNoQuota, fires: true},
		{name: "not more than both have together, but than each", code: "JM133", base: recordedNoQuota, fires: true, edits: []edit{quota("kwok-w1", "{name: cpu, nominalQuota: 1500m}")}},
		{name: "in two flavors together", code: "JM133", base: recordedNoQuota, edits: []edit{patch("kwok-w1", queue, `{spec: {resourceGroups: [{coveredResources: [cpu], flavors: [
			{name: a, resources: [{name: cpu, nominalQuota: 1}]}, {name: b, resources: [{name: cpu, nominalQuota: 1}]}]}]}}`)}},
		{name: "it may borrow", code: "JM133", base: recordedNoQuota, edits: []edit{patch("kwok-w1", queue, `{spec: {cohortName: team}}`)}},
		{name: "a worker cannot be read", code: "JM133", base: recordedNoQuota, edits: []edit{unreachable("kwok-w2")}},
		{name: "nor its queues", code: "JM133", base: recordedNoQuota, edits: []edit{forbidden("kwok-w2", "clusterqueues.kueue.x-k8s.io")}},
		{name: "a worker has as much in a stopped queue", code: "JM133", base: recordedNoQuota, edits: []edit{quota("kwok-w1", "{name: cpu, nominalQuota: 2}"), patch("kwok-w1", queue, stoppedQueue)}},
		{name: "a worker lacks the LocalQueue", code: "JM133", base: recordedNoQuota, edits: []edit{remove("kwok-w2", "LocalQueue/*")}},
		{name: "a worker lacks the ClusterQueue", code: "JM133", base: recordedNoQuota, edits: []edit{remove("kwok-w2", queue)}},
		{name: "one lacks it, and another lacks the LocalQueue", code: "JM134", base: recordedNoQuota, edits: []edit{quota("kwok-w1", onlyMemory), remove("kwok-w2", "LocalQueue/*")}},
		{name: "others wait, and it would fit", code: "JM133", base: "strict-fifo-head-blocks"},
		{name: "no queue has quota", code: "JM134", base: recordedNoQuota, fires: true, edits: []edit{quota("kwok-w1", onlyMemory), quota("kwok-w2", onlyMemory)}},
		{name: "a worker that it was offered to is out of reach", code: "JM135", base: recordedNoQuota, fires: true, edits: []edit{unreachable("kwok-w2")}},
		{name: "both workers were read", code: "JM135", base: recordedNoQuota},
		{name: "the queues of a silent worker may not be read", code: "JM135", base: recordedKueueDown, fires: true, edits: []edit{
			forbidden("kwok-w2", "clusterqueues.kueue.x-k8s.io"),
		}},
		{name: "the Workloads of a worker may not be read", code: "JM135", base: "localqueue-missing-on-workers", fires: true, edits: []edit{
			forbidden("kwok-w2", "workloads.kueue.x-k8s.io"), remove("kwok-w2", "Workload/*"),
		}},
		{name: "a worker runs it, and another is out of reach", code: "JM135", base: "running", edits: []edit{unreachable("kwok-w2")}},
		{name: "one has some", code: "JM134", base: recordedNoQuota, edits: []edit{quota("kwok-w1", onlyMemory)}},
		{
			name: "what asks for it runs all the same", code: "JM134", base: "running",
			edits: []edit{quota("kwok-w1", onlyMemory), quota("kwok-w2", onlyMemory)},
		},
	}
}

// countsGonePods removes the Workload and the mirror of a Job whose status still counts Pods.
func countsGonePods() []edit {
	return []edit{remove(mgr, workload), remove(w1, workload), remove(w1, "Job/train"), remove(w1, "Pod/*"), patch(mgr, "Job/train", `{spec: {suspend: true}}`)}
}

// inBackoff is a Workload whose Pods were not ready in time, and that Kueue queues again at a time.
func inBackoff(until string) []edit {
	evicted := withConditions(condition("QuotaReserved", "False", "PendingEvaluation", "Exceeded the PodsReady timeout"),
		condition("Evicted", "True", "PodsReadyTimeout", "Exceeded the PodsReady timeout"), condition("Requeued", "False", "PodsReadyTimeout", ""))
	return []edit{
		patch(mgr, workload, `{status: {admission: null, clusterName: null, admissionChecks: null, requeueState: {count: 4, requeueAt: "`+until+`"}, `+evicted+`}}`),
		patch(mgr, "Job/train", `{spec: {suspend: true}, status: null}`), remove(w1, "Job/train"), remove(w1, "Pod/*"), remove(w1, workload),
	}
}

// stepCases are the cases of the rules about missing steps.
func stepCases() []testCase {
	const stopped = `{status: {active: 0, ready: 0}}`
	over := patch(mgr, workload, `{status: {`+withConditions(gotQuota, condition("Evicted", "True", "Preempted", ""))+`}}`)
	return []testCase{
		{name: "the Workload is being deleted", code: "JM129", base: "running", fires: true, edits: []edit{patch(mgr, workload, deleting("kueue.x-k8s.io/resource-in-use"))}},
		{name: "another controller gates the Workload", code: "JM129", base: "running", edits: []edit{patch(mgr, workload, deleting("example.com/x"))}},
		{name: "a topology is still to come", code: "JM129", base: "running", edits: []edit{
			patch(mgr, workload, `{status: {`+withConditions(gotQuota, condition("Admitted", "False", "PendingDelayedTopologyRequests", ""))+`}}`),
		}},
		{name: "its backoff has ended", code: "JM129", base: "running", fires: true, edits: inBackoff("2026-11-20T23:43:20Z")},
		{name: "its backoff lasts", code: "JM129", base: "running", edits: inBackoff("2026-11-21T23:43:20Z")},
		{name: "it runs", code: "JM129", base: "running"},
		{name: "behind another one", code: "JM129", base: "strict-fifo-head-blocks"},
		{name: "preempted", code: "JM130", base: "running", fires: true, edits: []edit{over}},
		{name: "preempted, and stopped", code: "JM130", base: "running", edits: []edit{over, patch(w1, "Job/train", `{spec: {suspend: true}, status: {active: 0}}`)}},
		{name: "preempted, and out of reach", code: "JM130", base: "running", edits: []edit{
			over, worker(`{` + withConditions(condition("Active", "False", "ClientConnectionFailed", "connection refused")) + `}`),
		}},
		{name: "preempted, and its cluster has left the config", code: "JM130", base: "running", edits: []edit{
			over, patch(mgr, "MultiKueueConfig/fleet", `{spec: {clusters: [worker2]}}`),
		}},
		{name: "it runs by right", code: "JM130", base: "running"},
		{name: "it ran again, and the queue has lost its check", code: "JM048", base: recordedRunning, edits: append(checkLost(),
			conditions(mgr, workload, isReserved, isAdmitted, wasGone))},
		{name: "the copy is gone", code: "JM131", base: "running", fires: true, edits: []edit{remove(w1, workload)}},
		{name: "the Workload is gone, and the origin still counts Pods", code: "JM131", base: "running", fires: true, edits: countsGonePods()},
		{name: "its pods may not be seen", code: "JM131", base: "running", edits: []edit{remove(w1, "Pod/*"), forbidden(w1, "pods")}},
		{name: "its pods have ended", code: "JM131", base: "running", edits: []edit{remove(w1, "Pod/*"), patch(w1, "Job/train", `{status: {active: 0, succeeded: 1}}`)}},
		{name: "it wants no pods", code: "JM131", base: "running", edits: []edit{remove(w1, "Pod/*"), patch(w1, "Job/train", stopped), patch(w1, "Job/train", `{spec: {parallelism: 0}}`)}},
		{name: "Workloads may not be seen", code: "JM131", base: "running", edits: []edit{
			remove(mgr, workload), remove(w1, workload), forbidden(mgr, "workloads.kueue.x-k8s.io"), forbidden(w1, "workloads.kueue.x-k8s.io"),
		}},
		{name: "the only one there is", code: "JM132", base: "running", edits: []edit{patch(mgr, workload, deleting("kueue.x-k8s.io/resource-in-use"))}},
		{name: "at work", code: "JM132", base: "burst-1"},
		{name: "stopped", code: "JM132", base: "burst-1", fires: true, later: time.Hour},
	}
}

// setLater makes a snapshot be read after some time.
func setLater(t *testing.T, dir string, by time.Duration) {
	t.Helper()
	path := filepath.Join(dir, "snapshot.yaml")
	text, err := os.ReadFile(path)
	assert.NilError(t, err)
	var snapshot struct {
		TakenAt time.Time `json:"takenAt"`
	}
	assert.NilError(t, json.Unmarshal(text, &snapshot))
	changed := strings.Replace(string(text), snapshot.TakenAt.Format(time.RFC3339), snapshot.TakenAt.Add(by).Format(time.RFC3339), 1)
	assert.Assert(t, changed != string(text))
	assert.NilError(t, os.WriteFile(path, []byte(changed), 0o600))
}

// TestSickVariations breaks each step of a Job's chain in a way that no
// recording shows. check must report what a user needs and no more, trace
// must report the same, and a healthy fleet must have no finding, whatever is
// readable.
func TestSickVariations(t *testing.T) {
	for _, s := range append(append(faultsOnManager(), faultsOnWorkers()...), healthyWithLess()...) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			dir := testCase{base: s.base, edits: s.edits, later: time.Hour}.bundle(t)
			o := open(t, dir)
			findings := judge(t, o.inventory(t), rules.All(), 5*time.Minute)
			assert.Equal(t, strings.Join(codesOf(findings), " "), s.codes, "%s", linesOf(findings))
			assert.Assert(t, strings.Contains(linesOf(findings), s.says), "%q is missing in\n%s", s.says, linesOf(findings))
			if strings.HasPrefix(s.base, "burst") {
				return
			}
			v := o.traced(t, "", "train")
			for _, p := range v.Subjects() {
				trace := chain.Trace(v, p)
				if rules.DependsOnOthers(v, []inspect.Trace{*trace}) {
					v = read.Read(t.Context(), o.fleet, read.Want{Jobs: (read.Wanted{Name: "train", Namespace: "default"}).Around(), Evidence: true, Known: v, Addresses: o.addresses, Now: o.takenAt})
				}
				for _, code := range codesOf(rules.Judge(v, rules.All(), rules.Options{Grace: 5 * time.Minute}).About(trace)) {
					assert.Assert(t, strings.Contains(s.codes, code), "trace reports %s, but check reports %s", code, s.codes)
				}
			}
		})
	}
}
