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

// TestLeftPodsOfEmptyCluster checks that trace and check see the Pods that a deleted mirror left on a cluster
// without any delegated Job.
func TestLeftPodsOfEmptyCluster(t *testing.T) {
	rule, _ := rules.ByCode("JM061")
	left := podsLeftCases()[0]
	left.edits = append(left.edits, remove("kwok-w1", "Job/train"), remove("kwok-w1", "Workload/job-train-1c348"))
	o := open(t, left.bundle(t))
	agrees(t, o)
	findings := judge(t, o.traced(t, "", "train"), []rules.Rule{rule}, 0)
	assert.Equal(t, len(findings), 1)
	assert.Equal(t, findings[0].Context, "kwok-w1")
}

// TestUnreachedOrphan checks that the first fix of an orphan on a worker that its manager does not reach is the
// connection, and that no fix waits for a garbage collection that cannot work.
func TestUnreachedOrphan(t *testing.T) {
	rule, _ := rules.ByCode("JM053")
	lost := patch("kwok-mgr", "MultiKueueCluster/worker2", `{status: {conditions: [
		{type: Active, status: "False", reason: ClientConnectionFailed, message: connection refused, lastTransitionTime: "2026-11-20T23:20:00Z"}]}}`)
	f := judge(t, testCase{base: "origin-deleted-controller-down", edits: []edit{lost}}.make(t), []rules.Rule{rule}, 0)[0]
	assert.Assert(t, strings.HasSuffix(f.Message, "its origin is gone, and Kueue on kwok-mgr cannot delete it: MultiKueueCluster worker2 is not connected (connection refused)"), f.Message)
	assert.Equal(t, f.Fixes[0].Text, "restore the connection from kwok-mgr to worker2 (JM004), and Kueue deletes it")
	assert.Assert(t, !strings.Contains(f.Remedy, "wait one minute"), f.Remedy)
}

// TestOnlyRunCoversWait checks that no finding about a Job that waits recommends to create it again, while a mirror on a
// cluster that was removed from the MultiKueueConfig may be its only run.
func TestOnlyRunCoversWait(t *testing.T) {
	const own, tooMuch = "job-train-267ae", "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor default-flavor, previously considered podsets requests (0) + current podset request (2) > maximum capacity (1)"
	waits := []edit{
		remove("kwok-w2", "Job/train"),
		patch("kwok-mgr", "Job/train", `{spec: {suspend: true}, status: {active: 0, ready: 0, startTime: null}}`),
		patch("kwok-mgr", "Workload/"+own, `{status: {clusterName: null, nominatedClusterNames: [worker2], `+withConditions(gotQuota)+`,
			admissionChecks: [{name: multikueue, state: Pending, message: "", lastTransitionTime: "2026-11-20T23:49:00Z"}]}}`),
		patch("kwok-w2", "Workload/"+own, `{metadata: {ownerReferences: null}, status: {admission: null, `+withConditions(condition("QuotaReserved", "False", "ExceedsMaxQuota", tooMuch))+`}}`),
	}
	codes := func(more ...edit) string {
		c := testCase{base: "cluster-removed-from-config", edits: append(waits, more...), later: time.Hour}
		return strings.Join(codesOf(judge(t, c.make(t), rules.All(), 0)), " ")
	}
	assert.Equal(t, codes(remove("kwok-w1", "Job/train"), remove("kwok-w1", "Workload/"+own)), "JM029")
	assert.Equal(t, codes(), "JM055")
}

// TestTwoWorkloadsOfMirror checks that no fix ends a mirror that runs, although Kueue created a second Workload for it,
// and that a suspended one names what its own Workload waits for.
func TestTwoWorkloadsOfMirror(t *testing.T) {
	skew := driftCases()[0]
	f := judge(t, skew.make(t), rules.All(), 0)
	assert.Equal(t, len(f), 1)
	assert.Equal(t, f[0].Code, "JM040")
	assert.Equal(t, f[0].Severity, inspect.Warning)
	assert.Assert(t, strings.HasPrefix(f[0].Remedy, "let it finish: ") && !strings.Contains(f[0].Remedy, "delete"), f[0].Remedy)

	suspended := patch("kwok-w1", "Job/train", `{spec: {suspend: true}, status: {active: 0, ready: 0, startTime: null}}`)
	alone := testCase{base: skew.base, later: time.Hour, edits: []edit{suspended}}
	assert.Assert(t, slices.Contains(codesOf(judge(t, alone.make(t), rules.All(), 0)), "JM129"))
	skew.later, skew.edits = time.Hour, append(skew.edits, suspended, patch("kwok-w1", "Workload/job-train-99999", `{status: {`+withConditions(noQuotaCondition)+`}}`))
	f = judge(t, skew.make(t), rules.All(), 0)
	assert.Assert(t, !slices.Contains(codesOf(f), "JM129"), codesOf(f))
	i := slices.IndexFunc(f, func(f inspect.Finding) bool { return f.Code == "JM040" })
	assert.Equal(t, f[i].Severity, inspect.Error)
	assert.Assert(t, strings.HasSuffix(f[i].Message, "; Workload job-train-99999 waits: needs 1 more cpu (flavor default-flavor)"), f[i].Message)
}

// TestRestartByTTLIsOneFinding checks that a Job that runs again because of its TTL has one finding about the TTL, which
// says where it runs.
func TestRestartByTTLIsOneFinding(t *testing.T) {
	i := slices.IndexFunc(cases(), func(c testCase) bool { return c.code == "JM039" && c.fires })
	again := cases()[i]
	again.edits = append(again.edits, patch("kwok-w1", "Job/train", "{spec: {ttlSecondsAfterFinished: 5}}"))
	v := again.make(t)
	short, _ := rules.ByCode("JM112")
	assert.Equal(t, len(judge(t, v, []rules.Rule{short}, 0)), 1)
	findings := judge(t, v, rules.All(), 0)
	assert.Assert(t, !slices.Contains(codesOf(findings), "JM112"), codesOf(findings))
	first := findings[slices.IndexFunc(findings, func(f inspect.Finding) bool { return f.Code == "JM039" })]
	assert.Assert(t, strings.HasSuffix(first.Message, "MultiKueue started the Job again on worker1, perhaps after its end"), first.Message)
}
