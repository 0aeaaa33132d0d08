package rules_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// slowlyEvaluated is a Workload that the manager's Kueue has evaluated after nine minutes.
func slowlyEvaluated(name string) edit {
	return add("kwok-mgr", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: `+name+`, namespace: default,
		creationTimestamp: "2026-11-20T23:41:00Z"}, spec: {queueName: elsewhere}, status: {conditions: [
		{type: QuotaReserved, status: "False", reason: WaitingForQuota, message: "", lastTransitionTime: "2026-11-20T23:50:05Z"}]}}`)
}

// TestNoCopiesAnywhere checks that JM025 names all workers that hang, although Kueue on the manager
// is as slow as they make it.
func TestNoCopiesAnywhere(t *testing.T) {
	edits := []edit{
		remove("kwok-w1", untouchedWorkload), remove("kwok-w2", untouchedWorkload), slowlyEvaluated("one"), slowlyEvaluated("two"),
	}
	at := func(later time.Duration) []inspect.Finding {
		c := testCase{name: "hanging", code: "workers " + later.String(), base: recordedKueueDown, edits: edits, later: later}
		return slices.DeleteFunc(judge(t, c.inventory(t), rules.All(), 0), func(f inspect.Finding) bool { return f.Code != "JM025" && f.Code != "JM114" })
	}
	early := at(0)
	assert.Equal(t, strings.Join(codesOf(early), " "), "JM114")
	assert.Equal(t, early[0].Message, "AdmissionCheck multikueue: 1 Job waits for MultiKueue on kwok-mgr to copy its Workload to kwok-w1 and kwok-w2")
	assert.Assert(t, strings.HasPrefix(early[0].Remedy, "wait a minute; if it remains, read the log of Kueue on kwok-mgr"), early[0].Remedy)

	findings := at(40 * time.Second)
	assert.Equal(t, strings.Join(codesOf(findings), " "), "JM025")
	assert.Equal(t, len(findings), 1)
	f := findings[0]
	assert.Equal(t, f.Severity, inspect.Error)
	assert.Equal(t, f.Message, "worker1 (kwok-w1) and worker2 (kwok-w2) are nominated, but have no copy of the Workload")
	assert.Assert(t, strings.Contains(f.Remedy, "check that Kueue's webhooks run on kwok-w1 and kwok-w2"), f.Remedy)
}

// TestGoneMirrorHasNoDate checks that no finding claims to know since when a mirror is gone: its
// Job started long before.
func TestGoneMirrorHasNoDate(t *testing.T) {
	base := testCase{name: "gone", code: "mirror", base: "running", later: time.Minute, edits: []edit{
		remove("kwok-w1", "Job/train"), remove("kwok-w1", "Workload/*"), remove("kwok-w1", "Pod/*"),
	}}
	find := func(c testCase, code string) *inspect.Finding {
		findings := judge(t, c.inventory(t), rules.All(), 0)
		i := slices.IndexFunc(findings, func(f inspect.Finding) bool { return f.Code == code })
		assert.Assert(t, i >= 0, "%s is not among %v", code, codesOf(findings))
		return &findings[i]
	}
	assert.Assert(t, find(base, "JM105").Since == nil)

	slow := strings.NewReplacer("2026-11-20T23:41:00Z", "2026-11-20T23:36:00Z", "2026-11-20T23:50:05Z", "2026-11-20T23:44:40Z")
	for _, name := range []string{"one", "two"} {
		e := slowlyEvaluated(name)
		e.patch = slow.Replace(e.patch)
		base.edits = append(base.edits, e)
	}
	base.code = "mirror, just noticed"
	f := find(base, "JM114")
	assert.Equal(t, f.Message, "AdmissionCheck multikueue: 1 Job waits for MultiKueue on kwok-mgr to copy the status of its mirror")
}

// TestKueueOfWorkerWithoutCopies checks that JM025 first doubts that Kueue runs on a worker without
// copies, unless a newer action shows it at work.
func TestKueueOfWorkerWithoutCopies(t *testing.T) {
	atWork := slowlyEvaluated("other")
	atWork.context, atWork.patch = "kwok-w1", strings.NewReplacer("23:50:05Z", "23:50:38Z", "23:41:00Z", "23:50:37Z").Replace(atWork.patch)
	for name, tt := range map[string]struct {
		edits []edit
		want  string
	}{
		"no action is known": {nil, "Kueue may not run on kwok-w1, so first check that Kueue's webhook runs on kwok-w1: "},
		"it works":           {[]edit{atWork}, "search the log for 'creating remote object': "},
	} {
		t.Run(name, func(t *testing.T) {
			c := testCase{base: recordedKueueDown, later: 40 * time.Second, edits: append(tt.edits, remove("kwok-w1", untouchedWorkload))}
			rule, _ := rules.ByCode("JM025")
			found := judge(t, c.make(t), []rules.Rule{rule}, 0)
			assert.Equal(t, len(found), 1)
			assert.Assert(t, strings.HasPrefix(found[0].Remedy, tt.want), found[0].Remedy)
		})
	}
}
