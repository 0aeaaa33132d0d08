package rules_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// missingNamespaces returns edits after which the workers lack the namespace of a Job, or have it,
// without copies of its Workload.
func missingNamespaces() (moved, both []edit) {
	moved = []edit{
		patch("kwok-mgr", "Job/train", `{metadata: {namespace: only-mgr}}`), patch("kwok-mgr", untouchedWorkload, `{metadata: {namespace: only-mgr}}`),
		remove("kwok-w1", untouchedWorkload), remove("kwok-w2", untouchedWorkload),
	}
	return moved, append(slices.Clip(moved), add("kwok-w1", onlyMgr), add("kwok-w2", onlyMgr))
}

const onlyMgr = `{apiVersion: v1, kind: Namespace, metadata: {name: only-mgr}}`

// tooLargeCopy adds a copy on kwok-w2, in namespace only-mgr, that exceeds the limit there.
func tooLargeCopy() edit {
	return add("kwok-w2", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: job-train-4d173, namespace: only-mgr, uid: c2,
		creationTimestamp: "2026-11-20T23:49:59Z", labels: {kueue.x-k8s.io/multikueue-origin: multikueue}},
		spec: {active: true, priority: 0, queueName: user-queue, podSets: [{name: main, count: 2}]}, status: {`+withConditions(condition("QuotaReserved", "False", "ExceedsMaxQuota",
		"couldn't assign flavors to pod set main: insufficient quota for cpu in flavor default-flavor, previously considered podsets requests (0) + current podset request (2) > maximum capacity (1)"))+`}}`)
}

// createdIn returns the remedy for a namespace that a worker lacks.
func createdIn(context string) string {
	return "create namespace only-mgr on " + context + ": " + quoted("kubectl --context "+context+" create namespace only-mgr") + ", and then create LocalQueue only-mgr/user-queue on " + context + ": " +
		quoted(`printf '%s\n' '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"LocalQueue","metadata":{"name":"user-queue","namespace":"only-mgr"},"spec":{"clusterQueue":"cluster-queue"}}' | kubectl --context `+context+` create -f -`)
}

func noCopyCases() []testCase {
	moved, both := missingNamespaces()
	nominated := patch("kwok-mgr", untouchedWorkload, `{status: {nominatedClusterNames: [worker1, worker2, worker3]}}`)
	return []testCase{
		{name: "on both workers", code: "JM024", base: recordedKueueDown, fires: true, edits: moved},
		{name: "on one of them", code: "JM024", base: recordedKueueDown, fires: true, edits: append(slices.Clip(moved), add("kwok-w2", onlyMgr))},
		{name: "on none of them", code: "JM024", base: recordedKueueDown, edits: both},
		{name: "refused, with the namespace there", code: "JM025", base: recordedKueueDown, fires: true, edits: both},
		{name: "refused, without the namespace", code: "JM025", base: recordedKueueDown, edits: moved},
		{
			name: "the workers could not be read", code: "JM024", base: recordedKueueDown,
			edits: append(slices.Clip(moved), unreachable("kwok-w1"), unreachable("kwok-w2")),
		},
		{
			name: "the workers could not be read", code: "JM025", base: recordedKueueDown,
			edits: append(slices.Clip(both), unreachable("kwok-w1"), unreachable("kwok-w2")),
		},
		{name: "another one has admitted it", code: "JM025", base: "mirror-refused-by-quota"},
		{
			name: "another one waits, in a context of unknown use", code: "JM025", base: recordedKueueDown, fires: true,
			edits: []edit{remove("kwok-w2", untouchedWorkload), remove("kwok-mgr", "Secret/worker1-secret"), nominated},
		},
		{
			name: "another one has admitted it, in a context of unknown use", code: "JM025", base: recordedKueueDown,
			edits: []edit{remove("kwok-w2", untouchedWorkload), remove("kwok-mgr", "Secret/worker1-secret"), nominated, patch("kwok-w1", untouchedWorkload, admittedCopy)},
		},
		{
			name: "not connected", code: "JM025", base: recordedKueueDown,
			edits: append(slices.Clip(both), patch("kwok-mgr", "MultiKueueCluster/worker1", `{status: {conditions: []}}`),
				patch("kwok-mgr", "MultiKueueCluster/worker2", `{status: {conditions: []}}`)),
		},
	}
}

func workerQueueCases() []testCase {
	const queue, missing = "LocalQueue/default/user-queue", "localqueue-missing-on-workers"
	const excluded, inactive = "Workload namespace doesn't match ClusterQueue selector", "ClusterQueue cluster-queue is inactive"
	return []testCase{
		{name: "on both workers", code: "JM026", base: missing, fires: true},
		{
			name: "on one of them", code: "JM026", base: recordedNoQuota, fires: true,
			edits: []edit{patch("kwok-w1", waitingWorkload, withoutQuota("Inadmissible", "LocalQueue user-queue doesn't exist")), remove("kwok-w1", queue)},
		},
		{name: "just created", code: "JM026", base: recordedNoQuota, edits: onWorkers("Misconfigured", "LocalQueue user-queue doesn't exist")},
		{name: "the other one has admitted it", code: "JM026", base: missing, edits: []edit{patch("kwok-w2", "Workload/job-train-a6d56", admittedCopy)}},
		{
			name: "no ClusterQueue", code: "JM027", base: recordedNoQuota, fires: true,
			edits: append(onWorkers("Misconfigured", "ClusterQueue cluster-queue doesn't exist"),
				remove("kwok-w1", "ClusterQueue/cluster-queue"), remove("kwok-w2", "ClusterQueue/cluster-queue")),
		},
		{
			name: "stopped", code: "JM027", base: recordedNoQuota, fires: true,
			edits: append(onWorkers("Suspended", inactive), patch("kwok-w1", "ClusterQueue/cluster-queue", stoppedQueue)),
		},
		{
			name: "the LocalQueue is stopped", code: "JM027", base: recordedNoQuota, fires: true,
			edits: append(onWorkers("Inadmissible", "LocalQueue user-queue is inactive"), patch("kwok-w1", queue, `{spec: {stopPolicy: Hold}}`)),
		},
		{name: "started again", code: "JM027", base: recordedNoQuota, edits: onWorkers("Suspended", inactive)},
		{
			name: "stopped while it waits for quota", code: "JM027", base: recordedNoQuota,
			edits: []edit{patch("kwok-w1", "ClusterQueue/cluster-queue", stoppedQueue)},
		},
		{
			name: "without a selector", code: "JM028", base: recordedNoQuota, fires: true,
			edits: append(onWorkers("Misconfigured", excluded), patch("kwok-w1", "ClusterQueue/cluster-queue", `{spec: {namespaceSelector: null}}`)),
		},
		{
			name: "by a label", code: "JM028", base: recordedNoQuota, fires: true,
			edits: append(onWorkers("Pending", excluded), patch("kwok-w1", "ClusterQueue/cluster-queue", `{spec: {namespaceSelector: {matchLabels: {team: a}}}}`)),
		},
		{name: "widened by now", code: "JM028", base: recordedNoQuota, edits: onWorkers("Misconfigured", excluded)},
		{
			name: "a selector does not matter to Jobs that wait for quota", code: "JM028", base: recordedNoQuota,
			edits: []edit{patch("kwok-w1", "ClusterQueue/cluster-queue", `{spec: {namespaceSelector: null}}`)},
		},
	}
}

func workerQuotaCases() []testCase {
	return []testCase{
		{name: "on all workers", code: "JM029", base: recordedNoQuota, fires: true},
		{name: "no quota so far", code: "JM029", base: recordedNoQuota, fires: true, edits: onWorkers("WaitingForQuota", "insufficient unused quota")},
		{
			name: "before Kueue 0.19", code: "JM029", base: recordedNoQuota, fires: true,
			edits: onWorkers("Pending", "couldn't assign flavors to pod set main: resource example.com/gpu unavailable in ClusterQueue"),
		},
		{name: "admitted", code: "JM029", base: "running"},
		{
			name: "one worker has not answered yet", code: "JM029", base: recordedNoQuota,
			edits: []edit{patch("kwok-w2", waitingWorkload, `{status: {conditions: []}}`)},
		},
		{name: "one worker is about to evaluate it", code: "JM029", base: recordedNoQuota, edits: []edit{patch("kwok-w2", waitingWorkload, withoutQuota("PendingEvaluation", ""))}},
		{name: "one worker has admitted it", code: "JM029", base: recordedNoQuota, edits: []edit{patch("kwok-w2", waitingWorkload, admittedCopy)}},
		{name: "one worker could not be read", code: "JM029", base: recordedNoQuota, edits: []edit{unreachable("kwok-w2")}},
		{
			name: "others were not asked yet", code: "JM029", base: recordedNoQuota,
			edits: []edit{patch("kwok-mgr", waitingWorkload, `{status: {nominatedClusterNames: [worker1]}}`), remove("kwok-w2", waitingWorkload)},
		},
		{
			name: "the Job is being deleted", code: "JM029", base: recordedNoQuota,
			edits: []edit{patch("kwok-mgr", "Job/train", `{metadata: {deletionTimestamp: "2026-11-20T23:24:48Z", finalizers: [example.com/wait]}}`)},
		},
	}
}

func workerCheckCases() []testCase {
	provisioning := func(state, reserved string) edit {
		return patch("kwok-w1", waitingWorkload, fmt.Sprintf(`{status: {conditions: [
			{type: QuotaReserved, status: %q, reason: X, message: "", lastTransitionTime: "2026-11-20T23:24:46Z"}],
			admissionChecks: [{name: nodes, state: %s, message: "no nodes", lastTransitionTime: "2026-11-20T23:24:46Z"}]}}`, reserved, state))
	}
	return []testCase{
		{name: "pending", code: "JM030", base: recordedNoQuota, fires: true, edits: []edit{provisioning("Pending", "True")}},
		{name: "rejected", code: "JM030", base: recordedNoQuota, fires: true, edits: []edit{provisioning("Rejected", "False")}},
		{name: "pending for want of quota", code: "JM030", base: recordedNoQuota, edits: []edit{provisioning("Pending", "False")}},
		{name: "ready", code: "JM030", base: recordedNoQuota, edits: []edit{provisioning("Ready", "True")}},
		{name: "pending, and the other one has admitted it", code: "JM030", base: recordedNoQuota, edits: []edit{provisioning("Pending", "True"), patch("kwok-w2", waitingWorkload, admittedCopy)}},
	}
}

func kueueDownCases() []testCase {
	return []testCase{
		{name: "on both workers", code: "JM031", base: recordedKueueDown, fires: true},
		{name: "not read", code: "JM031", base: recordedKueueDown, edits: []edit{unreachable("kwok-w1"), unreachable("kwok-w2")}},
		{
			name: "its queue may explain it, and may not be read", code: "JM031", base: recordedKueueDown,
			edits: []edit{forbidden("kwok-w1", "clusterqueues.kueue.x-k8s.io"), forbidden("kwok-w2", "localqueues.kueue.x-k8s.io")},
		},
		{
			name: "the other one runs", code: "JM031", base: recordedKueueDown, fires: true,
			edits: []edit{patch("kwok-w2", untouchedWorkload, withoutQuota("WaitingForQuota", ""))},
		},
		{
			name: "the other one has admitted it", code: "JM031", base: recordedKueueDown,
			edits: []edit{patch("kwok-w2", untouchedWorkload, admittedCopy)},
		},
		{
			name: "it is slow", code: "JM031", base: recordedKueueDown,
			edits: []edit{
				patch("kwok-w2", untouchedWorkload, withoutQuota("WaitingForQuota", "")),
				add("kwok-w1", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: another, namespace: default}, status: {conditions: [
					{type: Admitted, status: "True", reason: Admitted, message: "", lastTransitionTime: "2026-11-20T23:59:00Z"}]}}`),
			},
		},
	}
}

// TestKueueDownNames checks that JM031 names only workers with a copy that is old enough, and that a fault on
// another worker is another finding.
func TestKueueDownNames(t *testing.T) {
	rule, _ := rules.ByCode("JM031")
	created := func(context string) edit {
		return patch(context, untouchedWorkload, `{metadata: {creationTimestamp: "2026-11-21T00:49:58Z"}}`)
	}
	fingerprints := map[string]string{}
	for names, edits := range map[string][]edit{
		"kwok-w1":             {created("kwok-w2")},
		"kwok-w2":             {created("kwok-w1")},
		"kwok-w1 and kwok-w2": nil,
	} {
		v := testCase{base: recordedKueueDown, edits: edits}.make(t)
		v = inspect.NewInventory(time.Date(2026, 11, 21, 0, 50, 0, 0, time.UTC), v.Clusters, v.Addresses)
		found := judge(t, v, []rules.Rule{rule}, 0)
		assert.Equal(t, len(found), 1, linesOf(found))
		assert.Assert(t, strings.HasSuffix(found[0].Message, ": Kueue on "+names+" has not processed new Workloads"), found[0].Message)
		fingerprints[found[0].Fingerprint] = names
	}
	assert.Equal(t, len(fingerprints), 3, "%v", fingerprints)
}

// TestUnreachableWorkerIsNotDrained checks that the fix for JM023 does not wait for a deletion of mirrors over the
// connection that is down.
func TestUnreachableWorkerIsNotDrained(t *testing.T) {
	rule, _ := rules.ByCode("JM023")
	found := judge(t, testCase{base: recordedNoQuota, edits: []edit{
		cannotUse("worker1", "ClientConnectionFailed", "connection refused"), cannotUse("worker2", "ClientConnectionFailed", "connection refused"),
		remove("kwok-w1", waitingWorkload), remove("kwok-w2", waitingWorkload),
	}}.make(t), []rules.Rule{rule}, 0)
	assert.Equal(t, len(found), 1)
	assert.Assert(t, strings.HasSuffix(found[0].Remedy,
		"to give up worker worker1 of kwok-mgr, reconnect it first, or delete its mirrors there; then remove it from the MultiKueueConfig"), found[0].Remedy)
}

func gatedCases() []testCase {
	gated := func(status string) edit {
		return patch("kwok-w1", waitingWorkload, fmt.Sprintf(`{status: {conditions: [
			{type: QuotaReserved, status: "False", reason: PreemptionGated, message: "", lastTransitionTime: "2026-11-20T23:24:45Z"},
			{type: BlockedOnPreemptionGates, status: %q, reason: PreemptionGated, message: "", lastTransitionTime: "2026-11-20T23:24:45Z"}]}}`, status))
	}
	return []testCase{
		{name: "closed", code: "JM033", base: recordedNoQuota, fires: true, edits: []edit{gated("True")}},
		{name: "open", code: "JM033", base: recordedNoQuota, edits: []edit{gated("False")}},
		{name: "closed, and the other one has admitted it", code: "JM033", base: recordedNoQuota, edits: []edit{gated("True"), patch("kwok-w2", waitingWorkload, admittedCopy)}},
	}
}

// TestGateStaysClosed checks that closed preemption gates are normal for as long as MultiKueue may take to open the next
// one, and an error after that.
func TestGateStaysClosed(t *testing.T) {
	rule, _ := rules.ByCode("JM033")
	gated := func(gates string) string {
		return `{status: {preemptionGates: ` + gates + `, conditions: [
			{type: QuotaReserved, status: "False", reason: AdmissionGated, message: "Workload requires preemption, but it's gated", lastTransitionTime: "2026-11-20T23:24:45Z"},
			{type: BlockedOnPreemptionGates, status: "True", reason: PreemptionGated, message: "", lastTransitionTime: "2026-11-20T23:24:45Z"}]}}`
	}
	const closed, opened = "null", `[{name: kueue.x-k8s.io/multikueue, position: Open, lastTransitionTime: "2026-11-20T23:26:00Z"}]`
	for name, tt := range map[string]struct {
		other    string
		later    time.Duration
		severity inspect.Severity
		message  string
		since    string
	}{
		"at first":              {gated(closed), 4 * time.Minute, inspect.Info, "kwok-w1 and kwok-w2 must preempt others for it, but may not yet", "23:24:45"},
		"for long":              {gated(closed), 10 * time.Minute, inspect.Error, "MultiKueue on kwok-mgr keeps its preemption gates closed on kwok-w1 and kwok-w2", "23:24:45"},
		"the other one is open": {gated(opened), 10 * time.Minute, inspect.Info, "kwok-w1 must preempt others for it, but may not yet", "23:24:45"},
		"the other one was open for long": {
			gated(opened), 20 * time.Minute, inspect.Warning, "MultiKueue on kwok-mgr keeps its preemption gate closed on kwok-w1", "23:31:00",
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := testCase{base: recordedNoQuota, later: tt.later, edits: []edit{patch("kwok-w1", waitingWorkload, gated(closed)), patch("kwok-w2", waitingWorkload, tt.other)}}.make(t)
			f := findingOf(t, judge(t, v, []rules.Rule{rule}, 0), "JM033")
			assert.Equal(t, f.Severity, tt.severity)
			assert.Assert(t, strings.HasSuffix(f.Message, tt.message), f.Message)
			assert.Equal(t, f.Since.UTC().Format(time.TimeOnly), tt.since)
			if tt.severity != inspect.Info {
				assert.Assert(t, strings.HasPrefix(f.Remedy, "check that Kueue runs on kwok-mgr: "), f.Remedy)
			}
		})
	}
}

// TestGateBesideUnread checks that closed gates are no error if a worker was not read: MultiKueue may have opened the
// gate there.
func TestGateBesideUnread(t *testing.T) {
	rule, _ := rules.ByCode("JM033")
	closed := patch("kwok-w1", waitingWorkload, `{status: {conditions: [
		{type: BlockedOnPreemptionGates, status: "True", reason: PreemptionGated, message: "", lastTransitionTime: "2026-11-20T23:24:45Z"}]}}`)
	v := testCase{base: recordedNoQuota, later: 20 * time.Minute, edits: []edit{closed}}.make(t)
	v.Facts("kwok-w2").Err = errors.New("connection refused")
	assert.Equal(t, findingOf(t, judge(t, v, []rules.Rule{rule}, 0), "JM033").Severity, inspect.Info)
}

// TestNotOfferedForLong checks that a Job that Kueue does not offer to a connected worker is a note
// while the incremental dispatcher may still nominate it, and a warning after that.
func TestNotOfferedForLong(t *testing.T) {
	rule, _ := rules.ByCode("JM032")
	const nominated = `{metadata: {managedFields: [{manager: kueue, operation: Update, apiVersion: kueue.x-k8s.io/v1beta2, time: "2026-11-20T23:24:44Z",
		fieldsType: FieldsV1, subresource: status, fieldsV1: {"f:status": {"f:nominatedClusterNames": {}}}}]}}`
	reconnected := []edit{
		patch("kwok-mgr", waitingWorkload, nominated),
		patch("kwok-mgr", "MultiKueueCluster/worker2", `{status: {conditions: [{type: Active, status: "True", reason: Active, message: Connected, lastTransitionTime: "2026-11-20T23:24:50Z"}]}}`),
	}
	for name, tt := range map[string]struct {
		later time.Duration
		edits []edit
		want  inspect.Severity
	}{
		"now":                                 {0, nil, inspect.Info},
		"at the end of a round":               {5*time.Minute + 20*time.Second, nil, inspect.Info},
		"for long":                            {10 * time.Minute, nil, inspect.Warning},
		"reconnected now":                     {0, reconnected, inspect.Info},
		"reconnected since more than a round": {5*time.Minute + 20*time.Second, reconnected, inspect.Warning},
	} {
		c := testCase{name: name, base: recordedNoQuota, later: tt.later, edits: append(slices.Clone(tt.edits),
			patch("kwok-mgr", waitingWorkload, `{status: {nominatedClusterNames: [worker1]}}`), remove("kwok-w2", waitingWorkload))}
		want := tt.want
		found := judge(t, c.make(t), []rules.Rule{rule}, 0)
		assert.Equal(t, len(found), 1)
		assert.Equal(t, found[0].Severity, want, found[0].Message)
		assert.Assert(t, strings.Contains(found[0].Fixes[0].Shell(), "annotate workloads.kueue.x-k8s.io job-train-aa7b6 look-again=now"), "%+v", found[0].Fixes)
	}
}
