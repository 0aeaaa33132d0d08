package rules_test

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// otherHoldCases are the cases of Workloads that Kueue holds for other
// reasons than quota and queues.
func otherHoldCases() []testCase {
	gates := `{type: BlockedOnPreemptionGates, status: "True", reason: BlockedOnPreemptionGates, message: "", lastTransitionTime: "2026-11-20T23:24:45Z"}, {type: QuotaReserved,`
	gated := onWorkers("AdmissionGated", "Workload requires preemption, but it's gated")
	for i := range gated {
		gated[i].patch = strings.Replace(gated[i].patch, "{type: QuotaReserved,", gates, 1)
	}
	pending := onBoth(blockedCopy, withoutQuota("PendingEvaluation", "Workload is pending evaluation in the scheduling queue"))
	held := func(name, reason, message string, onWorker, onManager bool) []testCase {
		return []testCase{
			{name: name + " on the workers", code: "JM116", base: recordedNoQuota, fires: onWorker, edits: onWorkers(reason, message)},
			{name: name + " on the manager", code: "JM019", base: recordedNoQuota, fires: onManager, edits: []edit{backInQueue(reason, message)}},
		}
	}
	all := []testCase{
		{name: "quota in use", code: "JM116", base: recordedNoQuota},
		{name: "MultiKueue's own gate", code: "JM116", base: recordedNoQuota, edits: gated},
		{name: "MultiKueue's own gate", code: "JM033", base: recordedNoQuota, fires: true, edits: gated},
		{name: "a queue that is missing", code: "JM116", base: "localqueue-missing-on-workers"},
		{name: "taken by another", code: "JM116", base: recordedNoQuota, edits: []edit{
			patch("kwok-w1", waitingWorkload, withoutQuota("OnHold", "it is on hold")), patch("kwok-w2", waitingWorkload, admittedCopy),
		}},
		{name: "behind the head, in the words of Kueue 0.20", code: "JM115", base: recordedHead, fires: true, edits: pending},
		{name: "behind the head, in the words of Kueue 0.20", code: "JM031", base: recordedHead, edits: pending},
	}
	all = append(all, held("preempted", "WaitingForPreemptedWorkloads", "Pending the preemption of 1 workload(s)", true, true)...)
	all = append(all, held("not ready", "WaitingForPodsReady", "waiting for all admitted workloads to be in PodsReady condition", true, true)...)
	all = append(all, held("gated", "AdmissionGated", "Admission is gated by: example.com/audit", true, true)...)
	all = append(all, held("on hold", "OnHold", "it is on hold", true, true)...)
	all = append(all, held("devices", "DRAResourcesUnresolved", "deviceClassName: Not found", true, true)...)
	return append(all, held("not looked at", "PendingEvaluation", "Workload is pending evaluation in the scheduling queue", false, false)...)
}

// TestHeldOtherwise checks the findings about such waits, and that a wait
// that passes by itself does not count as stuck.
func TestHeldOtherwise(t *testing.T) {
	for reason, want := range map[string]struct {
		severity inspect.Severity
		says     string
	}{
		"WaitingForPreemptedWorkloads": {inspect.Info, "waits until Kueue has preempted others"},
		"WaitingForPodsReady":          {inspect.Info, "waits until the Pods of admitted Workloads are ready"},
		"AdmissionGated":               {inspect.Info, "on kwok-w1, kwok-w2: admission is gated: why"},
		"OnHold":                       {inspect.Error, "its own controller holds it: why; no other worker can admit it"},
		"DRAResourcesUnresolved":       {inspect.Error, "cannot count its devices: why; no other worker can admit it"},
	} {
		t.Run(reason, func(t *testing.T) {
			c := testCase{base: recordedNoQuota, edits: onWorkers(reason, "why")}
			found := judge(t, c.make(t), rules.All(), 0)
			assert.Equal(t, strings.Join(codesOf(found), " "), "JM116 JM133")
			assert.Equal(t, found[0].Severity, want.severity)
			assert.Assert(t, strings.Contains(found[0].Message, want.says), found[0].Message)
		})
	}
	one := testCase{base: recordedNoQuota, edits: []edit{
		patch("kwok-w1", waitingWorkload, withoutQuota("OnHold", "why")), patch("kwok-w2", waitingWorkload, withoutQuota("WaitingForQuota", "")),
	}}
	found := judge(t, one.make(t), rules.All(), 0)
	assert.Assert(t, strings.Contains(strings.Join(codesOf(found), " "), "JM116"))
	for _, f := range found {
		assert.Assert(t, f.Code != "JM116" || f.Severity == inspect.Warning, "%+v", f)
	}
}

// TestOthersMayAdmit checks that a Job does not count as stuck while a worker was not offered the
// Job: the incremental dispatcher offers it later, and Kueue before 0.15 records no nominations.
func TestOthersMayAdmit(t *testing.T) {
	stopped := patch("kwok-w1", "ClusterQueue/cluster-queue", stoppedQueue)
	rejected := patch("kwok-w1", waitingWorkload, `{status: {conditions: [{type: QuotaReserved, status: "False", reason: X, message: "", lastTransitionTime: "2026-11-20T23:24:46Z"}],
		admissionChecks: [{name: nodes, state: Rejected, message: full, lastTransitionTime: "2026-11-20T23:24:46Z"}]}}`)
	held := func(reason, message string) edit {
		return patch("kwok-w1", waitingWorkload, withoutQuota(reason, message))
	}
	for code, edits := range map[string][]edit{
		"JM027": {held("Suspended", "ClusterQueue cluster-queue is inactive"), stopped},
		"JM116": {held("OnHold", "why")},
		"JM030": {rejected},
	} {
		for _, nominated := range []string{"[worker1]", "null"} {
			t.Run(code+" "+nominated, func(t *testing.T) {
				c := testCase{base: recordedNoQuota, edits: append(slices.Clip(edits), remove("kwok-w2", waitingWorkload),
					patch("kwok-mgr", waitingWorkload, `{status: {nominatedClusterNames: `+nominated+`}}`))}
				rule, _ := rules.ByCode(code)
				found := judge(t, c.make(t), []rules.Rule{rule}, 0)
				assert.Equal(t, len(found), 1)
				assert.Equal(t, found[0].Severity, inspect.Warning, found[0].Message)
				assert.Assert(t, !strings.Contains(found[0].Message, "no other worker"), found[0].Message)

				c.edits = append(c.edits, patch("kwok-mgr", "MultiKueueConfig/fleet", `{spec: {clusters: [worker1]}}`))
				found = judge(t, c.make(t), []rules.Rule{rule}, 0)
				assert.Equal(t, len(found), 1)
				assert.Equal(t, found[0].Severity, inspect.Error, found[0].Message)
			})
		}
	}
}

// TestQuotaIsAdded checks that no fix sets a manager's quota that
// MultiKueue writes.
func TestQuotaIsAdded(t *testing.T) {
	automated := patch("kwok-mgr", "ClusterQueue/cluster-queue", `{status: {conditions: [
		{type: Active, status: "True", reason: Ready, message: "", lastTransitionTime: "2026-11-20T23:20:00Z"},
		{type: MultiKueueManagerQuotaAutomation, status: "True", reason: QuotaAutomated, message: "", lastTransitionTime: "2026-11-20T23:20:00Z"}]}}`)
	for _, reason := range []string{"WaitingForQuota", "ExceedsMaxQuota"} {
		for _, isMade := range []bool{false, true} {
			c := testCase{base: recordedNoQuota, edits: []edit{backInQueue(reason, "")}}
			if isMade {
				c.edits = append(c.edits, automated)
			}
			rule, _ := rules.ByCode("JM019")
			found := judge(t, c.make(t), []rules.Rule{rule}, 0)
			assert.Equal(t, len(found), 1, "%+v", found)
			assert.Equal(t, strings.Contains(found[0].Remedy, "raise the quota of one"), isMade, found[0].Remedy)
			assert.Equal(t, strings.Contains(found[0].Remedy, " edit clusterqueue"), !isMade, found[0].Remedy)
		}
	}
}

// TestWaitsThatMayPass checks which findings about a Job that waits may still pass without a change.
func TestWaitsThatMayPass(t *testing.T) {
	rejected := patch("kwok-w1", waitingWorkload, `{status: {conditions: [{type: QuotaReserved, status: "False", reason: X, message: "", lastTransitionTime: "2026-11-20T23:24:46Z"}],
		admissionChecks: [{name: nodes, state: Rejected, message: full, lastTransitionTime: "2026-11-20T23:24:46Z"}]}}`)
	for name, tt := range map[string]struct {
		code    string
		base    string
		edits   []edit
		mayPass bool
	}{
		"a check is pending":           {"JM020", "many-quota-faults", nil, true},
		"its check does not exist":     {"JM020", "many-quota-faults", []edit{remove("kwok-mgr", "AdmissionCheck/budget")}, false},
		"a worker's check is pending":  {"JM030", "many-quota-faults", nil, true},
		"a worker's check rejected it": {"JM030", recordedNoQuota, []edit{rejected}, false},
		"its mirror vanished":          {"JM048", "many-edits-one-timed-out", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			rule, _ := rules.ByCode(tt.code)
			found := judge(t, testCase{base: tt.base, edits: tt.edits}.make(t), []rules.Rule{rule}, 0)
			isWarning := func(f inspect.Finding) bool { return f.Severity != inspect.Info }
			i := slices.IndexFunc(found, isWarning)
			assert.Assert(t, i >= 0, "%+v", found)
			assert.Equal(t, found[i].AwaitsActor, tt.mayPass, found[i].Message)
		})
	}
}
