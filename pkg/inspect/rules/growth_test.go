package rules_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// tooLarge is Kueue's message about a size that no ClusterQueue of the recording has quota for.
const tooLarge = "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor default-flavor, " +
	"previously considered podsets requests (0) + current podset request (10k) > maximum capacity (9k)"

// growing is an elastic Job that runs with two Pods, and waits with a larger Workload.
func growing(reason, message string) []edit {
	return []edit{
		patch("kwok-mgr", "Job/train", `{metadata: {annotations: {kueue.x-k8s.io/elastic-job: "true"}}, spec: {parallelism: 4, completions: 8}}`),
		patch("kwok-w1", "Job/train", `{spec: {completions: 8}}`),
		add("kwok-mgr", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload,
metadata: {name: job-train-slice, namespace: default, uid: w2, creationTimestamp: "2026-11-20T23:43:40Z", labels: {kueue.x-k8s.io/job-uid: 880662c0-8617-4219-bfcd-5b29336ab0fa}},
spec: {queueName: user-queue, active: true, podSets: [{name: main, count: 4}]}, status: {conditions: [
{type: QuotaReserved, status: "False", reason: `+reason+`, message: "`+message+`", lastTransitionTime: "2026-11-20T23:43:40Z"}]}}`),
	}
}

// TestGrowthThatNeverFits checks that a size that can never be admitted is reported, with the old size and more quota as
// fixes, and no deletion of the running Job.
func TestGrowthThatNeverFits(t *testing.T) {
	rule, _ := rules.ByCode("JM050")
	f := findingOf(t, judge(t, testCase{base: recordedRunning, edits: growing("ExceedsMaxQuota", tooLarge)}.make(t), []rules.Rule{rule}, 0), "JM050")
	assert.Equal(t, f.Severity, inspect.Warning)
	assert.Equal(t, f.Message, "Job default/train: its new size does not fit on kwok-mgr, so it keeps the old one: needs 10k cpu, limit 9k (flavor default-flavor)")
	assert.Assert(t, strings.HasPrefix(f.Remedy, "set parallelism to 2 again: "), f.Remedy)
	assert.Assert(t, strings.Contains(f.Remedy, "raise the quota of ClusterQueue cluster-queue on kwok-mgr"), f.Remedy)
	assert.Assert(t, !strings.Contains(f.Remedy, "delete"), f.Remedy)
}
