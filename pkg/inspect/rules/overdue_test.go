package rules_test

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// ended is an origin that has finished.
const endedAt = `{spec: {ttlSecondsAfterFinished: 600}, status: {active: 0, ready: 0, succeeded: 2, completionTime: "2026-11-20T23:43:40Z",
	conditions: [{type: Complete, status: "True", lastTransitionTime: "2026-11-20T23:43:40Z"}]}}`

// overdueCases are the cases of limits on which no controller has acted.
func overdueCases() []testCase {
	const hour = time.Hour
	limit := patch(w1, "Job/train", "{spec: {activeDeadlineSeconds: 600}}")
	longest := func(context string) edit {
		return patch(context, workload, "{spec: {maximumExecutionTimeSeconds: 600}}")
	}
	drain := func(context, policy, more string) edit {
		return patch(context, "ClusterQueue/cluster-queue", `{`+more+`spec: {stopPolicy: `+policy+`}, status: {conditions: [
			{type: Active, status: "False", reason: Stopped, message: "", lastTransitionTime: "2026-11-20T23:43:30Z"}]}}`)
	}
	gone := []edit{remove(w1, "Job/train"), remove(w1, "Pod/*"), remove(w1, workload)}
	finished := conditions(mgr, workload, "Finished=True Succeeded")
	return []testCase{
		{name: "a deadline", code: "JM140", base: recordedRunning, later: hour, fires: true, edits: []edit{limit}},
		{name: "a deadline that has not passed", code: "JM140", base: recordedRunning, edits: []edit{limit}},
		{name: "a deadline of a Job that fails", code: "JM140", base: recordedRunning, later: hour, edits: []edit{limit, patch(w1, "Job/train",
			`{status: {conditions: [{type: FailureTarget, status: "True", reason: DeadlineExceeded, lastTransitionTime: "2026-11-20T23:53:19Z"}]}}`)}},
		{name: "a deadline of a suspended Job", code: "JM140", base: recordedRunning, later: hour, edits: []edit{limit, patch(w1, "Job/train", "{spec: {suspend: true}}")}},
		{name: "the longest time on the manager", code: "JM140", base: recordedRunning, later: hour, fires: true, edits: []edit{longest(mgr)}},
		{name: "the longest time on the worker", code: "JM140", base: recordedRunning, later: hour, fires: true, edits: []edit{longest(w1)}},
		{name: "the longest time, not over", code: "JM140", base: recordedRunning, edits: []edit{longest(mgr)}},
		{name: "the longest time, and Kueue stops it", code: "JM140", base: recordedRunning, later: hour, edits: []edit{
			longest(mgr), conditions(mgr, workload, isReserved, isAdmitted, "DeactivationTarget=True MaximumExecutionTimeExceeded"),
		}},
		{name: "a drained queue of the manager", code: "JM140", base: recordedRunning, later: hour, fires: true, edits: []edit{drain(mgr, "HoldAndDrain", "")}},
		{name: "a drained queue of the worker", code: "JM140", base: recordedRunning, later: hour, fires: true, edits: []edit{drain(w1, "HoldAndDrain", "")}},
		{name: "a drained LocalQueue", code: "JM140", base: recordedRunning, later: hour, fires: true, edits: []edit{
			patch(mgr, "LocalQueue/default/user-queue", `{metadata: {managedFields: [{manager: kubectl, operation: Update, time: "2026-11-20T23:43:35Z"}]}, spec: {stopPolicy: HoldAndDrain}}`),
		}},
		{name: "a drain without any date", code: "JM140", base: recordedRunning, later: hour, edits: []edit{
			patch(mgr, "LocalQueue/default/user-queue", `{spec: {stopPolicy: HoldAndDrain}}`),
		}},
		{name: "a queue on hold", code: "JM140", base: recordedRunning, later: hour, edits: []edit{drain(mgr, "Hold", "")}},
		{name: "a TTL", code: "JM140", base: recordedRunning, later: hour, fires: true, edits: append([]edit{patch(mgr, "Job/train", endedAt), finished}, gone...)},
		{name: "a TTL that has not passed", code: "JM140", base: recordedRunning, edits: append([]edit{patch(mgr, "Job/train", endedAt), finished}, gone...)},
		{name: "quota of a finished Job", code: "JM140", base: recordedRunning, later: 6 * time.Minute, fires: true, edits: append([]edit{patch(mgr, "Job/train", endedAt)}, gone...)},
		{name: "quota of a Job whose end was copied late", code: "JM140", base: recordedRunning, later: hour, fires: true, edits: append([]edit{
			patch(mgr, "Job/train", `{metadata: {managedFields: [{manager: kueue, operation: Update, subresource: status, apiVersion: batch/v1, fieldsType: FieldsV1,
				time: "2026-11-21T00:30:00Z", fieldsV1: {"f:status": {"f:completionTime": {}}}}]}}`),
			patch(mgr, "Job/train", strings.Replace(endedAt, "ttlSecondsAfterFinished: 600", "", 1)),
		}, gone...)},
		{name: "quota of a finished Job whose mirror runs", code: "JM140", base: recordedRunning, later: 6 * time.Minute, edits: []edit{patch(mgr, "Job/train", endedAt)}},
	}
}

// TestOverdueNamesController checks that each finding about a passed limit says which controller must act, since when,
// and how to check it.
func TestOverdueNamesController(t *testing.T) {
	rule, _ := rules.ByCode("JM140")
	for name, want := range map[string]struct{ message, since, fix string }{
		"a deadline": {
			"Job default/train: its mirror has reached activeDeadlineSeconds (600), but the Job controller on kwok-w1 does not stop it",
			"23:53:19", "check that kube-controller-manager runs on kwok-w1",
		},
		"the longest time on the manager": {
			"Job default/train has reached its maximum execution time (600s), but Kueue on kwok-mgr does not stop it", "23:53:19", "check that Kueue runs on kwok-mgr",
		},
		"the longest time on the worker": {
			"Job default/train has reached its maximum execution time (600s), but Kueue on kwok-w1 does not stop it", "23:53:18", "check that Kueue runs on kwok-w1",
		},
		"a drained queue of the manager": {
			"Job default/train: its ClusterQueue cluster-queue has stopPolicy HoldAndDrain, but Kueue on kwok-mgr does not evict its Workload", "", "check that Kueue runs on kwok-mgr",
		},
		"a drained LocalQueue": {
			"Job default/train: its LocalQueue default/user-queue has stopPolicy HoldAndDrain, but Kueue on kwok-mgr does not evict its Workload", "23:43:35", "check that Kueue runs on kwok-mgr",
		},
		"a TTL": {
			"Job default/train: its ttlSecondsAfterFinished (600) has passed, but the TTL controller on kwok-mgr does not delete it",
			"23:53:40", "check that kube-controller-manager runs on kwok-mgr",
		},
		"quota of a Job whose end was copied late": {
			"Job default/train is Complete, but Kueue on kwok-mgr does not finish its Workload, which holds quota", "00:30:00", "check that Kueue runs on kwok-mgr",
		},
		"quota of a finished Job": {
			"Job default/train is Complete, but Kueue on kwok-mgr does not finish its Workload, which holds quota", "23:43:40", "check that Kueue runs on kwok-mgr",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, c := range overdueCases() {
				if c.name != name {
					continue
				}
				f := findingOf(t, judge(t, c.make(t), []rules.Rule{rule}, 5*time.Minute), "JM140")
				assert.Equal(t, f.Message, want.message)
				assert.Equal(t, f.Severity, inspect.Warning)
				assert.Assert(t, strings.HasPrefix(f.Remedy, want.fix), f.Remedy)
				since := ""
				if f.Since != nil {
					since = f.Since.UTC().Format(time.TimeOnly)
				}
				assert.Equal(t, since, want.since)
			}
		})
	}
}

// TestEndHoldsQuotaOnce checks that a finished Job with quota is no second finding while its mirror still runs.
func TestEndHoldsQuotaOnce(t *testing.T) {
	v := testCase{base: recordedRunning, later: 6 * time.Minute, edits: []edit{patch(mgr, "Job/train", endedAt)}}.make(t)
	assert.DeepEqual(t, codesOf(judge(t, v, rules.All(), 0)), []string{"JM130"})
}
