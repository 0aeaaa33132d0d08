package rules_test

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/chain"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

const (
	recordedHead = "strict-fifo-head-blocks"
	blockedCopy  = "Workload/job-behind-e21a8"
	headCopy     = "Workload/job-head-dcbbb"
)

// onBoth is one patch on both workers.
func onBoth(object, text string) []edit {
	return []edit{patch("kwok-w1", object, text), patch("kwok-w2", object, text)}
}

// equalRequests returns edits that give both Jobs of recordedHead the same requests, in a
// BestEffortFIFO queue.
func equalRequests() []edit {
	return slices.Concat(bestEffort(),
		onBoth(blockedCopy, `{spec: {podSets: [{name: main, count: 1, template: {spec: {containers: [{name: same}]}}}]}}`),
		onBoth(headCopy, `{spec: {podSets: [{name: main, count: 1, template: {metadata: {labels: {job: head}}, spec: {containers: [{name: same}]}}}]}}`))
}

func bestEffort() []edit {
	return onBoth("ClusterQueue/cluster-queue", `{spec: {queueingStrategy: BestEffortFIFO}}`)
}

func heldHead(reason string) []edit { return heldHeadBy(reason, "") }

func heldHeadBy(reason, message string) []edit {
	return onBoth(headCopy, `{status: {conditions: [{type: QuotaReserved, status: "False", reason: `+reason+`, message: "`+message+`", lastTransitionTime: "2026-11-22T05:50:38Z"}]}}`)
}

func blockedCases() []testCase {
	first := onBoth(blockedCopy, `{spec: {priority: 100}}`)
	return []testCase{
		{name: "behind the head of a StrictFIFO queue", code: "JM115", base: recordedHead, fires: true},
		{name: "behind one that can never fit", code: "JM115", base: recordedHead, fires: true, edits: heldHead("ExceedsMaxQuota")},
		{name: "equal to one that does not fit", code: "JM115", base: recordedHead, fires: true, edits: equalRequests()},
		{name: "not equal", code: "JM115", base: recordedHead, edits: bestEffort()},
		// Kueue keeps both out of the queue, so they block nothing: RequeueIfNotPresent in pkg/cache/queue/cluster_queue.go.
		{name: "the head is held by its queue", code: "JM115", base: recordedHead, edits: heldHeadBy("Misconfigured", "LocalQueue user-queue doesn't exist")},
		{name: "the head is of an excluded namespace", code: "JM115", base: recordedHead, edits: heldHeadBy("Misconfigured", "Workload namespace doesn't match ClusterQueue selector")},
		// It tries this one again at once.
		{
			name: "the head has invalid resources", code: "JM115", base: recordedHead, fires: true,
			edits: heldHeadBy("Misconfigured", "resources didn't satisfy LimitRange constraints: requests exceed it limits"),
		},
		{name: "it goes before the head", code: "JM115", base: recordedHead, edits: first},
		{name: "Kueue does not run", code: "JM115", base: recordedKueueDown},
		{name: "behind the head of a StrictFIFO queue", code: "JM031", base: recordedHead},
		{name: "before the head, and Kueue stopped working", code: "JM031", base: recordedHead, fires: true, edits: first},
		// The scheduler stands until then (waitForPodsReady.blockAdmission).
		{name: "Pods of others are not ready", code: "JM031", base: recordedHead, edits: slices.Concat(first, heldHead("WaitingForPodsReady"))},
	}
}

// TestEqualNeverFits checks that a Job equal to one that never fits has the same error, although
// Kueue says nothing about it. If the other only waits, so does the Job.
func TestEqualNeverFits(t *testing.T) {
	for reason, want := range map[string]string{"ExceedsMaxQuota": "JM029", "WaitingForQuota": "JM115"} {
		edits := append(equalRequests(), heldHead(reason)...)
		var codes []string
		for _, f := range judge(t, testCase{name: "equal, " + reason, code: want, base: recordedHead, edits: edits}.inventory(t), rules.All(), 0) {
			if slices.ContainsFunc(f.Jobs, func(j inspect.Ref) bool { return j.Name == "behind" }) {
				codes = append(codes, f.Code)
			}
		}
		assert.DeepEqual(t, codes, []string{want})
	}
}

// TestWaitsBehind checks that the finding names the Workload that a Job waits
// behind, and does not blame Kueue.
func TestWaitsBehind(t *testing.T) {
	findings := judge(t, inventory(t, recordings+"/"+recordedHead), rules.All(), 0)
	assert.Equal(t, strings.Join(codesOf(findings), " "), "JM029 JM115")
	f := findings[1]
	assert.Equal(t, f.Severity, inspect.Info)
	assert.Equal(t, f.Jobs[0].Name, "behind")
	assert.Equal(t, f.Message, "Job default/behind: waits behind Job default/head, which does not fit (StrictFIFO), in ClusterQueue cluster-queue of kwok-w1; "+
		"Kueue runs there")
	assert.Equal(t, len(f.Evidence), 6, "%q", f.Evidence)

	// A trace reads no more of others than that takes.
	v := open(t, recordings+"/"+recordedHead).traced(t, "", "behind")
	trace := chain.Trace(v, v.Subjects()[0])
	var messages []string
	for _, h := range trace.Hops {
		if strings.HasPrefix(h.Message, "waits behind") {
			messages = append(messages, h.Context+" "+h.Message)
		}
	}
	assert.DeepEqual(t, messages, []string{
		"kwok-w1 waits behind Workload default/job-head-dcbbb in ClusterQueue cluster-queue, which is StrictFIFO",
		"kwok-w2 waits behind Workload default/job-head-dcbbb in ClusterQueue cluster-queue, which is StrictFIFO",
	})
}

// TestWaitsBehindOneThatNeverFits checks that the finding does not advise to wait for a Workload that can never fit.
func TestWaitsBehindOneThatNeverFits(t *testing.T) {
	f := findingOf(t, judge(t, testCase{base: recordedHead, edits: heldHead("ExceedsMaxQuota")}.make(t), rules.All(), 0), "JM115")
	assert.Assert(t, strings.Contains(f.Message, "waits behind Job default/head, which can never fit there (StrictFIFO)"), f.Message)
	assert.Assert(t, strings.HasPrefix(f.Remedy, "raise the quota of its queue so that Job default/head fits: "), f.Remedy)
}

// TestWaitsBehindInvalid checks that a first Workload with invalid requests is corrected like in JM116 about it: in
// a new Job.
func TestWaitsBehindInvalid(t *testing.T) {
	const message = "resources didn't satisfy LimitRange constraints: requests exceed it limits"
	v := testCase{name: "invalid, and as a fix", code: "JM115", base: recordedHead, edits: heldHeadBy("Misconfigured", message)}.inventory(t)
	const again = "`, and then delete Job default/head, and create it again"
	var codes []string
	for _, f := range judge(t, v, rules.All(), 0) {
		if strings.HasSuffix(f.Remedy, again) {
			codes = append(codes, f.Code)
		}
	}
	assert.DeepEqual(t, codes, []string{"JM116", "JM115"})
}
