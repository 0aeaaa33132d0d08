package rules_test

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// TestLiveKueue checks that each Job in the recordings of a live Kueue has
// one finding about its cause, with the reason and the remedy that worked.
func TestLiveKueue(t *testing.T) {
	for _, tt := range []struct{ recording, job, codes, says, fix string }{
		{
			"manager-cannot-record-the-worker", "d15-a", "JM022", "runs on kwok-w1, but Kueue on kwok-mgr can never record that",
			"kubectl --context kwok-w1 -n default delete workloads.kueue.x-k8s.io job-d15-a-3e8a5",
		},
		{
			"jobsets", "d15-a", "JM022", "runs on kwok-w1, but Kueue on kwok-mgr has not recorded that",
			"kubectl --context kwok-w1 -n default delete workloads.kueue.x-k8s.io job-d15-a-3e8a5",
		},
		{
			"mirror-without-multikueue-label", "a03-label", "JM136", "is Complete, but MultiKueue does not copy that status: the mirror lost label kueue.x-k8s.io/multikueue-origin",
			"kubectl --context kwok-w1 -n default label job a03-label kueue.x-k8s.io/multikueue-origin=multikueue",
		},
		{
			"many-edits-one-timed-out", "a03-label", "JM136", "lost label kueue.x-k8s.io/multikueue-origin",
			"kubectl --context kwok-w1 -n default label job a03-label kueue.x-k8s.io/multikueue-origin=multikueue",
		},
		{"many-edits-one-timed-out", "a20-met", "JM124", "stopped at its maximum execution time (kueue.x-k8s.io/max-exec-time-seconds)", "kubectl --context kwok-mgr -n default delete job a20-met"},
		{
			"many-edits-one-timed-out", "a18-wlm", "JM129", "counts 2 Pods as active that are gone",
			`kubectl --context kwok-mgr -n default patch job a18-wlm --subresource=status --type=merge -p '{"status":{"active":0,"ready":0}}'`,
		},
		{
			"many-edits-one-timed-out", "a02-par", "JM036", "a user (kubectl patch) edited its mirror on worker1 (kwok-w1)",
			`kubectl --context kwok-mgr -n default patch job a02-par --subresource=status --type=merge -p '{"status":{"active":0,"ready":0}}'`,
		},
		{
			"many-quota-faults", "d11-fits", "JM019", "flavor default-flavor has no topology",
			`kubectl --context kwok-mgr patch resourceflavors.kueue.x-k8s.io default-flavor --type merge -p '{"spec":{"topologyName":"TOPOLOGY"}}'`,
		},
		{
			"many-quota-faults", "d19", "JM029", "its ClusterQueue has no quota for example.com/foo",
			"kubectl --context kwok-w1 edit clusterqueues.kueue.x-k8s.io d19",
		},
		{
			"dispatch-origin-in-multikueue-queue", "d1", "JM012 JM201", "managedBy is not kueue.x-k8s.io/multikueue",
			"kubectl --context kwok-mgr -n disp label job d1 kueue.x-k8s.io/queue-name-",
		},
	} {
		t.Run(tt.recording+" "+tt.job, func(t *testing.T) {
			found := judge(t, inventory(t, recordings+"/"+tt.recording), rules.All(), 0)
			about := slices.DeleteFunc(found, func(f inspect.Finding) bool {
				return !slices.ContainsFunc(f.Jobs, func(r inspect.Ref) bool { return r.Name == tt.job })
			})
			assert.Equal(t, strings.Join(codesOf(about), " "), tt.codes, linesOf(about))
			assert.Assert(t, strings.Contains(about[0].Message, tt.says), about[0].Message)
			fix := ""
			for _, f := range about[0].Fixes {
				fix = cmp.Or(fix, f.Shell())
			}
			assert.Equal(t, fix, tt.fix, "the first command")
		})
	}
}

// liveCases are changes of these recordings.
func liveCases() []testCase {
	const (
		cannot = "manager-cannot-record-the-worker"
		edited = "many-edits-one-timed-out"
		copied = "Workload/job-d15-a-3e8a5"
	)
	taken := patch(mgr, "MultiKueueConfig/fleet", `{spec: {clusters: [worker2]}}`)
	return []testCase{
		{name: "a copy of an earlier offer", code: "JM022", base: cannot, fires: true},
		{
			name: "a copy of this offer, since a moment", code: "JM022", base: cannot,
			edits: []edit{
				patch(w1, copied, `{metadata: {creationTimestamp: "2026-11-23T19:20:20Z"}, status: {conditions: [{type: Admitted, status: "True", reason: Admitted, lastTransitionTime: "2026-11-23T19:20:24Z"}]}}`),
			},
		},
		{name: "a copy of an earlier offer that is being deleted", code: "JM022", base: cannot, edits: []edit{patch(w1, copied, `{metadata: {deletionTimestamp: "2026-11-23T19:20:20Z"}}`)}},
		{name: "a mirror that names its Workload", code: "JM136", base: "mirror-without-multikueue-label", fires: true},
		{
			name: "a mirror that controls its Workload", code: "JM136", base: "mirror-without-multikueue-label", fires: true,
			edits: []edit{patch(w1, "Job/a03-label", `{metadata: {annotations: {kueue.x-k8s.io/prebuilt-workload-name: null}}}`)},
		},
		{name: "a mirror with its label", code: "JM136", base: "running"},
		{name: "a stranger's Job of the same name", code: "JM136", base: "same-name-on-workers"},
		{name: "a Workload that Kueue cannot release", code: "JM129", base: edited, fires: true},
		{name: "a mirror that a user edited", code: "JM036", base: edited, fires: true},
		chainOfManagers(),
		{name: "taken out, and maybe the only run", code: "JM055", base: "running", fires: true, edits: []edit{taken, patch(mgr, workload, `{status: {clusterName: null}}`)}},
	}
}

// chainOfManagers is a fleet in which the queue of worker1 dispatches again,
// and worker2 is missing.
func chainOfManagers() testCase {
	const rejected = `No multikueue adapter found`
	return testCase{name: "a worker that dispatches again", code: "JM015", base: "running", fires: true, edits: slices.Concat(offered(), []edit{
		patch(mgr, workload, `{status: {nominatedClusterNames: [worker1]}}`),
		patch(mgr, "MultiKueueConfig/fleet", `{spec: {clusters: [worker1]}}`),
		add(w1, `{apiVersion: kueue.x-k8s.io/v1beta2, kind: AdmissionCheck, metadata: {name: onward},
			spec: {controllerName: kueue.x-k8s.io/multikueue, parameters: {apiGroup: kueue.x-k8s.io, kind: MultiKueueConfig, name: onward}},
			status: {`+withConditions(condition("Active", "True", "Active", ""))+`}}`),
		add(w1, `{apiVersion: kueue.x-k8s.io/v1beta2, kind: MultiKueueConfig, metadata: {name: onward}, spec: {clusters: [far]}}`),
		add(w1, `{apiVersion: kueue.x-k8s.io/v1beta2, kind: MultiKueueCluster, metadata: {name: far}, spec: {clusterSource: {kubeConfig: {location: far, locationType: Secret}}},
			status: {`+withConditions(condition("Active", "True", "Active", ""))+`}}`),
		patch(w1, "ClusterQueue/cluster-queue", `{spec: {admissionChecksStrategy: {admissionChecks: [{name: onward}]}}}`),
		patch(w1, workload, `{spec: {active: false}, status: {admission: null, `+withConditions(condition("QuotaReserved", "False", "Deactivated", "The workload is deactivated"),
			condition("Evicted", "True", "DeactivatedDueToAdmissionCheck", "deactivated"))+`, admissionChecks: [{name: onward, state: Rejected, message: "`+rejected+`",
			lastTransitionTime: "2026-11-20T23:43:20Z"}]}}`),
	})}
}

// TestChainIsOneFinding checks that a chain of managers is one finding, about
// the queue of the worker.
func TestChainIsOneFinding(t *testing.T) {
	found := judge(t, chainOfManagers().make(t), rules.All(), 0)
	assert.Equal(t, strings.Join(codesOf(found), " "), "JM015", linesOf(found))
	assert.Equal(t, found[0].Kind, "LocalQueue")
	assert.Equal(t, found[0].Jobs[0].Name, "train")
	assert.Equal(t, found[0].Fixes[0].Shell(), "kubectl --context kwok-w1 edit clusterqueues.kueue.x-k8s.io cluster-queue")
}

// TestAddressesAreNamed checks that the message has both addresses if the
// Secret of a worker points elsewhere than the context.
func TestAddressesAreNamed(t *testing.T) {
	c := testCase{base: "running", edits: []edit{
		patch(mgr, "MultiKueueCluster/worker1", `{status: {`+withConditions(condition("Active", "False", "ClientConnectionFailed", "connection refused"))+`}}`),
	}, mutate: func(object map[string]any) {
		data, _ := object["data"].(map[string]any)
		text, isText := data["kubeconfig"].(string)
		if object["kind"] != "Secret" || !isText {
			return
		}
		kubeconfig, err := base64.StdEncoding.DecodeString(text)
		assert.NilError(t, err)
		data["kubeconfig"] = base64.StdEncoding.EncodeToString([]byte(strings.Replace(string(kubeconfig), ":32758", ":39999", 1)))
	}}
	found := judge(t, c.make(t), rules.All(), 0)
	assert.Equal(t, found[0].Code, "JM004")
	assert.Equal(t, found[0].Message, "kwok-mgr cannot use worker worker1: its kubeconfig points to https://127.0.0.1:39999, context kwok-w1 to https://127.0.0.1:32758"+
		"; it runs default/train; MultiKueue restarts the Job elsewhere after workerLostTimeout, by default at about 2026-11-20T23:58:20Z")
}

// TestOnlyRunIsKept checks that no remedy deletes what may be the only run.
func TestOnlyRunIsKept(t *testing.T) {
	for _, c := range liveCases() {
		if c.code != "JM055" {
			continue
		}
		for _, f := range judge(t, c.make(t), rules.All(), 0) {
			assert.Assert(t, f.Code != "JM055" || len(f.Fixes[0].Command) == 0, f.Remedy)
		}
	}
}

// TestLineIsOneFinding checks that all Jobs that wait in the line of one
// queue are one finding.
func TestLineIsOneFinding(t *testing.T) {
	n := 0
	for _, f := range judge(t, inventory(t, recordings+"/dispatch-origin-in-multikueue-queue"), rules.All(), 0) {
		if f.Code == "JM115" {
			n++
			assert.Equal(t, len(f.Jobs), 2)
		}
	}
	assert.Equal(t, n, 1)
}

// TestTimeToReact checks that components get some seconds even without a
// grace period.
func TestTimeToReact(t *testing.T) {
	for _, f := range judge(t, inventory(t, recordings+"/many-quota-faults"), rules.All(), 0) {
		assert.Assert(t, f.Code != "JM121" && f.Code != "JM122", f.Message)
	}
}

// TestNominatedNowhere checks that a worker that runs a Workload which is nominated nowhere is never
// recorded, once the copy cannot be about to be deleted.
func TestNominatedNowhere(t *testing.T) {
	rule, _ := rules.ByCode("JM022")
	for later, count := range map[time.Duration]int{time.Minute: 0, 3 * time.Minute: 1} {
		c := testCase{base: "manager-cannot-record-the-worker", later: later, edits: []edit{
			patch(w1, "Workload/job-d15-a-3e8a5", `{metadata: {creationTimestamp: "2026-11-23T19:20:20Z"}, status: {conditions: [{type: Admitted, status: "True", reason: Admitted, lastTransitionTime: "2026-11-23T19:20:24Z"}]}}`),
			patch(mgr, "Workload/job-d15-a-3e8a5", `{status: {nominatedClusterNames: null}}`),
		}}
		found := judge(t, c.make(t), []rules.Rule{rule}, 0)
		assert.Equal(t, len(found), count, "after %s: %+v", later, found)
		if count > 0 {
			assert.Assert(t, strings.Contains(found[0].Message, "can never record that"), found[0].Message)
			assert.Assert(t, strings.Contains(found[0].Fixes[0].Shell(), "delete workloads.kueue.x-k8s.io job-d15-a-3e8a5"), "%+v", found[0].Fixes)
		}
	}
}

// TestActiveCountHasTwoFixes: if the status of an origin counts Pods that are gone, the second fix needs no right to
// write a status, which the roles edit and admin lack. The catalogue has both.
func TestActiveCountHasTwoFixes(t *testing.T) {
	for code, at := range map[string][2]string{
		"JM036": {"many-edits-one-timed-out", "a02-par"},
		"JM046": {"mirror-without-multikueue-label", "a16-ns"},
		"JM129": {"many-edits-one-timed-out", "a18-wlm"},
	} {
		f := foundOnce(t, at[0], code, at[1])
		assert.Equal(t, len(f.Fixes), 2, "%s: %s", code, f.Remedy)
		assert.Assert(t, strings.HasPrefix(f.Fixes[0].Text, "set status.active of the origin to 0"), "%s: %s", code, f.Remedy)
		assert.Assert(t, strings.HasPrefix(f.Fixes[1].Text, "delete the Job") && strings.HasSuffix(f.Remedy, "and create the Job again"), "%s: %s", code, f.Remedy)
		rule, _ := rules.ByCode(code)
		assert.Assert(t, strings.Contains(rule.Remedy, "status.active") && strings.Contains(rule.Remedy, "again"), "%s: %s", code, rule.Remedy)
	}
}
