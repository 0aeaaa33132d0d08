package rules_test

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

const recordedBurst = "burst-3"

func behindCases() []testCase {
	return []testCase{
		{name: "a hundred Jobs at once", code: "JM114", base: "burst-1", fires: true},
		{name: "half a minute later", code: "JM114", base: recordedBurst, fires: true},
		{name: "one Job, and all is well", code: "JM114", base: "running"},
		{name: "one Job, and nothing else is seen", code: "JM114", base: recordedKueueDown},
		{name: "one Job, and nothing was seen since", code: "JM114", base: recordedKueueDown, edits: []edit{evaluated("kwok-w1", "2026-11-20T23:49:50Z")}},
		{name: "a worker's Kueue is at work", code: "JM114", base: recordedKueueDown, fires: true, edits: []edit{evaluated("kwok-w1", "2026-11-20T23:50:02Z")}},
	}
}

// evaluated is another Workload, which a worker's Kueue has evaluated.
func evaluated(context, at string) edit {
	return add(context, `{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: another, namespace: default,
		creationTimestamp: "`+at+`"}, spec: {queueName: elsewhere}, status: {conditions: [
		{type: QuotaReserved, status: "False", reason: WaitingForQuota, message: "", lastTransitionTime: "`+at+`"}]}}`)
}

// TestBehind checks that the only finding is that MultiKueue is behind,
// whatever the grace period, and that no finding reports a refusal.
func TestBehind(t *testing.T) {
	for base, jobs := range map[string]int{"burst-1": 52, recordedBurst: 47} {
		v := inventory(t, recordings+"/"+base)
		for grace, severity := range map[time.Duration]inspect.Severity{
			0: inspect.Info, 5 * time.Second: inspect.Warning, 5 * time.Minute: inspect.Info, time.Hour: inspect.Info,
		} {
			findings := judge(t, v, rules.All(), grace)
			assert.Equal(t, strings.Join(codesOf(findings), " "), "JM114", "%s %s", base, grace)
			assert.Equal(t, len(findings), 1)
			assert.Equal(t, findings[0].Severity, severity, "%s %s", base, grace)
			assert.Equal(t, len(findings[0].Jobs), jobs, "%s", base)
		}
	}
	f := judge(t, inventory(t, recordings+"/burst-1"), rules.All(), 0)[0]
	assert.Equal(t, f.Kind+" "+f.Name, "AdmissionCheck multikueue")
	assert.Equal(t, f.Message, "AdmissionCheck multikueue: MultiKueue on kwok-mgr is behind: 52 Jobs wait for it; MultiKueue does about 276 steps per minute")
	assert.Equal(t, f.Evidence[0], "kwok-mgr: 30 wait for Kueue to nominate clusters for them, default/job-b-28-8fbda since 2026-11-22T04:43:42Z; "+
		"the last such step was at 2026-11-22T04:43:52Z, about 96 per minute")
}

// TestPassedOverIsReported checks that a step that a working actor has passed over
// for long is reported, with the evidence that others were served. A step of
// an actor without any seen action is not excused by another one.
func TestPassedOverIsReported(t *testing.T) {
	admitted := `{status: {conditions: [{type: Admitted, status: "True", reason: Admitted, message: "", lastTransitionTime: "2026-11-22T04:38:00Z"}]}}`
	forgotten := []edit{
		patch("kwok-w1", "Workload/job-b-14-2b1d1", admitted), patch("kwok-w2", "Workload/job-b-14-2b1d1", admitted),
	}
	silent := []edit{
		patch("kwok-w1", "Workload/job-b-90-*", `{status: {conditions: []}, metadata: {creationTimestamp: "2026-11-22T04:38:00Z", managedFields: []}}`),
	}
	for name, tt := range map[string]struct {
		edits []edit
		code  string
		job   string
		proof string
	}{
		"others that came later have their mirror": {
			forgotten, "JM035", "b-14",
			"kwok-mgr: Kueue on kwok-mgr works: its last such step for another object (a mirror on kwok-w2) was at 2026-11-22T04:44:19Z",
		},
		"the worker's Kueue looks at others": {
			silent, "JM031", "b-90",
			"kwok-w1: Kueue on kwok-w1 works: its last such step for another object (a quota decision) was at 2026-11-22T04:44:23Z",
		},
	} {
		t.Run(name, func(t *testing.T) {
			findings := judge(t, testCase{name: name, code: "cover", base: recordedBurst, edits: tt.edits}.inventory(t), rules.All(), 5*time.Minute)
			assert.Equal(t, strings.Join(codesOf(findings), " "), tt.code+" JM114")
			f := findings[0]
			assert.Equal(t, f.Code+" "+f.Jobs[0].Name, tt.code+" "+tt.job)
			assert.Equal(t, len(f.Jobs), 1)
			assert.Equal(t, f.Evidence[len(f.Evidence)-1], tt.proof)
			assert.Assert(t, !strings.Contains(f.Remedy, "start it"), f.Remedy)
		})
	}
}

// TestDueTimeOfStatusCopy checks that copying a status is due from when the mirror's
// status was written, so that it shows which Job was served out of order.
func TestDueTimeOfStatusCopy(t *testing.T) {
	v := testCase{name: "turn", code: "of status", base: "running", edits: []edit{writtenAt("kwok-w1", "30"), writtenAt("kwok-mgr", "31")}}.inventory(t)
	for _, a := range liveness.Of(v).RecordOf(liveness.Actor{Role: liveness.RoleKueue, Context: "kwok-mgr"}).Actions {
		if a.Duty == liveness.DutyStatus {
			assert.Equal(t, a.At.Sub(a.Due), time.Second)
			return
		}
	}
	t.Fatal("no status was copied")
}

// TestBehindCountsMirrorsWithTheirJob checks that a Job that waits for the deletion of its mirror counts
// once, although its finding is about both.
func TestBehindCountsMirrorsWithTheirJob(t *testing.T) {
	v := testCase{base: "cluster-removed-from-config", edits: []edit{
		patch("kwok-mgr", "MultiKueueConfig/fleet", `{spec: {clusters: [worker1, worker2]}}`),
		evaluated("kwok-mgr", "2026-11-20T23:49:50Z"),
	}}.make(t)
	var messages []string
	for _, f := range judge(t, v, rules.All(), 0) {
		if f.Code == "JM114" {
			messages = append(messages, f.Message)
		}
	}
	assert.Equal(t, len(messages), 1)
	assert.Assert(t, strings.HasPrefix(messages[0], "AdmissionCheck multikueue: 1 Job waits "), messages[0])
}

// TestAnswersBehind: each Job that waits for a MultiKueue that is behind has the fix for that, also if its own step is
// only seconds old. No answer says that workers refuse a Job that MultiKueue has not offered to them.
func TestAnswersBehind(t *testing.T) {
	for base, jobs := range map[string]map[string]string{
		"burst-1": {
			"b-24":  "waiting. MultiKueue has not copied the Workload to kwok-w1 and kwok-w2 yet. MultiKueue is behind: 52 Jobs wait for it.",
			"b-100": "waiting. Quota is reserved on kwok-mgr; Kueue has offered it to no worker yet. MultiKueue is behind: 52 Jobs wait for it.",
		},
		"burst-3": {
			"b-13": "waiting. MultiKueue chose kwok-w1, which has no mirror yet. MultiKueue is behind: 47 Jobs wait for it.",
			"b-14": "waiting. Admitted on kwok-w1 and kwok-w2 for 35s; MultiKueue has created no mirror yet. MultiKueue is behind: 47 Jobs wait for it.",
		},
	} {
		found := 0
		for _, trace := range answersOf(t, testCase{base: base}.make(t), 0) {
			if trace.Origin == nil || jobs[trace.Origin.Name] == "" {
				continue
			}
			found++
			assert.Equal(t, trace.Summary, jobs[trace.Origin.Name])
			assert.Assert(t, len(trace.Fixes) > 0 && strings.HasPrefix(trace.Fixes[0].Text, "wait; if it stays behind"), "%s: %v", trace.Origin.Name, trace.Fixes)
		}
		assert.Equal(t, found, len(jobs))
	}
}
