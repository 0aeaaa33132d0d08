package rules_test

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/answer"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// TestUserOfOneNamespace checks that users who may not read cluster-wide objects and Secrets learn
// why their Jobs wait. Without MultiKueueConfigs, there may be other workers, so that nothing
// that only workers show is an error.
func TestUserOfOneNamespace(t *testing.T) {
	edits := ofOneNamespace()
	messages := map[string]string{
		"no-quota-on-workers":      "fits on no worker that it was offered to: needs 2 cpu, limit 1 (flavor default-flavor)",
		"mirror-refused-by-quota":  "ask an administrator of kwok-mgr which context reaches worker1, worker2",
		"kueue-down-on-workers":    "you may not read the queues on kwok-w1 and kwok-w2",
		"managed-by-missing":       "give it to MultiKueue: `kubectl jobs-managedby recreate train ",
		"mirror-mutated-on-worker": "changed its mirror",
	}
	for base, want := range map[string][]string{
		"no-quota-on-workers":           {"JM029 warning"},
		"localqueue-missing-on-workers": {"JM026 warning"},
		"preempted-on-worker":           {"JM029 info"},
		"strict-fifo-head-blocks":       {"JM029 info", "JM135 info"},
		"mirror-refused-by-quota":       {"JM135 info"},
		"kueue-down-on-workers":         {"JM135 info"},
		"managed-by-missing":            {"JM012 error"},
		"mirror-mutated-on-worker":      {"JM036 warning"},
		"running":                       {},
	} {
		t.Run(base, func(t *testing.T) {
			v := testCase{name: "user of one namespace " + base, code: "JM029", base: base, edits: edits}.make(t)
			found := []string{}
			for _, f := range judge(t, v, rules.All(), 0) {
				if text := messages[base]; text != "" {
					assert.Check(t, strings.Contains(f.Message+" "+f.Remedy, text), "%s: %s", f.Message, f.Remedy)
				}
				found = append(found, f.Code+" "+string(f.Severity))
			}
			assert.DeepEqual(t, slices.Compact(found), want)
		})
	}
}

// ofOneNamespace returns the edits for a user who may not read cluster-wide objects and Secrets.
func ofOneNamespace() []edit {
	var edits []edit
	for _, context := range []string{"kwok-mgr", "kwok-w1", "kwok-w2"} {
		for _, resource := range []string{
			"admissionchecks", "multikueueclusters", "multikueueconfigs", "clusterqueues", "resourceflavors", "cohorts", "topologies", "workloadpriorityclasses",
		} {
			edits = append(edits, forbidden(context, resource+".kueue.x-k8s.io"))
		}
		edits = append(edits, forbidden(context, "secrets"))
	}
	return edits
}

// TestOwnSelectorWithoutWorkers checks that a Job whose mirror every worker rejects is reported with the way out,
// although no worker is known.
func TestOwnSelectorWithoutWorkers(t *testing.T) {
	edits := append(ofOneNamespace(), patch(mgr, "Job/train", "{spec: {manualSelector: true}}"), unreachable(w1), unreachable(w2))
	found := judge(t, testCase{base: recordedRefused, edits: edits}.make(t), rules.All(), 0)
	assert.DeepEqual(t, codesOf(found), []string{"JM035"})
	assert.Equal(t, found[0].Predicate(), "no worker can run it: each rejects the mirror, because spec.manualSelector is set")
	assert.Assert(t, strings.HasPrefix(found[0].Remedy, "delete the Job: ") && strings.HasSuffix(found[0].Remedy, "without spec.manualSelector and spec.selector"), found[0].Remedy)
}

// TestEvictedOnUnreadWorker checks that a Job whose eviction holds quota is a warning if its worker was not read: its
// Pods may still run there. trace does not say that it runs, by a status that may be old.
func TestEvictedOnUnreadWorker(t *testing.T) {
	const workload, wanted = "Workload/job-train-1c348", `the Job was evicted (preempted by another Workload), but its Workload still holds quota; whether Pods still run on worker1 is unknown: `
	hangs := conditions(mgr, workload, isReserved, "Evicted=True Preempted")
	look := "check on worker1 whether the mirror default/train still has Pods"
	for name, tt := range map[string]struct {
		edits    []edit
		why, fix string
	}{
		"it does not answer":       {[]edit{hangs, unreachable(w1)}, "connection refused", look + ": `kubectl --context kwok-w1 -n default get job,pods`"},
		"its address is forbidden": {append(ofOneNamespace(), hangs, unreachable(w1), unreachable(w2)), "cannot tell which context reaches it: its address on kwok-mgr could not be read", look},
	} {
		t.Run(name, func(t *testing.T) {
			v := testCase{base: recordedRunning, edits: tt.edits}.make(t)
			found := judge(t, v, rules.All(), 0)
			assert.DeepEqual(t, codesOf(found), []string{"JM046"})
			assert.Equal(t, found[0].Severity, inspect.Warning)
			assert.Equal(t, found[0].Message, "Job default/train: "+wanted+tt.why)
			assert.Equal(t, found[0].Remedy, tt.fix+"; or if it has none, set status.active of the origin to 0: `"+
				`kubectl --context kwok-mgr -n default patch job train --subresource=status --type=merge -p '{"status":{"active":0,"ready":0}}'`+"`")
			trace := answer.Trace(v, only(t, v.Pairs.Pairs))
			assert.Equal(t, trace.State, inspect.StateUnknown)
			assert.Assert(t, strings.HasPrefix(trace.Message, "Kueue evicted it (preempted by another Workload), but its Workload still holds quota; "), trace.Message)
		})
	}
}

// TestUnreadPartsOfWorkers checks that JM135 names what may not be read on the workers that a Job
// waits for, once for all workers.
func TestUnreadPartsOfWorkers(t *testing.T) {
	rule, _ := rules.ByCode("JM135")
	for want, resources := range map[string][]string{
		"you may not read Workloads on kwok-w1 and kwok-w2":                {"workloads"},
		"you may not read the queues on kwok-w1 and kwok-w2":               {"clusterqueues"},
		"you may not read Workloads and the queues on kwok-w1 and kwok-w2": {"workloads", "clusterqueues"},
	} {
		var edits []edit
		for _, context := range []string{"kwok-w1", "kwok-w2"} {
			edits = append(edits, remove(context, "Workload/*"), remove(context, "ClusterQueue/*"))
			for _, resource := range resources {
				edits = append(edits, forbidden(context, resource+".kueue.x-k8s.io"))
			}
		}
		found := judge(t, testCase{base: recordedKueueDown, edits: edits}.make(t), []rules.Rule{rule}, 0)
		assert.Equal(t, len(found), 1)
		assert.Equal(t, found[0].Message, "Job default/train: waits for a worker; cannot see why: "+want)
	}
}
