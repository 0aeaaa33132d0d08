package rules_test

import (
	"errors"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestPlacementsAgree checks that rules and placements agree about what Kueue
// writes, in every version. A finding is an error if the Workload never runs,
// a warning if that is uncertain, and information if it only waits.
func TestPlacementsAgree(t *testing.T) {
	const (
		assign = "couldn't assign flavors to pod set main: "
		taint  = assign + "untolerated taint {spot true NoSchedule <nil>} in flavor spot"
		labels = assign + "flavor default-flavor doesn't match node affinity"
		over   = assign + "insufficient quota for cpu in flavor default-flavor, previously considered podsets requests (0) + current podset request (2) > maximum capacity (1)"
		inUse  = assign + "insufficient unused quota for cpu in flavor default-flavor, 1 more needed"
		racks  = assign + `topology "racks" allows to fit only 2 out of 4 pod(s)`
	)
	for name, tt := range map[string]struct {
		reason, message string
		want            inspect.Verdict
	}{
		"taint":                                 {"NoMatchingFlavor", taint, inspect.Never},
		"taint, before Kueue 0.19":              {"Pending", taint, inspect.Never},
		"labels":                                {"NoMatchingFlavor", labels, inspect.Never},
		"labels, before Kueue 0.19":             {"Pending", labels, inspect.Never},
		"too large":                             {"ExceedsMaxQuota", over, inspect.Never},
		"too large, before Kueue 0.19":          {"Pending", over, inspect.Never},
		"used quota":                            {"WaitingForQuota", inUse, inspect.Waits},
		"used quota, before Kueue 0.19":         {"Pending", inUse, inspect.Waits},
		"used flavor besides a taint":           {"Pending", taint + "; " + inUse[len(assign):], inspect.Waits},
		"topology":                              {"TopologyPlacementFailed", racks, inspect.Unknown},
		"topology, before Kueue 0.19":           {"Pending", racks, inspect.Unknown},
		"devices":                               {"DRAResourcesUnresolved", "deviceClassName: Not found", inspect.Never},
		"requests that Kueue rejects":           {"Misconfigured", "resources validation failed: requests must not exceed its limits", inspect.Never},
		"requests, before Kueue 0.19":           {"Inadmissible", "resources validation failed: requests must not exceed its limits", inspect.Never},
		"Pods that are not ready":               {"WaitingForPodsReady", "waiting for all admitted workloads to be in PodsReady condition", inspect.Waits},
		"its own controller":                    {"OnHold", "the workload is on hold", inspect.Never},
		"words that are unknown to us":          {"Inadmissible", "the moon is full", inspect.Unknown},
		"preemption, before Kueue 0.19":         {"Pending", "Pending the preemption of 2 workload(s)", inspect.Waits},
		"preemption":                            {"WaitingForPreemptedWorkloads", "2 workload(s)", inspect.Waits},
		"admission gated by another controller": {"AdmissionGated", "Admission is gated by: example.com/gate", inspect.Waits},
		"a gate, before it had a reason":        {"Pending", "Admission is gated by: example.com/gate", inspect.Waits},
	} {
		t.Run(name, func(t *testing.T) {
			v := testCase{base: recordedNoQuota, edits: onWorkers(tt.reason, tt.message)}.make(t)
			assert.Equal(t, verdictByRules(t, v), tt.want)
			assert.Equal(t, verdictByPlacement(t, v), tt.want)
		})
	}
}

// verdictByRules returns the verdict of the findings about waits on workers.
func verdictByRules(t *testing.T, v *inspect.Inventory) inspect.Verdict {
	t.Helper()
	quota, _ := rules.ByCode("JM029")
	other, _ := rules.ByCode("JM116")
	found := judge(t, v, []rules.Rule{quota, other}, 0)
	assert.Equal(t, len(found), 1)
	return map[inspect.Severity]inspect.Verdict{
		inspect.Error: inspect.Never, inspect.Warning: inspect.Unknown, inspect.Info: inspect.Waits,
	}[found[0].Severity]
}

// verdictByPlacement returns the verdict on a worker whose quota cannot be
// read, so that Kueue's message decides.
func verdictByPlacement(t *testing.T, v *inspect.Inventory) inspect.Verdict {
	t.Helper()
	pair := v.Pairs.Pairs[0]
	templates := &kueue.PodTemplates{}
	templates.Spec.PodSets = []kueue.PodTemplate{{Name: "main", Count: 1}}
	for _, f := range v.Clusters {
		f.Kueue.Capacity = &inspect.Capacity{
			Namespaces: map[string]*inspect.Namespace{"default": {Name: "default"}},
			Gaps:       map[inspect.Part]error{inspect.PartClusterQueues: errors.New("forbidden")},
			Templates:  map[types.UID]*kueue.PodTemplates{inspect.CurrentWorkload(v.WorkloadsOf(pair, f)).UID: templates},
		}
	}
	all := placement.Around(v).Judge(pair, nil)
	at := slices.IndexFunc(all, func(p inspect.Placement) bool { return p.Context == "kwok-w1" })
	assert.Assert(t, at >= 0)
	return all[at].Verdict
}
