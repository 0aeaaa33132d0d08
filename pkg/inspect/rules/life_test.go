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

func lifeCases() []testCase {
	var all []testCase
	for _, cases := range [][]testCase{statusNotCopiedCases(), hangingCases(), ttlCases(), clockCases(), behindCases(), blockedCases()} {
		all = append(all, cases...)
	}
	return all
}

func statusNotCopiedCases() []testCase {
	over := patch("kwok-w1", "Job/train", `{status: {active: 0, ready: 0, succeeded: 2, conditions: [{type: Complete, status: "True", lastTransitionTime: "2026-11-20T23:43:35Z"}]}}`)
	later := patch("kwok-w1", "Job/train", `{status: {startTime: "2026-11-20T23:43:28Z"}}`)
	return []testCase{
		{name: "MultiKueue has not copied it", code: "JM110", base: "running", fires: true, edits: []edit{over}},
		{name: "dispatched, and not copied", code: "JM110", base: "running", fires: true, edits: []edit{
			addDispatched(started), addCopy("kwok-w1", "mirror-of-other", "", ended),
		}},
		{name: "the queue has no MultiKueue check any more", code: "JM110", base: "running", fires: true, edits: append(checkLost(), over)},
		{name: "its check was removed, and the queue has one", code: "JM110", base: "running", edits: append(checkLost()[1:], over)},
		{name: "finished just now", code: "JM110", base: "running", edits: []edit{
			patch("kwok-w1", "Job/train", `{status: {active: 0, ready: 0, succeeded: 2, conditions: [{type: Complete, status: "True", lastTransitionTime: "2026-11-20T23:43:42Z"}]}}`),
		}},
		{name: "both have finished", code: "JM110", base: "running", edits: []edit{
			addDispatched(ended), addCopy("kwok-w1", "mirror-of-other", "", ended),
		}},
		{name: "it was given to another cluster", code: "JM110", base: "running", edits: []edit{
			over, patch("kwok-mgr", "Workload/job-train-1c348", `{status: {clusterName: worker2}}`),
		}},
		{name: "not finished", code: "JM110", base: "running"},
		{name: "started again while it runs", code: "JM138", base: "running", fires: true, edits: []edit{later}},
		{name: "started again, for a user of one namespace", code: "JM138", base: "running", fires: true, edits: []edit{
			later, forbidden("kwok-mgr", "admissionchecks.kueue.x-k8s.io"), forbidden("kwok-mgr", "multikueueclusters.kueue.x-k8s.io"),
			forbidden("kwok-mgr", "multikueueconfigs.kueue.x-k8s.io"), forbidden("kwok-mgr", "secrets"),
		}},
		{name: "started again, with two checks, for a user of one namespace", code: "JM138", base: "running", fires: true, edits: []edit{
			later, forbidden("kwok-mgr", "admissionchecks.kueue.x-k8s.io"), patch("kwok-mgr", "Workload/job-train-1c348", `{status: {admissionChecks: [
				{name: multikueue, state: Ready, lastTransitionTime: "2026-11-20T23:43:24Z", message: ""}, {name: other, state: Ready, lastTransitionTime: "2026-11-20T23:43:24Z", message: ""}]}}`),
		}},
		{name: "started again, and finished", code: "JM138", base: "running", fires: true, edits: []edit{later, over}},
		{name: "its origin is suspended", code: "JM138", base: "running", edits: []edit{later, patch("kwok-mgr", "Job/train", `{spec: {suspend: true}}`)}},
		{name: "evicted, and not started again", code: "JM138", base: "running", edits: []edit{
			later, patch("kwok-w1", "Job/train", `{spec: {suspend: true}, status: {active: 0, ready: 0}}`),
		}},
		{name: "the same start time", code: "JM138", base: "running"},
	}
}

func hangingCases() []testCase {
	deleted := func(finalizers string) string {
		return `{metadata: {deletionTimestamp: "2026-11-20T23:43:40Z", finalizers: [` + finalizers + `]}}`
	}
	return []testCase{
		{name: "an origin", code: "JM111", base: "running", fires: true, edits: []edit{patch("kwok-mgr", "Job/train", deleted("example.com/cleanup"))}},
		{name: "a mirror", code: "JM111", base: "running", fires: true, edits: []edit{patch("kwok-w1", "Job/train", deleted("example.com/cleanup"))}},
		{name: "an origin that waits for Pods with finalizers", code: "JM111", base: "running", fires: true, edits: []edit{
			patch("kwok-mgr", "Job/train", deleted("foregroundDeletion")),
		}},
		{name: "a mirror that waits for its pods", code: "JM111", base: "running", edits: []edit{patch("kwok-w1", "Job/train", deleted("foregroundDeletion"))}},
		{name: "a mirror that waits for lost Pods", code: "JM111", base: "running", fires: true, edits: lostPods("2026-11-20T23:43:38Z")},
		{name: "a mirror whose Pods have time to end", code: "JM111", base: "running", edits: lostPods("2026-11-20T23:43:58Z")},
		{name: "a Job that is not delegated", code: "JM111", base: "same-name-on-workers", edits: []edit{patch("kwok-w1", "Job/train", deleted("example.com/cleanup"))}},
		{name: "not deleted", code: "JM111", base: "running", edits: []edit{patch("kwok-mgr", "Job/train", `{metadata: {finalizers: [example.com/cleanup]}}`)}},
	}
}

func ttlCases() []testCase {
	return []testCase{
		{name: "a short TTL", code: "JM112", base: "running", fires: true, edits: []edit{
			addDispatched(started), addCopy("kwok-w1", "mirror-of-other", "ttlSecondsAfterFinished: 10", started),
		}},
		{name: "a long TTL", code: "JM112", base: "running", edits: []edit{
			addDispatched(started), addCopy("kwok-w1", "mirror-of-other", "ttlSecondsAfterFinished: 3600", started),
		}},
		{name: "the origin has finished", code: "JM112", base: "running", edits: []edit{
			addDispatched(ended), addCopy("kwok-w1", "mirror-of-other", "ttlSecondsAfterFinished: 10", ended),
		}},
		{name: "MultiKueue's", code: "JM112", base: "running", fires: true, edits: []edit{
			patch("kwok-w1", "Job/train", `{spec: {ttlSecondsAfterFinished: 10}}`),
		}},
		{name: "MultiKueue's, long enough", code: "JM112", base: "running", edits: []edit{
			patch("kwok-w1", "Job/train", `{spec: {ttlSecondsAfterFinished: 60}}`),
		}},
	}
}

func clockCases() []testCase {
	return []testCase{
		{name: "the worker's is ahead", code: "JM113", base: "running", fires: true, edits: []edit{skewed("kwok-w1", 120)}},
		{name: "the manager's is behind", code: "JM113", base: "running", fires: true, edits: []edit{skewed("kwok-mgr", -45)}},
		{name: "objects prove that the worker's is ahead", code: "JM113", base: "running", fires: true, edits: []edit{patch("kwok-w1", "Pod/*", `{metadata: {creationTimestamp: "2026-11-21T02:43:19Z"}}`)}},
		{name: "a Pod created while the clusters were read", code: "JM113", base: "running", edits: []edit{patch("kwok-w1", "Pod/*", `{metadata: {creationTimestamp: "2026-11-20T23:44:09Z"}}`)}},
		{name: "they differ by little", code: "JM113", base: "running", edits: []edit{skewed("kwok-w1", 20)}},
		{name: "ours is wrong", code: "JM113", base: "running", edits: []edit{skewed("kwok-w1", 120), skewed("kwok-mgr", 119), skewed("kwok-w2", 121)}},
		{name: "that of a cluster that has none of its mirrors", code: "JM113", base: "running", edits: []edit{skewed("kwok-w2", 120)}},
	}
}

// TestLostCheck checks that findings about Jobs whose queue has lost its MultiKueue check name that
// cause, and give the check back first.
func TestLostCheck(t *testing.T) {
	over := patch("kwok-w1", "Job/train", `{status: {active: 0, ready: 0, succeeded: 2, conditions: [{type: Complete, status: "True", lastTransitionTime: "2026-11-20T23:43:35Z"}]}}`)
	const add = `kubectl --context kwok-mgr patch clusterqueues.kueue.x-k8s.io cluster-queue --type merge -p '{"spec":{"admissionChecksStrategy":{"admissionChecks":[{"name":"multikueue"}]}}}'`
	for code, tt := range map[string]struct {
		edits   []edit
		message string
	}{
		"JM110": {append(checkLost(), over), "Job default/train: its mirror on kwok-w1 is Complete, but the origin still says Running; ClusterQueue cluster-queue on kwok-mgr has no MultiKueue check"},
		"JM013": {admittedHere(), "Job default/train: ClusterQueue cluster-queue has no MultiKueue check: Kueue admitted it on kwok-mgr, where nothing runs it"},
	} {
		t.Run(code, func(t *testing.T) {
			rule, _ := rules.ByCode(code)
			f := judge(t, testCase{base: "running", edits: tt.edits}.make(t), []rules.Rule{rule}, 0)[0]
			assert.Equal(t, f.Message, tt.message)
			assert.Equal(t, f.Severity, inspect.Error)
			assert.Equal(t, f.Fixes[0].Shell(), add)
		})
	}
}

// TestRestartsAreOver checks that a Job that was often evicted and runs now is one finding, which
// says that it runs.
func TestRestartsAreOver(t *testing.T) {
	again := patch(mgr, workload, `{status: {admissionChecks: [{name: multikueue, state: Ready, retryCount: 9, message: "", lastTransitionTime: "2026-11-20T23:43:38Z"}]}}`)
	v := testCase{base: recordedRunning, edits: []edit{conditions(mgr, workload, isReserved, isAdmitted, wasGone), again}}.make(t)
	findings := judge(t, v, rules.All(), 0)
	assert.Equal(t, len(findings), 1)
	assert.Equal(t, findings[0].Code, "JM127")
	assert.Assert(t, strings.Contains(findings[0].Message, "Job default/train was evicted 9 times since 2026-11-20T"), findings[0].Message)
	assert.Assert(t, strings.Contains(findings[0].Message, ", and now runs on MultiKueueCluster worker1"), findings[0].Message)
}

// TestRestartsByTTL checks that the findings about a Job whose mirror is deleted again and again agree: they blame its
// TTL, and say how often it may have run, only if the mirrors can have outlived it.
func TestRestartsByTTL(t *testing.T) {
	const others = "find out who deletes Jobs or Workloads on the workers"
	ttl := func(seconds string) edit {
		return patch(mgr, "Job/train", "{spec: {ttlSecondsAfterFinished: "+seconds+"}}")
	}
	young, old := patch(mgr, workload, `{metadata: {creationTimestamp: "2026-11-20T23:20:00Z"}}`), patch(mgr, workload, `{metadata: {creationTimestamp: "2026-11-20T22:25:00Z"}}`)
	for name, tt := range map[string]struct {
		past  string
		edits []edit
		isTTL bool
	}{
		"each mirror was older":            {"900", []edit{ttl("60")}, true},
		"no mirror was older":              {"300", []edit{ttl("60")}, false},
		"no mirror was older, but the sum": {"330", []edit{ttl("300")}, false},
		"no time, and a young Workload":    {"null", []edit{ttl("60"), young}, false},
		"no time, and an old Workload":     {"null", []edit{ttl("60"), old}, true},
	} {
		again := patch(mgr, workload, `{status: {accumulatedPastExecutionTimeSeconds: `+tt.past+`,
			admissionChecks: [{name: multikueue, state: Ready, retryCount: 9, message: "", lastTransitionTime: "2026-11-20T23:43:38Z"}]}}`)
		v := testCase{base: recordedRunning, edits: append([]edit{conditions(mgr, workload, isReserved, isAdmitted, wasGone), again}, tt.edits...)}.make(t)
		first, _ := rules.ByCode("JM039")
		last, _ := rules.ByCode("JM127")
		byTTL, often := judge(t, v, []rules.Rule{first}, 0), findingOf(t, judge(t, v, []rules.Rule{last}, 0), "JM127")
		assert.Assert(t, strings.Contains(often.Message, "was evicted 9 times"), "%s: %s", name, often.Message)
		assert.Assert(t, strings.Contains(often.Remedy, others), "%s: %s", name, often.Remedy)
		assert.Equal(t, strings.HasPrefix(often.Remedy, "remove the TTL: "), tt.isTTL, "%s: %s", name, often.Remedy)
		assert.Equal(t, len(byTTL) == 1, tt.isTTL, name)
		if tt.isTTL {
			assert.Assert(t, strings.Contains(byTTL[0].Message, "was evicted 9 times, and may have run each time"), "%s: %s", name, byTTL[0].Message)
			assert.Assert(t, strings.HasPrefix(byTTL[0].Remedy, "remove the TTL: "), "%s: %s", name, byTTL[0].Remedy)
		}
	}
}

// TestRestartsWaitForBackoff checks that the finding about a Job that was often evicted says when Kueue queues
// it again.
func TestRestartsWaitForBackoff(t *testing.T) {
	evicted := patch(mgr, workload, `{status: {admission: null, clusterName: null, requeueState: {count: 4, requeueAt: "2026-11-20T23:59:00Z"},
		admissionChecks: [{name: multikueue, state: Pending, message: "", lastTransitionTime: "2026-11-20T23:43:38Z"}], `+
		withConditions(condition("QuotaReserved", "False", "Pending", "Exceeded the PodsReady timeout"), condition("Evicted", "True", "PodsReadyTimeout", "Exceeded the PodsReady timeout"),
			condition("Requeued", "False", "PodsReadyTimeout", ""))+`}}`)
	rule, _ := rules.ByCode("JM127")
	v := testCase{base: recordedRunning, edits: []edit{evicted, remove(w1, "Job/train"), remove(w1, "Pod/*"), remove(w1, workload)}}.make(t)
	findings := judge(t, v, []rules.Rule{rule}, 0)
	assert.Equal(t, len(findings), 1)
	assert.Assert(t, strings.HasSuffix(findings[0].Message, "; the last time: its Pods were not ready in time; waits until 2026-11-20 23:59:00Z, when Kueue queues it again (eviction 4)"), findings[0].Message)
}

// TestRestartsOfUnreadyPods checks that the finding about a Job whose Pods were often not ready in time says so, and which
// Kueue evicted it: that of the manager, since its Workload has the reason.
func TestRestartsOfUnreadyPods(t *testing.T) {
	edits := append(inBackoff("2026-11-20T23:59:00Z"), patch(mgr, workload, `{status: {schedulingStats: {evictions: [{reason: PodsReadyTimeout, underlyingCause: WaitForStart, count: 4}]},
		admissionChecks: [{name: multikueue, state: Pending, message: "", lastTransitionTime: "2026-11-20T23:43:38Z"}]}}`))
	rule, _ := rules.ByCode("JM127")
	findings := judge(t, testCase{base: recordedRunning, edits: edits}.make(t), []rules.Rule{rule}, 0)
	assert.Equal(t, len(findings), 1)
	f := &findings[0]
	assert.Equal(t, f.Message, "Job default/train was evicted 4 times because its Pods were not ready in time (by Kueue on kwok-mgr since 2026-11-20T23:43:18Z); waits until 2026-11-20 23:59:00Z, when Kueue queues it again (eviction 4)")
	assert.Equal(t, len(f.Fixes), 2, f.Remedy)
	assert.Equal(t, f.Fixes[0].Text, "wait until Kueue queues the Workload again; then check why its Pods do not become ready")
	assert.Equal(t, f.Fixes[0].Shell(), "kubectl jobs-managedby logs train -n default --context kwok-mgr -f")
	assert.Equal(t, f.Fixes[1].Text, "raise waitForPodsReady.timeout in the configuration of Kueue on kwok-mgr, if its Pods only need longer")
}

// TestDeletionNamesWorker checks that a finding about the deletion of a mirror names the worker, since
// its name is also that of the origin.
func TestDeletionNamesWorker(t *testing.T) {
	rule, _ := rules.ByCode("JM111")
	for context, want := range map[string]string{"kwok-mgr": "its deletion waits", "kwok-w1": "its deletion on kwok-w1 waits"} {
		for finalizer, waits := range map[string]string{"example.com/x": " for example.com/x", "orphan": " for the garbage collector, which removes finalizer orphan"} {
			c := testCase{base: "running", edits: []edit{patch(context, "Job/train", deleting(finalizer))}}
			f := findingOf(t, judge(t, c.make(t), []rules.Rule{rule}, 0), "JM111")
			assert.Equal(t, f.Message, "Job default/train: "+want+waits)
		}
	}
}

// TestUnblockKeepsOtherFinalizers checks that the fix of JM111 leaves the finalizers of the garbage
// collector alone.
func TestUnblockKeepsOtherFinalizers(t *testing.T) {
	rule, _ := rules.ByCode("JM111")
	for finalizers, patched := range map[string]string{
		"example.com/x":                     `null`,
		"orphan, example.com/x":             `["orphan"]`,
		"foregroundDeletion, example.com/x": `["foregroundDeletion"]`,
	} {
		c := testCase{base: "running", edits: []edit{patch("kwok-mgr", "Job/train", deleting(finalizers))}}
		f := findingOf(t, judge(t, c.make(t), []rules.Rule{rule}, 0), "JM111")
		assert.Assert(t, strings.HasPrefix(f.Remedy, "start the controller that removes finalizer example.com/x; "), f.Remedy)
		assert.Assert(t, strings.Contains(f.Remedy, `{"metadata":{"finalizers":`+patched+`}}`), f.Remedy)
	}
}

// lostPods are a mirror whose deletion waits for Pods that have until a time to end.
func lostPods(until string) []edit {
	return []edit{
		patch("kwok-w1", "Job/train", `{metadata: {deletionTimestamp: "2026-11-20T23:43:28Z", finalizers: [foregroundDeletion]}, status: {active: 0, ready: 0, terminating: 2}}`),
		patch("kwok-w1", "Pod/*", `{metadata: {deletionTimestamp: "`+until+`"}}`),
	}
}

// TestLostPodsKeepMirror checks that a finding about a mirror whose deletion waits for lost Pods names
// them, and counts from the end of their grace period.
func TestLostPodsKeepMirror(t *testing.T) {
	rule, _ := rules.ByCode("JM111")
	f := findingOf(t, judge(t, testCase{base: "running", edits: lostPods("2026-11-20T23:43:38Z")}.make(t), []rules.Rule{rule}, 0), "JM111")
	assert.Equal(t, f.Message, "Job default/train: its deletion on kwok-w1 waits for 2 Pods, such as train-srrml")
	assert.Equal(t, f.Since.UTC().Format(time.TimeOnly), "23:43:38")
	assert.Assert(t, strings.HasSuffix(f.Remedy, quoted("kubectl --context kwok-w1 -n default describe pod train-srrml")), f.Remedy)
}

// TestDatesProveSkew checks that a finding about a clock that only objects show to be wrong quotes the object, and says
// that the difference may be larger.
func TestDatesProveSkew(t *testing.T) {
	rule, _ := rules.ByCode("JM113")
	v := testCase{base: "running", edits: []edit{patch("kwok-w1", "Pod/*", `{metadata: {creationTimestamp: "2026-11-21T02:43:44Z"}}`)}}.make(t)
	f := findingOf(t, judge(t, v, []rules.Rule{rule}, 0), "JM113")
	assert.Assert(t, strings.Contains(f.Message, "the clock of kwok-w1 is at least 10800s ahead of that of kwok-mgr"), f.Message)
	assert.Assert(t, slices.ContainsFunc(f.Evidence, func(line string) bool {
		return strings.HasPrefix(line, "kwok-w1: its API server's clock is at least 10800s ahead of this machine: Pod default/train-") && strings.HasSuffix(line, " was created at 2026-11-21T02:43:44Z")
	}), "%q", f.Evidence)
}

// TestDeletionSaysWhatEnds checks that the fix of a deletion that hangs says which Pods end with it, and that MultiKueue
// then restarts a Job whose mirror is gone.
func TestDeletionSaysWhatEnds(t *testing.T) {
	rule, _ := rules.ByCode("JM111")
	for context, effect := range map[string]string{
		"kwok-mgr": "remove finalizer example.com/x (this ends 2 Pods on kwok-w1): `",
		"kwok-w1":  "remove finalizer example.com/x (this ends 2 Pods on kwok-w1, and MultiKueue restarts the Job from scratch): `",
	} {
		c := testCase{base: "running", edits: []edit{patch(context, "Job/train", deleting("example.com/x"))}}
		f := findingOf(t, judge(t, c.make(t), []rules.Rule{rule}, 0), "JM111")
		assert.Assert(t, strings.Contains(f.Remedy, effect), f.Remedy)
	}
}
