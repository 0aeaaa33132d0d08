package rules_test

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// TestUserOfOneNamespace checks that users who may not read cluster-wide objects and Secrets learn
// why their Jobs wait. Without MultiKueueConfigs, there may be other workers, so that nothing
// that only workers show is an error.
func TestUserOfOneNamespace(t *testing.T) {
	var edits []edit
	for _, context := range []string{"kwok-mgr", "kwok-w1", "kwok-w2"} {
		for _, resource := range []string{
			"admissionchecks", "multikueueclusters", "multikueueconfigs", "clusterqueues", "resourceflavors", "cohorts", "topologies", "workloadpriorityclasses",
		} {
			edits = append(edits, forbidden(context, resource+".kueue.x-k8s.io"))
		}
		edits = append(edits, forbidden(context, "secrets"))
	}
	messages := map[string]string{
		"no-quota-on-workers":     "fits on no worker that it was offered to: needs 2 cpu, limit 1 (flavor default-flavor)",
		"mirror-refused-by-quota": "ask an administrator of kwok-mgr which context reaches worker1, worker2",
		"kueue-down-on-workers":   "you may not read the queues on kwok-w1 and kwok-w2",
	}
	for base, want := range map[string][]string{
		"no-quota-on-workers":           {"JM029 warning"},
		"localqueue-missing-on-workers": {"JM026 warning"},
		"preempted-on-worker":           {"JM029 info"},
		"strict-fifo-head-blocks":       {"JM029 info", "JM135 info"},
		"mirror-refused-by-quota":       {"JM135 info"},
		"kueue-down-on-workers":         {"JM135 info"},
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
