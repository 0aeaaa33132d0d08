package rules_test

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// TestQuotaThatIsSetAboveTheSpec checks that no fix edits the spec of a
// ClusterQueue whose quotas something else sets, because the edit would have
// no effect.
func TestQuotaThatIsSetAboveTheSpec(t *testing.T) {
	const orchestrated = `{status: {effectiveQuotas: {orchestratorRef: {kind: QuotaPlan, name: nightly}, resourceGroups: []}}}`
	for _, code := range []string{"JM019", "JM029"} {
		for _, isSet := range []bool{false, true} {
			c := testCase{base: recordedNoQuota}
			if code == "JM019" {
				c.edits = append(c.edits, backInQueue("WaitingForQuota", ""))
			}
			if isSet {
				c.edits = append(c.edits, patch("kwok-mgr", "ClusterQueue/cluster-queue", orchestrated), patch("kwok-w1", "ClusterQueue/cluster-queue", orchestrated))
			}
			rule, _ := rules.ByCode(code)
			found := judge(t, c.make(t), []rules.Rule{rule}, 0)
			assert.Equal(t, len(found), 1, "%s: %+v", code, found)
			assert.Equal(t, strings.Contains(found[0].Remedy, "QuotaPlan nightly"), isSet, found[0].Remedy)
			assert.Assert(t, !isSet || !strings.Contains(found[0].Remedy, " edit clusterqueue"), found[0].Remedy)
		}
	}
}

// TestQuotaAfterPreemption checks that a preempted Job gets no other fix for
// more quota.
func TestQuotaAfterPreemption(t *testing.T) {
	c := testCase{base: recordedNoQuota, edits: []edit{
		patch("kwok-mgr", waitingWorkload, `{status: {admission: null, clusterName: null, nominatedClusterNames: null, admissionChecks: null, conditions: [
			{type: QuotaReserved, status: "False", reason: WaitingForQuota, message: "", lastTransitionTime: "2026-11-20T23:50:26Z"},
			{type: Preempted, status: "True", reason: InClusterQueue, message: "Preempted to accommodate a workload (UID: x, JobUID: y) due to prioritization in the ClusterQueue", lastTransitionTime: "2026-11-20T23:50:26Z"},
			{type: Evicted, status: "True", reason: Preempted, message: Preempted, lastTransitionTime: "2026-11-20T23:50:26Z"}]}}`),
		patch("kwok-mgr", "ClusterQueue/cluster-queue", `{status: {effectiveQuotas: {resourceGroups: []}}}`),
	}}
	rule, _ := rules.ByCode("JM019")
	found := judge(t, c.make(t), []rules.Rule{rule}, 0)
	assert.Equal(t, len(found), 1, "%+v", found)
	assert.Assert(t, strings.Contains(found[0].Message, "waits for quota again"), found[0].Message)
	assert.Assert(t, strings.Contains(found[0].Remedy, "in the quota orchestrator: it sets the quota of ClusterQueue cluster-queue"), found[0].Remedy)
}

// TestCohortCycle checks that a ClusterQueue in a circle of cohorts is
// not said to lack something itself.
func TestCohortCycle(t *testing.T) {
	const circle = `{status: {conditions: [{type: Active, status: "False", reason: CohortCycleDetected, message: "cohort cycle", lastTransitionTime: "2026-11-20T23:20:00Z"}]}}`
	for code, edits := range map[string][]edit{
		"JM027": append(onWorkers("Suspended", "ClusterQueue cluster-queue is inactive"), patch("kwok-w1", "ClusterQueue/cluster-queue", circle)),
		"JM019": {backInQueue("Suspended", "ClusterQueue cluster-queue is inactive"), patch("kwok-mgr", "ClusterQueue/cluster-queue", circle)},
		"JM128": {patch("kwok-mgr", "ClusterQueue/cluster-queue", circle)},
	} {
		base := recordedNoQuota
		if code == "JM128" {
			base = "running"
		}
		c := testCase{base: base, edits: edits}
		rule, _ := rules.ByCode(code)
		found := judge(t, c.make(t), []rules.Rule{rule}, 0)
		assert.Assert(t, len(found) == 1, "%s: %+v", code, found)
		assert.Assert(t, strings.Contains(found[0].Remedy, "break the cycle of cohorts"), found[0].Remedy)
	}
}

// TestClassesOfJobsWithoutWorkload checks that a Job whose class does not exist has that cause, and is
// not reported together with another one.
func TestClassesOfJobsWithoutWorkload(t *testing.T) {
	c := testCase{base: "managed-by-missing", edits: []edit{
		remove("kwok-mgr", "Workload/default/job-train-f2552"),
		add("kwok-mgr", `{apiVersion: batch/v1, kind: Job, metadata: {name: second, namespace: default, uid: second, labels: {kueue.x-k8s.io/queue-name: user-queue},
			creationTimestamp: "2026-11-20T23:50:25Z"}, spec: {suspend: true, managedBy: kueue.x-k8s.io/multikueue, selector: {}, template: {metadata: {}, spec: {containers: []}}}}`),
	}}
	rule, _ := rules.ByCode("JM017")
	class := func(name, unread string, isMissing bool) inspect.Class {
		return inspect.Class{Name: inspect.ClassName{Kind: "PriorityClass", Name: name, Resource: "priorityclasses.scheduling.k8s.io"}, IsMissing: isMissing, Unread: unread}
	}
	for name, tt := range map[string]struct {
		first, second inspect.Class
		want          int
		message, fix  string
	}{
		"both exist":             {class("low", "", false), class("high", "", false), 1, "is in queue user-queue", "check that Kueue runs"},
		"one is missing":         {class("low", "", true), class("high", "", false), 2, "PriorityClass low does not exist on kwok-mgr", "create it, or name a PriorityClass"},
		"both are missing":       {class("low", "", true), class("low", "", true), 1, "PriorityClass low does not exist on kwok-mgr", "create it, or name a PriorityClass"},
		"two others are missing": {class("low", "", true), class("high", "", true), 2, "PriorityClass low does not exist on kwok-mgr", "create it, or name a PriorityClass"},
		"unread":                 {class("low", "forbidden", false), class("low", "forbidden", false), 1, "is in queue user-queue", "check that PriorityClass low exists"},
		"unread, of two kinds":   {class("low", "forbidden", false), inspect.Class{Name: inspect.ClassName{Kind: "WorkloadPriorityClass", Name: "low"}, Unread: "forbidden"}, 2, "is in queue user-queue", "check that PriorityClass low exists"},
		"two unread":             {class("low", "forbidden", false), class("high", "forbidden", false), 2, "is in queue user-queue", "check that PriorityClass low exists"},
	} {
		t.Run(name, func(t *testing.T) {
			v := c.make(t)
			hub := v.Facts("kwok-mgr")
			for _, j := range hub.Jobs {
				hub.AddClass(j, map[string]inspect.Class{"train": tt.first, "second": tt.second}[j.Name])
			}
			found := judge(t, v, []rules.Rule{rule}, 0)
			assert.Equal(t, len(found), tt.want, "%+v", found)
			i := slices.IndexFunc(found, func(f inspect.Finding) bool { return f.Jobs[0].Name == "train" || len(f.Jobs) > 1 })
			assert.Assert(t, strings.Contains(found[i].Message, tt.message), found[i].Message)
			assert.Assert(t, strings.HasPrefix(found[i].Remedy, tt.fix), found[i].Remedy)
		})
	}
}

// TestPriorityClassThatIsMissing checks that Kueue counts as working if it
// reports why it creates no Workload.
func TestPriorityClassThatIsMissing(t *testing.T) {
	c := testCase{base: "managed-by-missing", edits: []edit{
		remove("kwok-mgr", "Workload/default/job-train-f2552"),
		add("kwok-mgr", `{apiVersion: v1, kind: Event, metadata: {name: w, namespace: default}, type: Warning, reason: WorkloadPriorityClassNotFound,
			message: 'WorkloadPriorityClass "urgent" not found',
			involvedObject: {kind: Job, namespace: default, name: train, uid: eb478f4d-5da0-488b-bba9-661edac7e86b}, lastTimestamp: "2026-11-20T23:50:27Z"}`),
	}}
	rule, _ := rules.ByCode("JM017")
	found := judge(t, c.make(t), []rules.Rule{rule}, 0)
	assert.Equal(t, len(found), 1, "%+v", found)
	assert.Assert(t, strings.Contains(found[0].Message, "its WorkloadPriorityClass does not exist there"), found[0].Message)
	named := testCase{base: c.base, edits: append(slices.Clip(c.edits), patch("kwok-mgr", "Job/default/train", `{metadata: {labels: {kueue.x-k8s.io/priority-class: urgent}}}`))}
	assert.Assert(t, strings.Contains(judge(t, named.make(t), []rules.Rule{rule}, 0)[0].Message, ": WorkloadPriorityClass urgent does not exist there"))
	assert.Assert(t, strings.Contains(strings.Join(found[0].Evidence, "\n"), `"urgent" not found`), "%v", found[0].Evidence)
	assert.Assert(t, strings.Contains(found[0].Remedy, "get workloadpriorityclasses.kueue.x-k8s.io") && !strings.Contains(found[0].Remedy, "managedJobsNamespaceSelector"), found[0].Remedy)
}

// TestQuotaOnRemovedWorker checks that a Job that fits on no worker does not wait for quota of a worker that was
// removed from the MultiKueueConfig. MultiKueue keeps the copy there, but no longer uses it.
func TestQuotaOnRemovedWorker(t *testing.T) {
	rule, _ := rules.ByCode("JM029")
	edits := []edit{patch("kwok-w2", waitingWorkload, withoutQuota("WaitingForQuota", "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default-flavor, 1 more needed"))}
	for want, edits := range map[inspect.Severity][]edit{
		inspect.Info:  edits,
		inspect.Error: append(edits, patch("kwok-mgr", "MultiKueueConfig/fleet", `{spec: {clusters: [worker1]}}`)),
	} {
		found := judge(t, testCase{base: recordedNoQuota, edits: edits}.make(t), []rules.Rule{rule}, 0)
		assert.Equal(t, len(found), 1, "%+v", found)
		assert.Equal(t, found[0].Severity, want, found[0].Message)
	}
}
