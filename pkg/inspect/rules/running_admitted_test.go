package rules_test

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// admittedCases are those of JM042 and JM047: the manager has admitted the Job.
func admittedCases() []testCase {
	const workload = "Workload/job-train-1c348"
	return []testCase{
		{name: "an API server that refuses it", code: "JM042", base: "../../pkg/inspect/rules/testdata/kubernetes-1.36.0", fires: true},
		{
			name: "resumed", code: "JM042", base: "../../pkg/inspect/rules/testdata/kubernetes-1.36.0",
			edits: []edit{patch("kwok-mgr", "Job/train", "{spec: {suspend: false}}")},
		},
		{
			name: "Kueue works around it", code: "JM042", base: "../../pkg/inspect/rules/testdata/kubernetes-1.36.0",
			edits: []edit{patch("kwok-mgr", "Job/train", `{metadata: {managedFields: [{manager: kueue, operation: Update, subresource: status, time: "2026-11-20T23:43:21Z"}]}}`)},
		},
		{
			name: "Kueue resumed another Job since", code: "JM042", base: "../../pkg/inspect/rules/testdata/kubernetes-1.36.0",
			edits: []edit{
				addOwned("kueue.x-k8s.io/multikueue", "later", "uid-of-later", inQueue, ""),
				addWorkload("kwok-mgr", "job-later", `labels: {kueue.x-k8s.io/job-uid: uid-of-later}, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: later, uid: uid-of-later, controller: true}]`,
					`clusterName: worker1, admissionChecks: [{name: multikueue, state: Ready, message: "", lastTransitionTime: `+since+`}], admission: {clusterQueue: cluster-queue},
					conditions: [{type: QuotaReserved, status: "True", reason: QuotaReserved, lastTransitionTime: `+since+`}, {type: Admitted, status: "True", reason: Admitted, lastTransitionTime: `+since+`}]`),
			},
		},
		{name: "a later version", code: "JM042", base: recordedRunning, edits: []edit{patch("kwok-mgr", "Job/train", "{spec: {suspend: true}}")}},
		{
			name: "the worker evicted it", code: "JM047", base: recordedRunning, fires: true,
			edits: []edit{conditions("kwok-w1", workload, "QuotaReserved=False Pending", "Admitted=False NoReservation")},
		},
		{
			name: "it has no worker", code: "JM047", base: recordedRunning, fires: true,
			edits: []edit{checkState("job-train-1c348", "Pending", "", "null", 1), remove("kwok-w1", "Job/train"), remove("kwok-w1", workload)},
		},
		{
			name: "it is being withdrawn", code: "JM047", base: recordedRunning,
			edits: []edit{checkState("job-train-1c348", "Retry", "", "worker1", 1), remove("kwok-w1", "Job/train"), remove("kwok-w1", workload)},
		},
		{name: "the worker admitted it", code: "JM047", base: recordedRunning},
		{
			name: "the worker does not answer", code: "JM047", base: recordedRunning,
			edits: []edit{conditions("kwok-w1", workload, "Admitted=False NoReservation"), unreachable("kwok-w1")},
		},
		{
			name: "it is being evicted", code: "JM047", base: recordedRunning,
			edits: []edit{
				conditions("kwok-w1", workload, "Admitted=False NoReservation"),
				conditions("kwok-mgr", workload, isReserved, isAdmitted, "Evicted=True AdmissionCheck"),
			},
		},
	}
}

// TestFixOfAdmittedNowhere checks that the first fix does not restart a Job whose mirror runs.
func TestFixOfAdmittedNowhere(t *testing.T) {
	const workload = "Workload/job-train-1c348"
	evicted := conditions("kwok-w1", workload, "QuotaReserved=False Pending", "Admitted=False NoReservation")
	suspended := patch("kwok-w1", "Job/train", `{spec: {suspend: true}, status: {active: 0, ready: 0}}`)
	rule, _ := rules.ByCode("JM047")
	for first, edits := range map[string][]edit{
		"check that Kueue runs on kwok-w1: ":                        {evicted},
		"deactivate its Workload, and activate it again: `kubectl ": {evicted, suspended},
	} {
		found := judge(t, testCase{base: recordedRunning, edits: edits}.make(t), []rules.Rule{rule}, 0)
		assert.Equal(t, len(found), 1)
		assert.Assert(t, strings.HasPrefix(found[0].Remedy, first), found[0].Remedy)
		assert.Equal(t, strings.Contains(found[0].Remedy, "so that its Pods start from scratch"), len(edits) == 1, found[0].Remedy)
	}
}

// TestEvictedButAdmitted checks that a Job that its worker has evicted, although the manager still counts it as admitted,
// is one finding since the eviction, with its reason.
func TestEvictedButAdmitted(t *testing.T) {
	v := testCase{base: recordedRunning, later: time.Hour, edits: []edit{
		patch(w1, workload, `{status: {admission: null, `+withConditions(condition("QuotaReserved", "False", "PendingEvaluation", ""), condition("Admitted", "False", "NoReservation", ""),
			condition("Evicted", "True", "Preempted", ""))+`}}`),
		patch(w1, "Job/train", `{spec: {suspend: true}, status: {active: 0, ready: 0, startTime: null, conditions: [{type: Suspended, status: "True", lastTransitionTime: "2026-11-20T23:43:38Z"}]}}`),
		remove(w1, "Pod/*"),
	}}.make(t)
	found := judge(t, v, rules.All(), 5*time.Minute)
	assert.DeepEqual(t, codesOf(found), []string{"JM047"})
	assert.Equal(t, found[0].Message, "Job default/train counts as admitted, but worker1 (kwok-w1) evicted its copy (Preempted)")
	assert.Assert(t, strings.Contains(found[0].Remedy, "; if that changes nothing, check that Kueue runs on kwok-mgr: "), found[0].Remedy)
}
