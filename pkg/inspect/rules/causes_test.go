package rules_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// findingOf returns the finding with a code, and fails if there is none.
func findingOf(t *testing.T, findings []inspect.Finding, code string) inspect.Finding {
	t.Helper()
	i := slices.IndexFunc(findings, func(f inspect.Finding) bool { return f.Code == code })
	assert.Assert(t, i >= 0, "%s is not among %v", code, codesOf(findings))
	return findings[i]
}

// TestWorkerWithoutKueue checks that a worker which answers and has no Kueue is not called
// unreachable, whatever the manager's last message says, and that its lost Jobs are named.
func TestWorkerWithoutKueue(t *testing.T) {
	for code, message := range map[string]string{
		"JM004": lost,
		"JM007": "unable to retrieve the complete list of server APIs: kueue.x-k8s.io/v1beta2: no matches for kueue.x-k8s.io/v1beta2, Resource=",
	} {
		c := testCase{name: "reinstalled", code: code, base: "running", edits: []edit{
			cannotUse("worker1", "ClientConnectionFailed", message), remove("kwok-w1", "Job/default/train"), remove("kwok-w1", "Pod/*"), remove("kwok-w1", "Workload/*"),
		}}
		v := c.make(t)
		worker := v.Facts("kwok-w1")
		worker.Kueue, worker.NoKueue = nil, true
		findings := judge(t, v, rules.All(), 0)
		assert.Equal(t, strings.Join(codesOf(findings), " "), code, linesOf(findings))
		f := findings[0]
		assert.Equal(t, f.Message, "kwok-mgr cannot use worker worker1: kwok-w1 has no Kueue; it lost 1 Job: default/train")
		assert.Assert(t, strings.HasPrefix(f.Remedy, "install Kueue 0.15 or later on worker1: "), f.Remedy)
		assert.Assert(t, !strings.Contains(f.Remedy, "restore"), f.Remedy)

		c.code, c.edits = "JM4 "+code, append(c.edits, class("kwok-mgr", "7"))
		v = c.make(t)
		worker = v.Facts("kwok-w1")
		worker.Kueue, worker.NoKueue = nil, true
		report := rules.Report(v, rules.Options{})
		i := slices.IndexFunc(report.Clusters, func(c inspect.DoctorCluster) bool { return c.Context == "kwok-w1" })
		assert.DeepEqual(t, report.Clusters[i].Passed, []string{"clocks"})
	}
}

// TestDeletedMultiKueueCluster checks that the first fix creates the MultiKueueCluster, that the other
// one says what it ends, and that the namespace of the Job shows the cause.
func TestDeletedMultiKueueCluster(t *testing.T) {
	c := testCase{name: "deleted", code: "JM054", base: "running", edits: []edit{
		remove("kwok-mgr", "MultiKueueCluster/worker1"), active("AdmissionCheck/multikueue", "True", "SomeActiveClusters", "Missing clusters: [worker1]"),
	}}
	v := c.make(t)
	findings := judge(t, v, rules.All(), 0)
	f := findingOf(t, findings, "JM054")
	assert.Equal(t, f.Fixes[0].Text, "create MultiKueueCluster worker1 on kwok-mgr again, with its manifest in FILE")
	assert.Equal(t, strings.Join(f.Fixes[0].Command, " "), "kubectl --context kwok-mgr create -f FILE")
	assert.Equal(t, f.Fixes[1].Text, "to give up kwok-w1 as a worker, delete the mirror, which stops its Pods")
	partly := findingOf(t, findings, "JM011")
	assert.Equal(t, len(partly.Jobs), 1)
	assert.Equal(t, partly.Jobs[0].Name, "train")
	assert.Assert(t, !partly.Since.Time.Before(f.Since.Time), "%s: it existed when the mirror was created", partly.Since)

	// Without the mirror, nothing shows where it was.
	c.name, c.edits = "deleted with its mirror", append(c.edits, remove("kwok-w1", "Job/default/train"), remove("kwok-w1", "Workload/*"), remove("kwok-w1", "Pod/*"))
	v = c.make(t)
	findings = judge(t, v, rules.All(), 0)
	assert.Equal(t, findingOf(t, findings, "JM011").Jobs[0].Name, "train")
	assert.Equal(t, v.UnreadWorker(v.Facts("kwok-mgr"), "worker1").Reason, "there is no MultiKueueCluster worker1 on kwok-mgr")
}

// TestMissingNamespaceIsNoCredentialsFault checks that steps for a namespace that the worker lacks
// do not count as failed requests.
func TestMissingNamespaceIsNoCredentialsFault(t *testing.T) {
	c := unreachedCases()[0]
	c.name = "namespace missing"
	c.edits = append(slices.Clone(c.edits), remove(w1, "Namespace/default"), remove(w2, "Namespace/default"))
	assert.Assert(t, !slices.Contains(codesOf(judge(t, c.make(t), rules.All(), 0)), "JM137"))
}

// TestNamespaceLostWithMirrors checks that the mirrors of a namespace that is gone are one finding,
// and that its fix creates the namespace.
func TestNamespaceLostWithMirrors(t *testing.T) {
	running := `{metadata: {uid: second-uid}, spec: {suspend: false}, status: {active: 1, startTime: "2026-11-20T23:43:19Z"}}`
	c := testCase{name: "emptied", code: "JM105", base: "running", later: time.Minute, edits: append(secondJob("2026-11-20T23:43:18Z"),
		patch(mgr, "Job/default/second", running),
		patch(mgr, "Workload/job-second-abcde", `{status: {clusterName: worker1, nominatedClusterNames: null,
			admissionChecks: [{name: multikueue, state: Ready, message: "", lastTransitionTime: "2026-11-20T23:43:19Z"}]}}`),
		remove(w1, "Job/default/train"), remove(w1, "Workload/*"), remove(w1, "Pod/*"), remove(w1, "Namespace/default"),
	)}
	var lostJobs []inspect.Finding
	for _, f := range judge(t, c.make(t), rules.All(), 0) {
		if f.Code == "JM105" {
			lostJobs = append(lostJobs, f)
		}
	}
	assert.Equal(t, len(lostJobs), 1, linesOf(lostJobs))
	assert.Equal(t, len(lostJobs[0].Jobs), 2)
	assert.Equal(t, lostJobs[0].Fixes[0].Text, "create namespace default on kwok-w1")
}

// TestUnreachedSince checks that JM137 does not date the fault before the last action that it quotes.
func TestUnreachedSince(t *testing.T) {
	c := unreachedCases()[0]
	c.name = "used in between"
	c.edits = append(slices.Clone(c.edits), patch(mgr, "Workload/job-second-abcde", `{metadata: {creationTimestamp: "2026-11-20T23:46:30Z"}}`))
	f := findingOf(t, judge(t, c.make(t), rules.All(), 0), "JM137")
	for _, e := range f.Evidence {
		if _, at, found := strings.Cut(e, "its last action over this connection was at "); found {
			last, err := time.Parse(time.RFC3339, at[:20])
			assert.NilError(t, err)
			assert.Assert(t, !f.Since.Time.Before(last), "%s, since %s", e, f.Since)
		}
	}
}

// TestGarbageCollectorsFinalizers checks that no fix looks for a controller that removes
// finalizer orphan, or to remove it.
func TestGarbageCollectorsFinalizers(t *testing.T) {
	for _, finalizer := range []string{"orphan", "foregroundDeletion"} {
		c := testCase{name: finalizer, code: "JM111", base: "running", later: time.Minute, edits: []edit{
			patch("kwok-mgr", "Job/train", `{metadata: {deletionTimestamp: "2026-11-20T23:44:20Z", finalizers: [`+finalizer+`]}}`),
		}}
		if finalizer == "foregroundDeletion" {
			c.edits = append(c.edits, remove("kwok-mgr", "Workload/*"))
		}
		f := findingOf(t, judge(t, c.make(t), rules.All(), 0), "JM111")
		assert.Equal(t, f.Message, "Job default/train: its deletion waits for the garbage collector, which removes finalizer "+finalizer)
		assert.Assert(t, strings.HasPrefix(f.Remedy, "check that Kueue answers on kwok-mgr: changes of Jobs fail while its webhook hangs: "), f.Remedy)
		assert.Assert(t, strings.Contains(f.Remedy, "otherwise check that kube-controller-manager runs"), f.Remedy)
		assert.Assert(t, !strings.Contains(f.Remedy, "null"), f.Remedy)
	}
}

// TestWorkerThatIsManager checks that doctor keeps both roles of a cluster, and reports a worker that
// two managers share although their configurations are unknown.
func TestWorkerThatIsManager(t *testing.T) {
	c := testCase{name: "second manager", code: "JM411", base: "running", edits: secondManager()}
	report := rules.Report(c.make(t), rules.Options{})
	f := findingOf(t, report.Items, "JM411")
	assert.Equal(t, f.Severity, inspect.Warning)
	assert.Equal(t, f.Message, "kwok-mgr and kwok-w2 share worker first (context kwok-w1); cannot tell whether multiKueue.origin differs")
	assert.Assert(t, strings.HasPrefix(f.Remedy, "if multiKueue.origin is the same on both, set another one on kwok-w2 at once (its Jobs on kwok-w1 start again): "), f.Remedy)
	assert.Equal(t, report.Summary.Managers, 2)
	assert.Equal(t, report.Summary.Workers, 2)
	i := slices.IndexFunc(report.Clusters, func(c inspect.DoctorCluster) bool { return c.Context == "kwok-w2" })
	assert.Equal(t, report.Clusters[i].Role, inspect.RoleManager)
	assert.DeepEqual(t, report.Clusters[i].Names, []string{"worker2"})
}

// TestSharedOriginFixes checks that the fix of JM411 waits for Jobs only if the other manager lets them end: its garbage
// collection deletes their mirrors, before and after the change.
func TestSharedOriginFixes(t *testing.T) {
	for config, want := range map[string]string{
		"multiKueue: {}":               "set another multiKueue.origin on kwok-w2 at once (its Jobs on kwok-w1 start again): ",
		"multiKueue: {gcInterval: 0s}": "wait until no Job of kwok-w2 runs on kwok-w1 (its mirrors keep the old value), then set another multiKueue.origin on kwok-w2: ",
	} {
		c := testCase{code: "JM411", base: "running", edits: slices.Concat(secondManager(), kueueRuns("kwok-mgr", "v0.19.2", config), kueueRuns("kwok-w2", "v0.19.2", "multiKueue: {}"))}
		f := findingOf(t, rules.Report(c.make(t), rules.Options{}).Items, "JM411")
		assert.Assert(t, strings.HasPrefix(f.Remedy, want), f.Remedy)
		assert.Equal(t, len(f.Fixes), 1, f.Remedy)
	}
}

// TestRunsOnUnreachedClusterToo checks that a Job that runs on two clusters is an error, also if no
// MultiKueueCluster points to one of them. The fix keeps the run that MultiKueue reaches.
func TestRunsOnUnreachedClusterToo(t *testing.T) {
	c := testCase{name: "twice", code: "JM054", base: "cluster-removed-from-config", edits: []edit{remove("kwok-mgr", "MultiKueueCluster/worker1")}}
	f := findingOf(t, judge(t, c.make(t), rules.All(), 0), "JM054")
	assert.Equal(t, f.Severity, inspect.Error)
	assert.Assert(t, strings.Contains(f.Message, "runs on kwok-w2 and on kwok-w1, to which no MultiKueueCluster of kwok-mgr points"), f.Message)
	assert.Equal(t, f.Remedy, "delete the mirror on kwok-w1 (that on kwok-w2 continues): `kubectl --context kwok-w1 -n default delete job train`")
}

// TestMistypedOwnerInQueue checks that the one finding about a mistyped owner in a queue of MultiKueue
// has a command that works: MultiKueue rejects Jobs of other owners.
func TestMistypedOwnerInQueue(t *testing.T) {
	c := testCase{name: "typo", code: "JM102", base: "running", edits: []edit{
		addOwned("jobmanagedby.github.io/dispatc", "other", otherUID, "labels: {kueue.x-k8s.io/queue-name: user-queue}", ""),
	}}
	findings := judge(t, c.make(t), rules.All(), 0)
	f := findingOf(t, findings, "JM102")
	assert.Assert(t, strings.Contains(f.Remedy, "--managed-by jobmanagedby.github.io/dispatch --queue ''"), f.Remedy)
	assert.Assert(t, !slices.Contains(codesOf(findings), "JM012"), "%v", codesOf(findings))
}

// TestRoleOfWorkerOfUnreadManager checks that doctor does not call a cluster unrelated to MultiKueue
// while its manager was not read.
func TestRoleOfWorkerOfUnreadManager(t *testing.T) {
	v := (&testCase{name: "unread manager", base: "running"}).make(t)
	v.Facts("kwok-mgr").Err = errors.New("timeout")
	report := rules.Report(inspect.NewInventory(v.Now, v.Clusters, v.Addresses), rules.Options{})
	i := slices.IndexFunc(report.Clusters, func(c inspect.DoctorCluster) bool { return c.Context == "kwok-w1" })
	assert.Equal(t, report.Clusters[i].Role, inspect.RoleUnknown)
}

// TestRoleIsUnknown checks that doctor does not call a cluster unrelated to MultiKueue if its manager, or the
// address of a MultiKueueCluster, is unknown.
func TestRoleIsUnknown(t *testing.T) {
	for _, c := range []testCase{
		{name: "no manager", base: "workers-only-user"},
		{name: "a kubeconfig that cannot be parsed", base: "one-worker-unusable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, cluster := range rules.Report(c.make(t), rules.Options{}).Clusters {
				assert.Assert(t, cluster.Role != inspect.RoleUnrelated, cluster.Context)
			}
		})
	}
}

// TestMistypedControllerInReport checks that doctor reports a check with a mistyped controllerName once, and does
// not pass the queue that is inactive because of it.
func TestMistypedControllerInReport(t *testing.T) {
	report := rules.Report((&testCase{base: unservedCheck}).make(t), rules.Options{})
	assert.DeepEqual(t, codesOf(report.Items), []string{"JM008"})
	i := slices.IndexFunc(report.Clusters, func(c inspect.DoctorCluster) bool { return c.Context == "kwok-mgr" })
	assert.Assert(t, !slices.Contains(report.Clusters[i].Passed, "queues"), "%v", report.Clusters[i].Passed)
}

// TestOneCauseIsOneFinding checks that a cause on several workers, or of a Job that another finding explains,
// is one finding.
func TestOneCauseIsOneFinding(t *testing.T) {
	for _, tt := range []struct {
		base, code, message, remedy string
	}{
		{"many-quota-faults", "JM030", "Jobs have quota on kwok-w1 and kwok-w2, but AdmissionCheck gate has passed on neither", "--context kwok-w2 -n default describe workloads.kueue.x-k8s.io job-d06"},
		{"kueue-down-on-workers", "JM031", "Kueue on kwok-w1 and kwok-w2 has not processed new Workloads", "kubectl --context kwok-w2 get deployments,pods"},
	} {
		findings := judge(t, testCase{base: tt.base}.make(t), rules.All(), 0)
		f := findingOf(t, findings, tt.code)
		same := slices.DeleteFunc(codesOf(findings), func(code string) bool { return code != tt.code })
		assert.Equal(t, len(same), 1, "%s", linesOf(findings))
		assert.Assert(t, strings.Contains(f.Message, tt.message), f.Message)
		assert.Assert(t, strings.Contains(f.Remedy, tt.remedy), f.Remedy)
	}
	codes := codesOf(judge(t, testCase{base: "many-edits-one-timed-out"}.make(t), rules.All(), 0))
	assert.Assert(t, slices.Contains(codes, "JM048") && !slices.Contains(codes, "JM114"), "%v", codes)
}

// TestSingleDuplicate checks that the fix for one duplicate does not refer to others.
func TestSingleDuplicate(t *testing.T) {
	f := findingOf(t, judge(t, testCase{base: "cluster-removed-from-config"}.make(t), rules.All(), 0), "JM055")
	assert.Assert(t, strings.HasSuffix(f.Remedy, "workloads.kueue.x-k8s.io job-train-267ae`"), f.Remedy)
}

// TestMirrorKeptByWorkload checks that the fix says that it stops the Pods of a mirror that runs without its origin, and how
// to keep them: users delete the origin with --cascade=orphan for that.
func TestMirrorKeptByWorkload(t *testing.T) {
	kept := addWorkload("kwok-mgr", "job-train-01764", "labels: {kueue.x-k8s.io/job-uid: 33333333-3333-4333-8333-333333333333}", "")
	for state, tt := range map[string]struct {
		edits []edit
		fixes []string
	}{
		"running": {
			[]edit{kept},
			[]string{"if the Pods are no longer needed, delete the Workload, which stops them", "wait until the mirror has finished, and delete the Workload then"},
		},
		"suspended": {[]edit{kept, patch("kwok-w2", "Job/train", "{spec: {suspend: true}, status: null}")}, []string{"delete the Workload"}},
	} {
		rule, _ := rules.ByCode("JM062")
		f := findingOf(t, judge(t, testCase{base: "origin-deleted-controller-down", edits: tt.edits}.make(t), []rules.Rule{rule}, 0), "JM062")
		assert.Assert(t, strings.HasSuffix(f.Message, "its Job is gone, but it keeps the mirror on kwok-w2 alive ("+state+")"), f.Message)
		var fixes []string
		for _, fix := range f.Fixes {
			fixes = append(fixes, fix.Text)
		}
		assert.DeepEqual(t, fixes, tt.fixes)
		assert.Equal(t, f.Fixes[0].Then[0].Text, "if the mirror still exists a minute later")
	}
}
