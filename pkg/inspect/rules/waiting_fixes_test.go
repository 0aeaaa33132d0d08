package rules_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// TestFixesOfWaits checks that a wait has the same fixes on the manager
// (JM019) and on workers (JM029), in every version of Kueue, and that none
// deletes the Job. The messages come from recordings.
func TestFixesOfWaits(t *testing.T) {
	const assign = "couldn't assign flavors to pod set main: "
	for name, tt := range map[string]struct{ reason, message, says, fix string }{
		"topology of a flavor": {
			"NoMatchingFlavor", assign + `Flavor "default-flavor" does not support TopologyAwareScheduling`,
			"flavor default-flavor has no topology, which its Pods request", "remove annotation kueue.x-k8s.io/podset-*-topology from the Pod template",
		},
		"missing resource": {
			"NoMatchingFlavor", assign + "resource example.com/foo unavailable in ClusterQueue",
			"has no quota for example.com/foo", "add example.com/foo to a flavor of ClusterQueue cluster-queue on ",
		},
		"taint":                    {"NoMatchingFlavor", assign + "untolerated taint {spot true NoSchedule <nil>} in flavor spot", "taint spot=true:NoSchedule of flavor spot", "tolerate taint spot=true:NoSchedule of flavor spot in the Pod template, then delete Job default/train, and create it again"},
		"taint, before Kueue 0.19": {"Pending", assign + "untolerated taint {spot true NoSchedule <nil>} in flavor spot", "taint spot=true:NoSchedule of flavor spot", "tolerate taint spot=true:NoSchedule of flavor spot in the Pod template, then delete Job default/train, and create it again"},
		"too large": {
			"ExceedsMaxQuota", assign + "insufficient quota for cpu in flavor default-flavor, previously considered podsets requests (0) + current podset request (5) > maximum capacity (4)",
			"needs 5 cpu, limit 4 (flavor default-flavor)", "request at most 4 cpu",
		},
	} {
		for _, code := range []string{"JM019", "JM029"} {
			t.Run(name+" "+code, func(t *testing.T) {
				c := testCase{base: recordedNoQuota, edits: onWorkers(tt.reason, tt.message)}
				if code == "JM019" {
					c.edits = []edit{backInQueue(tt.reason, tt.message)}
				}
				rule, _ := rules.ByCode(code)
				found := judge(t, c.make(t), []rules.Rule{rule}, 0)
				assert.Equal(t, len(found), 1)
				assert.Equal(t, found[0].Severity, inspect.Error)
				assert.Assert(t, strings.Contains(found[0].Message, tt.says), found[0].Message)
				assert.Assert(t, strings.HasPrefix(found[0].Fixes[0].Text, tt.fix), found[0].Remedy)
				for _, f := range found[0].Fixes {
					assert.Assert(t, !strings.Contains(f.Shell(), " delete job"), found[0].Remedy)
				}
			})
		}
	}
}

// TestPodsetsShareQuota checks that podsets that fit alone never fit together,
// if the ClusterQueue has a single flavor.
func TestPodsetsShareQuota(t *testing.T) {
	message := "couldn't assign flavors to pod set workers: insufficient quota for cpu in flavor default-flavor, previously considered podsets requests (3) + current podset request (3) > maximum capacity (4)"
	rule, _ := rules.ByCode("JM029")
	found := judge(t, testCase{base: recordedNoQuota, edits: onWorkers("ExceedsMaxQuota", message)}.make(t), []rules.Rule{rule}, 0)
	assert.Equal(t, len(found), 1)
	assert.Equal(t, found[0].Severity, inspect.Error, found[0].Message)
}

// TestRaiseQuotaOfWorker checks that the fix sets the quota of the worker
// that lacks least.
func TestRaiseQuotaOfWorker(t *testing.T) {
	over := func(limit string) string {
		return withoutQuota("ExceedsMaxQuota", "insufficient quota for cpu in flavor default-flavor, previously considered podsets requests (0) + current podset request (5) > maximum capacity ("+limit+")")
	}
	c := testCase{base: recordedNoQuota, edits: []edit{patch("kwok-w1", waitingWorkload, over("1")), patch("kwok-w2", waitingWorkload, over("4"))}}
	rule, _ := rules.ByCode("JM029")
	found := judge(t, c.make(t), []rules.Rule{rule}, 0)
	assert.Equal(t, len(found), 1)
	assert.Equal(t, found[0].Fixes[1].Text, "raise the quota of ClusterQueue cluster-queue on kwok-w2 from 1 to 2 cpu (flavor default-flavor)")
	assert.Assert(t, strings.Contains(found[0].Fixes[1].Shell(), `"path":"/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota","value":"2"`))
}

// TestTimedOut checks a Workload that ran out of time: no user deactivated
// it, and Kueue undoes its activation.
func TestTimedOut(t *testing.T) {
	timedOut := patch("kwok-mgr", "Workload/job-train-03e73", `{status: {conditions: [
		{type: QuotaReserved, status: "False", reason: Deactivated, message: The workload is deactivated, lastTransitionTime: "2026-11-22T12:00:00Z"},
		{type: Evicted, status: "True", reason: AdmissionCheck, message: "Evicted due to AdmissionCheck in Retry state", lastTransitionTime: "2026-11-22T12:00:00Z"},
		{type: DeactivationTarget, status: "True", reason: MaximumExecutionTimeExceeded, message: exceeding the maximum execution time, lastTransitionTime: "2026-11-22T12:00:00Z"}]}}`)
	rule, _ := rules.ByCode("JM124")
	found := judge(t, testCase{base: "deactivated", edits: []edit{timedOut}}.make(t), []rules.Rule{rule}, 0)
	assert.Equal(t, len(found), 1)
	assert.Equal(t, found[0].Message, "Job default/train: stopped at its maximum execution time (kueue.x-k8s.io/max-exec-time-seconds)")
	assert.Equal(t, found[0].Severity, inspect.Warning)
	assert.Equal(t, found[0].Remedy, "delete the Job: "+quoted("kubectl --context kwok-mgr -n default delete job train")+", and then create the Job again with a longer kueue.x-k8s.io/max-exec-time-seconds")
}

// TestOneFindingPerFlavor checks that Jobs that a fault of one flavor holds
// on the manager are one finding.
func TestOneFindingPerFlavor(t *testing.T) {
	const fault = `couldn't assign flavors to pod set main: Flavor "default-flavor" does not support TopologyAwareScheduling`
	c := testCase{base: recordedNoQuota, edits: []edit{backInQueue("NoMatchingFlavor", fault)}}
	rule, _ := rules.ByCode("JM019")
	found := judge(t, c.make(t), []rules.Rule{rule}, 0)
	assert.Equal(t, len(found), 1)
	assert.Equal(t, found[0].Kind+" "+found[0].Name, "ClusterQueue cluster-queue")
	assert.Equal(t, found[0].Message, "ClusterQueue cluster-queue on kwok-mgr cannot admit its Jobs: flavor default-flavor has no topology, which its Pods request")
}
