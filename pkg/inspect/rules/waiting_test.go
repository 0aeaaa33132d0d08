package rules_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

func waitingCases() []testCase {
	return slices.Concat(
		managerQueueCases(), managerQuotaCases(), otherCheckCases(), nominationCases(), notRecordedCases(), nominatedPartCases(),
		noCopyCases(), workerQueueCases(), workerQuotaCases(), workerCheckCases(), kueueDownCases(), gatedCases(), otherHoldCases(),
	)
}

// The Workload of no-quota-on-workers, on which most cases here are based,
// and that of kueue-down-on-workers.
const (
	recordedNoQuota   = "no-quota-on-workers"
	waitingWorkload   = "Workload/job-train-aa7b6"
	recordedKueueDown = "kueue-down-on-workers"
	untouchedWorkload = "Workload/job-train-4d173"
)

// withoutQuota is a Workload's status without quota, for a reason.
func withoutQuota(reason, message string) string {
	return fmt.Sprintf(`{status: {admission: null, conditions: [
		{type: QuotaReserved, status: "False", reason: %s, message: %q, lastTransitionTime: "2026-11-20T23:24:45Z"}]}}`, reason, message)
}

// backInQueue removes the quota on the management cluster.
func backInQueue(reason, message string) edit {
	e := patch("kwok-mgr", waitingWorkload, withoutQuota(reason, message))
	e.patch = strings.Replace(e.patch, "admission: null", "admission: null, admissionChecks: null, nominatedClusterNames: null", 1)
	return e
}

func onWorkers(reason, message string) []edit {
	return []edit{patch("kwok-w1", waitingWorkload, withoutQuota(reason, message)), patch("kwok-w2", waitingWorkload, withoutQuota(reason, message))}
}

const stoppedQueue = `{spec: {stopPolicy: Hold}, status: {conditions: [
	{type: Active, status: "False", reason: Stopped, message: "Can't admit new workloads: is stopped", lastTransitionTime: "2026-11-20T23:24:40Z"}]}}`

const admittedCopy = `{status: {conditions: [
	{type: QuotaReserved, status: "True", reason: QuotaReserved, message: "", lastTransitionTime: "2026-11-20T23:24:46Z"},
	{type: Admitted, status: "True", reason: Admitted, message: "", lastTransitionTime: "2026-11-20T23:24:46Z"}]}}`

func managerQueueCases() []testCase {
	const inactive = "ClusterQueue cluster-queue is inactive"
	anotherQueue := func(clusterQueue string) []edit {
		return []edit{
			patch("kwok-mgr", "Job/train", `{metadata: {labels: {kueue.x-k8s.io/queue-name: local}}}`),
			patch("kwok-mgr", "Workload/job-train-6a5f2", `{spec: {queueName: local}}`),
			patch("kwok-mgr", "Workload/job-train-6a5f2", withoutQuota("ExceedsMaxQuota", "couldn't assign flavors")),
			add("kwok-mgr", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: local, namespace: default}, spec: {clusterQueue: `+clusterQueue+`}}`),
			add("kwok-mgr", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: plain}, spec: {namespaceSelector: {}}}`),
		}
	}
	return []testCase{
		{name: "no such queue", code: "JM019", base: "wrong-queue", fires: true},
		{
			name: "no such queue, for a user who may not read ClusterQueues", code: "JM019", base: "wrong-queue", fires: true,
			edits: []edit{forbidden("kwok-mgr", "clusterqueues.kueue.x-k8s.io")},
		},
		{
			name: "no such queue, for a user who may read no queues", code: "JM019", base: "wrong-queue",
			edits: []edit{forbidden("kwok-mgr", "clusterqueues.kueue.x-k8s.io"), forbidden("kwok-mgr", "localqueues.kueue.x-k8s.io")},
		},
		{
			name: "no such queue, before Kueue 0.19", code: "JM019", base: "wrong-queue", fires: true,
			edits: []edit{patch("kwok-mgr", "Workload/job-train-6a5f2", withoutQuota("Inadmissible", "LocalQueue no-such-queue doesn't exist"))},
		},
		{
			name: "the queue was just created", code: "JM019", base: "wrong-queue",
			edits: []edit{add("kwok-mgr", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: no-such-queue, namespace: default}, spec: {clusterQueue: cluster-queue}}`)},
		},
		{
			name: "no such queue, and the Job is being deleted", code: "JM019", base: "wrong-queue",
			edits: []edit{patch("kwok-mgr", "Job/train", `{metadata: {deletionTimestamp: "2026-11-20T23:24:28Z", finalizers: [example.com/wait]}}`)},
		},
		{name: "a queue of MultiKueue's", code: "JM019", base: "wrong-queue", fires: true, edits: anotherQueue("cluster-queue")},
		{name: "a queue that is none of MultiKueue's", code: "JM019", base: "wrong-queue", edits: anotherQueue("plain")},
		{
			name: "no such ClusterQueue", code: "JM019", base: recordedNoQuota, fires: true,
			edits: []edit{backInQueue("Misconfigured", "ClusterQueue cluster-queue doesn't exist"), remove("kwok-mgr", "ClusterQueue/cluster-queue")},
		},
		{
			name: "stopped", code: "JM019", base: recordedNoQuota, fires: true,
			edits: []edit{backInQueue("Suspended", inactive), patch("kwok-mgr", "ClusterQueue/cluster-queue", stoppedQueue)},
		},
		{
			name: "the LocalQueue is stopped", code: "JM019", base: recordedNoQuota, fires: true,
			edits: []edit{
				backInQueue("Suspended", "LocalQueue user-queue is inactive"),
				patch("kwok-mgr", "LocalQueue/default/user-queue", `{spec: {stopPolicy: HoldAndDrain}}`),
			},
		},
		{name: "started again", code: "JM019", base: recordedNoQuota, edits: []edit{backInQueue("Suspended", inactive)}},
		{
			name: "inactive for want of a flavor", code: "JM019", base: recordedNoQuota, fires: true,
			edits: []edit{backInQueue("Suspended", inactive), patch("kwok-mgr", "ClusterQueue/cluster-queue", strings.NewReplacer("Hold", "None", "Stopped", "FlavorNotFound").Replace(stoppedQueue))},
		},
		{
			name: "inactive for its check, reported by JM008", code: "JM019", base: recordedNoQuota,
			edits: []edit{backInQueue("Suspended", inactive), patch("kwok-mgr", "ClusterQueue/cluster-queue", strings.NewReplacer("Hold", "None", "Stopped", "AdmissionCheckInactive").Replace(stoppedQueue))},
		},
		{
			name: "the namespace is excluded", code: "JM019", base: recordedNoQuota, fires: true,
			edits: []edit{
				backInQueue("Pending", "Workload namespace doesn't match ClusterQueue selector"),
				patch("kwok-mgr", "ClusterQueue/cluster-queue", `{spec: {namespaceSelector: {matchLabels: {team: a}}}}`),
			},
		},
	}
}

func managerQuotaCases() []testCase {
	tooBig := backInQueue("ExceedsMaxQuota", "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor default-flavor")
	return []testCase{
		{name: "too big", code: "JM019", base: recordedNoQuota, fires: true, edits: []edit{tooBig}},
		{
			name: "too big, before Kueue 0.19", code: "JM019", base: recordedNoQuota, fires: true,
			edits: []edit{backInQueue("Pending", "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor f, request > maximum capacity (2 > 1)")},
		},
		{
			name: "waits for quota", code: "JM019", base: recordedNoQuota, fires: true,
			edits: []edit{backInQueue("WaitingForQuota", "insufficient unused quota for cpu in flavor default-flavor, 1 more needed")},
		},
		{
			name: "another mistake", code: "JM019", base: recordedNoQuota, fires: true,
			edits: []edit{backInQueue("Misconfigured", "resources validation failed")},
		},
		{name: "not looked at yet", code: "JM019", base: recordedNoQuota, edits: []edit{backInQueue("PendingEvaluation", "")}},
		{name: "gated by another controller", code: "JM019", base: recordedNoQuota, fires: true, edits: []edit{backInQueue("AdmissionGated", "Admission is gated by: example.com/gate")}},
		{name: "too big, and deactivated", code: "JM019", base: recordedNoQuota, edits: []edit{tooBig, patch("kwok-mgr", waitingWorkload, `{spec: {active: false}}`)}},
		{
			name: "a bigger size of what runs", code: "JM019", base: recordedNoQuota,
			edits: []edit{tooBig, patch("kwok-mgr", "Job/train", `{metadata: {annotations: {kueue.x-k8s.io/elastic-job: "true"}}, spec: {suspend: false},
				status: {startTime: "2026-11-20T23:24:30Z", active: 2, ready: 2, conditions: []}}`)},
		},
		{name: "managedBy was missing", code: "JM019", base: "managed-by-missing"},
	}
}

// noNomination is the state in which no cluster is nominated, with these
// other checks.
func noNomination(others string) []edit {
	return []edit{
		patch("kwok-mgr", waitingWorkload, `{status: {nominatedClusterNames: null, admissionChecks: [
			{name: multikueue, state: Pending, message: "", lastTransitionTime: "2026-11-20T23:24:44Z"}`+others+`]}}`),
		remove("kwok-w1", waitingWorkload), remove("kwok-w2", waitingWorkload),
	}
}

func otherCheckCases() []testCase {
	approval := func(state string) []edit {
		return append(noNomination(`, {name: approval, state: `+state+`, message: "ask the boss", lastTransitionTime: "2026-11-20T23:24:44Z"}`),
			add("kwok-mgr", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: AdmissionCheck, metadata: {name: approval}, spec: {controllerName: example.com/approval},
				status: {conditions: [{type: Active, status: "True", reason: Active, message: "", lastTransitionTime: "2026-11-20T23:24:40Z"}]}}`))
	}
	return []testCase{
		{name: "pending", code: "JM020", base: recordedNoQuota, fires: true, edits: approval("Pending")},
		{name: "asks for a later attempt", code: "JM020", base: recordedNoQuota, fires: true, edits: approval("Retry")},
		{name: "another check asks for a later attempt", code: "JM021", base: recordedNoQuota, edits: approval("Retry")},
		{name: "rejects it", code: "JM020", base: recordedNoQuota, edits: approval("Rejected")},
		{name: "ready", code: "JM020", base: recordedNoQuota, edits: approval("Ready")},
		{
			name: "it does not exist", code: "JM020", base: recordedNoQuota, fires: true,
			edits: append(approval("Pending"), remove("kwok-mgr", "AdmissionCheck/approval")),
		},
		{name: "none but MultiKueue's", code: "JM020", base: recordedNoQuota, edits: noNomination("")},
		{name: "pending, reported by another rule", code: "JM021", base: recordedNoQuota, edits: approval("Pending")},
	}
}

func nominationCases() []testCase {
	down := func(context, cluster string) edit {
		return patch(context, "MultiKueueCluster/"+cluster, `{status: {conditions: [
			{type: Active, status: "False", reason: ClientConnectionFailed, message: "connection refused", lastTransitionTime: "2026-11-20T23:24:40Z"}]}}`)
	}
	bothDown := []edit{down("kwok-mgr", "worker1"), down("kwok-mgr", "worker2")}
	noCopies := []edit{remove("kwok-w1", waitingWorkload), remove("kwok-w2", waitingWorkload)}
	return []testCase{
		{name: "no nominations", code: "JM021", base: recordedNoQuota, fires: true, edits: noNomination("")},
		{name: "nominated", code: "JM021", base: recordedNoQuota},
		{name: "there is no usable cluster", code: "JM021", base: recordedNoQuota, edits: append(noNomination(""), bothDown...)},
		{
			name: "before Kueue 0.13, which wrote no nominations", code: "JM021", base: recordedNoQuota,
			edits: []edit{patch("kwok-mgr", waitingWorkload, `{status: {nominatedClusterNames: null}}`)},
		},
		{
			name: "evicted, and not back yet", code: "JM021", base: recordedNoQuota,
			edits: append(noNomination(""), patch("kwok-mgr", waitingWorkload, `{status: {conditions: [
				{type: QuotaReserved, status: "True", reason: QuotaReserved, message: "", lastTransitionTime: "2026-11-20T23:24:44Z"},
				{type: Evicted, status: "True", reason: AdmissionCheck, message: "", lastTransitionTime: "2026-11-20T23:24:45Z"}]}}`)),
		},
		{name: "running", code: "JM021", base: "running"},
		{name: "all are down", code: "JM023", base: recordedNoQuota, fires: true, edits: slices.Concat(bothDown, noCopies)},
		{name: "one is down", code: "JM023", base: recordedNoQuota, edits: append([]edit{bothDown[0]}, noCopies...)},
		{name: "it runs on one that is down", code: "JM023", base: "worker-lost"},
	}
}

func notRecordedCases() []testCase {
	mirror := add("kwok-w1", `{apiVersion: batch/v1, kind: Job, metadata: {name: train, namespace: default, uid: 11111111-2222-3333-4444-555555555555,
		creationTimestamp: "2026-11-20T23:24:46Z", labels: {kueue.x-k8s.io/multikueue-origin: multikueue, kueue.x-k8s.io/queue-name: user-queue},
		annotations: {kueue.x-k8s.io/prebuilt-workload-name: job-train-aa7b6}}, spec: {parallelism: 2, completions: 2, suspend: false},
		status: {active: 2, ready: 2, startTime: "2026-11-20T23:24:46Z"}}`)
	dispatcher := patch("kwok-mgr", waitingWorkload, `{metadata: {managedFields: [{manager: my-dispatcher, operation: Apply, apiVersion: kueue.x-k8s.io/v1beta2,
		fieldsType: FieldsV1, subresource: status, fieldsV1: {"f:status": {"f:nominatedClusterNames": {}}}}]}}`)
	return []testCase{
		{
			name: "its mirror runs", code: "JM022", base: recordedNoQuota, fires: true, later: 5 * time.Second,
			edits: []edit{patch("kwok-w1", waitingWorkload, admittedCopy), mirror, dispatcher},
		},
		{name: "admitted without a mirror, reported by JM035", code: "JM022", base: recordedNoQuota, edits: []edit{patch("kwok-w1", waitingWorkload, admittedCopy)}},
		{name: "a foreign Job, reported by JM034", code: "JM022", base: "same-name-on-workers"},
		{name: "out of sync, reported by JM037", code: "JM022", base: "mirror-mutated-on-worker"},
		{
			name: "another manager's mirror, reported by JM034", code: "JM022", base: recordedNoQuota,
			edits: []edit{patch("kwok-w1", waitingWorkload, admittedCopy), mirror, patch("kwok-w1", "Job/train", `{metadata: {labels: {kueue.x-k8s.io/multikueue-origin: another}}}`)},
		},
		{name: "recorded", code: "JM022", base: "running"},
	}
}

func nominatedPartCases() []testCase {
	one := []edit{patch("kwok-mgr", waitingWorkload, `{status: {nominatedClusterNames: [worker1]}}`), remove("kwok-w2", waitingWorkload)}
	return []testCase{
		{name: "one of two", code: "JM032", base: recordedNoQuota, fires: true, edits: one},
		{name: "both", code: "JM032", base: recordedNoQuota},
		{
			name: "the other one is not configured", code: "JM032", base: recordedNoQuota,
			edits: append(one, patch("kwok-mgr", "MultiKueueConfig/fleet", `{spec: {clusters: [worker1]}}`)),
		},
		{name: "the one has admitted it", code: "JM032", base: recordedNoQuota, edits: append(one, patch("kwok-w1", waitingWorkload, admittedCopy))},
	}
}

// TestWaitingFindings checks how findings with one cause are reported.
func TestWaitingFindings(t *testing.T) {
	moved, both := missingNamespaces()
	const again = ", then delete Job default/train, and create it again"
	const namesQueue = `{metadata: {labels: {kueue.x-k8s.io/queue-name: user-queue}}}`
	cases := map[string]struct {
		testCase
		severity inspect.Severity
		object   string
		message  string
		remedy   string
		findings int
	}{
		"a queue that does not exist": {
			testCase: testCase{code: "JM019", base: "wrong-queue"}, severity: inspect.Error, findings: 1,
			object: "kwok-mgr LocalQueue default/no-such-queue", message: "LocalQueue default/no-such-queue does not exist on kwok-mgr",
			remedy: "recreate Job default/train in LocalQueue user-queue: " + quoted("kubectl jobs-managedby recreate train -n default --context kwok-mgr --managed-by kueue.x-k8s.io/multikueue --queue user-queue"),
		},
		"a queue whose name has a typo": {
			testCase: testCase{code: "JM019", base: "wrong-queue", edits: []edit{
				add("kwok-mgr", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: no-such-quue, namespace: default}, spec: {clusterQueue: cluster-queue}}`),
				add("kwok-mgr", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: no-such-queues, namespace: default}, spec: {clusterQueue: cluster-queue, stopPolicy: Hold}}`),
			}}, severity: inspect.Error, findings: 1,
			object: "kwok-mgr LocalQueue default/no-such-queue", message: "LocalQueue default/no-such-queue does not exist on kwok-mgr; did you mean no-such-quue?",
			remedy: "recreate Job default/train in LocalQueue no-such-quue: " + quoted("kubectl jobs-managedby recreate train -n default --context kwok-mgr --managed-by kueue.x-k8s.io/multikueue --queue no-such-quue"),
		},
		"a LocalQueue that two workers lack": {
			testCase: testCase{code: "JM026", base: "localqueue-missing-on-workers"}, severity: inspect.Error, findings: 1,
			object:  "kwok-w1 LocalQueue default/user-queue",
			message: "LocalQueue default/user-queue does not exist on kwok-w1 and kwok-w2, and no other worker can admit the Job",
			remedy: "create LocalQueue default/user-queue on kwok-w1: " + quoted(`printf '%s\n' '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"LocalQueue","metadata":{"name":"user-queue","namespace":"default"},"spec":{"clusterQueue":"cluster-queue"}}' | kubectl --context kwok-w1 create -f -`) + "; or create LocalQueue default/user-queue on kwok-w2: " +
				quoted(`printf '%s\n' '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"LocalQueue","metadata":{"name":"user-queue","namespace":"default"},"spec":{"clusterQueue":"cluster-queue"}}' | kubectl --context kwok-w2 create -f -`),
		},
		"a queue that is stopped on one of two": {
			testCase: testCase{code: "JM027", base: recordedNoQuota, edits: []edit{
				patch("kwok-w1", waitingWorkload, withoutQuota("Suspended", "ClusterQueue cluster-queue is inactive")),
				patch("kwok-w1", "ClusterQueue/cluster-queue", stoppedQueue), patch("kwok-w2", waitingWorkload, withoutQuota("WaitingForQuota", "")),
			}},
			severity: inspect.Warning, findings: 1, object: "kwok-w1 ClusterQueue cluster-queue",
			message: "ClusterQueue cluster-queue is stopped on kwok-w1",
			remedy:  "if its maintenance is over, resume ClusterQueue cluster-queue on kwok-w1: " + quoted(`kubectl --context kwok-w1 patch clusterqueues.kueue.x-k8s.io cluster-queue --type merge -p '{"spec":{"stopPolicy":"None"}}'`),
		},
		"a namespace that does not match": {
			testCase: testCase{code: "JM028", base: recordedNoQuota, edits: append(onWorkers("Misconfigured", "Workload namespace doesn't match ClusterQueue selector"),
				patch("kwok-w1", "ClusterQueue/cluster-queue", `{spec: {namespaceSelector: {matchLabels: {team: a}}}}`),
				patch("kwok-w2", "ClusterQueue/cluster-queue", `{spec: {namespaceSelector: null}}`))},
			severity: inspect.Error, findings: 1, object: "kwok-w1 ClusterQueue cluster-queue",
			message: "ClusterQueue cluster-queue excludes namespace default (namespaceSelector) on kwok-w1 and kwok-w2, and no other worker can admit the Job",
			remedy: "use another queue or, if namespace default may use ClusterQueue cluster-queue, label it on kwok-w1: " + quoted("kubectl --context kwok-w1 label namespace default --overwrite team=a") + "; or let ClusterQueue cluster-queue on kwok-w2 select namespace default: " +
				quoted(`kubectl --context kwok-w2 patch clusterqueues.kueue.x-k8s.io cluster-queue --type merge -p '{"spec":{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"default"}}}}'`),
		},
		"a namespace that both workers lack": {
			testCase: testCase{code: "JM024", base: recordedKueueDown, edits: moved}, severity: inspect.Error, findings: 1,
			object: "kwok-w1 Namespace only-mgr", message: "Namespace only-mgr does not exist on kwok-w1 and kwok-w2",
			remedy: createdIn("kwok-w1") + ", and " + createdIn("kwok-w2"),
		},
		"a namespace that one worker lacks, and the other is too small": {
			testCase: testCase{code: "JM024", base: recordedKueueDown, edits: append(slices.Clip(moved), add("kwok-w2", onlyMgr), tooLargeCopy())},
			severity: inspect.Error, findings: 1,
			object: "kwok-w1 Namespace only-mgr", message: "Namespace only-mgr does not exist on kwok-w1, and no other worker can admit the Job",
			remedy: createdIn("kwok-w1"),
		},
		"a namespace that was just created": {
			testCase: testCase{code: "JM025", base: recordedKueueDown, edits: append(slices.Clip(both),
				patch("kwok-w1", "Namespace/only-mgr", `{metadata: {creationTimestamp: "2026-11-20T23:59:00Z"}}`),
				patch("kwok-w2", "Namespace/only-mgr", `{metadata: {creationTimestamp: "2026-11-20T23:59:00Z"}}`))},
			severity: inspect.Info, findings: 2,
			object:  "kwok-mgr MultiKueueCluster worker1",
			message: "Kueue has not tried worker1 (kwok-w1) again since Namespace only-mgr was created there",
			remedy: "wait: Kueue on kwok-mgr tries again after a pause; or change the Workload, so that Kueue reconciles it: " +
				quoted("kubectl --context kwok-mgr -n only-mgr annotate workloads.kueue.x-k8s.io job-train-4d173 look-again=now") + ", and " +
				quoted("kubectl --context kwok-mgr -n only-mgr annotate workloads.kueue.x-k8s.io job-train-4d173 look-again-"),
		},
		"one worker does not answer": {
			testCase: testCase{code: "JM135", base: recordedKueueDown, edits: []edit{unreachable("kwok-w2")}}, severity: inspect.Info, findings: 1,
			object: "kwok-mgr Job default/train", message: "Job default/train: waits for a worker; cannot see why: cannot read kwok-w2: connection refused",
			remedy: "repair context kwok-w2, or the cluster behind it; check with: " + quoted("kubectl --context kwok-w2 get --raw /readyz"),
		},
		"one worker does not answer, and the other gives a reason": {
			testCase: testCase{code: "JM135", base: recordedNoQuota, edits: []edit{unreachable("kwok-w2")}}, severity: inspect.Info, findings: 1,
			object: "kwok-mgr Job default/train", message: "Job default/train: waits for a worker; kwok-w1: needs 2 cpu, limit 1 (flavor default-flavor); not all were read: cannot read kwok-w2: connection refused",
			remedy: "repair context kwok-w2, or the cluster behind it; check with: " + quoted("kubectl --context kwok-w2 get --raw /readyz"),
		},
		"one worker does not answer, and the other has no free quota": {
			testCase: testCase{code: "JM135", base: recordedNoQuota, edits: []edit{unreachable("kwok-w2"), patch("kwok-w1", waitingWorkload, withoutQuota("WaitingForQuota",
				"couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default-flavor, 1 more needed"))}},
			severity: inspect.Info, findings: 1,
			object: "kwok-mgr Job default/train", message: "Job default/train: waits for a worker; kwok-w1: needs 1 more cpu (flavor default-flavor); not all were read: cannot read kwok-w2: connection refused",
			remedy: "wait until other Workloads release quota; or repair context kwok-w2, or the cluster behind it; check with: " + quoted("kubectl --context kwok-w2 get --raw /readyz"),
		},
		"two workers without Kueue": {
			testCase: testCase{code: "JM031", base: recordedKueueDown}, severity: inspect.Error, findings: 1,
			object: "kwok-mgr MultiKueueCluster worker1", message: "MultiKueueCluster worker1: Kueue on kwok-w1 and kwok-w2 has not processed new Workloads",
			remedy: "check that Kueue runs there; see its Deployment and its Pods: " + quoted("kubectl --context kwok-w1 get deployments,pods -A -l app.kubernetes.io/name=kueue") +
				", and " + quoted("kubectl --context kwok-w2 get deployments,pods -A -l app.kubernetes.io/name=kueue"),
		},
		"quota in use": {
			testCase: testCase{code: "JM029", base: recordedNoQuota, edits: append(onWorkers("WaitingForQuota", ""), patch("kwok-mgr", "Job/train", namesQueue))},
			severity: inspect.Info, findings: 1, object: "kwok-mgr LocalQueue default/user-queue",
			message: "LocalQueue default/user-queue: Jobs wait for quota on the workers",
			remedy:  "wait until other Workloads release quota; or raise the quota on kwok-w1: " + quoted("kubectl --context kwok-w1 edit clusterqueues.kueue.x-k8s.io cluster-queue"),
		},
		"no place in a topology": {
			testCase: testCase{code: "JM029", base: recordedNoQuota, edits: []edit{
				patch("kwok-mgr", "Job/train", namesQueue),
				patch("kwok-w1", waitingWorkload, withoutQuota("NoMatchingFlavor", `couldn't assign flavors to pod set main: Flavor "a100" does not support TopologyAwareScheduling`)),
				patch("kwok-w2", waitingWorkload, withoutQuota("TopologyPlacementFailed", `couldn't assign flavors to pod set main: topology "racks" allows to fit only 2 out of 4 pod(s)`)),
			}},
			severity: inspect.Warning, findings: 1, object: "kwok-mgr Job default/train",
			message: "Job default/train: no topology domain on the workers fits its Pods: flavor a100 has no topology, which its Pods request; " +
				"only 2 of 4 Pods fit in one domain of topology racks",
			remedy: "add nodes to a domain of topology racks on kwok-w2; check its levels: " + quoted("kubectl --context kwok-w2 describe topologies.kueue.x-k8s.io racks") +
				"; or set annotation kueue.x-k8s.io/podset-*-topology of the Pod template to a higher level of topology racks" + again + "; or remove annotation kueue.x-k8s.io/podset-*-topology from the Pod template" + again +
				"; or give ResourceFlavor a100 on kwok-w1 a topology (cannot be undone, affects all Jobs of the flavor). Replace TOPOLOGY with a Topology of kwok-w1: " +
				quoted(`kubectl --context kwok-w1 patch resourceflavors.kueue.x-k8s.io a100 --type merge -p '{"spec":{"topologyName":"TOPOLOGY"}}'`),
		},
		"no topology domain on one worker, no quota on another": {
			testCase: testCase{code: "JM029", base: recordedNoQuota, edits: []edit{
				patch("kwok-mgr", "Job/train", namesQueue),
				patch("kwok-w1", waitingWorkload, withoutQuota("TopologyPlacementFailed", `topology "racks" doesn't allow to fit any of 4 pod(s)`)),
				patch("kwok-w2", waitingWorkload, withoutQuota("WaitingForQuota", "")),
			}},
			severity: inspect.Info, findings: 1, object: "kwok-mgr LocalQueue default/user-queue",
			message: "Jobs wait for quota on the workers; default/train: " +
				"none of its 4 Pods fits in a domain of topology racks",
			remedy: "wait until other Workloads release quota; or raise the quota on kwok-w2: " + quoted("kubectl --context kwok-w2 edit clusterqueues.kueue.x-k8s.io cluster-queue") +
				"; or add nodes to a domain of topology racks on kwok-w1; check its levels: " + quoted("kubectl --context kwok-w1 describe topologies.kueue.x-k8s.io racks") +
				"; or set annotation kueue.x-k8s.io/podset-*-topology of the Pod template to a higher level of topology racks" + again,
		},
	}
	for name, c := range cases {
		// Inventories are kept by this name.
		c.name = t.Name() + " " + name
		t.Run(name, func(t *testing.T) {
			rule, ok := rules.ByCode(c.code)
			assert.Assert(t, ok)
			found := judge(t, c.inventory(t), []rules.Rule{rule}, 0)
			assert.Equal(t, len(found), c.findings, "%+v", found)
			f := found[0]
			namespace := ""
			if f.Namespace != "" {
				namespace = f.Namespace + "/"
			}
			assert.Equal(t, f.Context+" "+f.Kind+" "+namespace+f.Name, c.object)
			assert.Equal(t, f.Severity, c.severity)
			assert.Equal(t, f.Message, c.message)
			assert.Equal(t, f.Remedy, c.remedy)
			assert.Equal(t, len(f.Jobs), 1)
			// The recordings are a few seconds old.
			assert.Equal(t, len(judge(t, c.inventory(t), []rules.Rule{rule}, time.Minute)), 0)
		})
	}
}
