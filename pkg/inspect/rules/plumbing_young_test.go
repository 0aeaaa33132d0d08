package rules_test

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// TestYoungChain checks that objects of the set-up whose status no controller has had time to write are no errors
// yet, and are errors later.
func TestYoungChain(t *testing.T) {
	const created = `metadata: {creationTimestamp: "2026-11-20T23:43:00Z"}, status: null`
	at := time.Date(2026, 11, 20, 23, 43, 0, 0, time.UTC)
	inactive := `{status: {conditions: [{type: Active, status: "False", reason: NoUsableClusters, message: Inactive clusters, lastTransitionTime: "2026-11-20T23:43:01Z"}]}}`
	for name, tt := range map[string]struct {
		edits        []edit
		young, later string
	}{
		"a cluster": {
			[]edit{worker("null"), patch(mgr, "MultiKueueCluster/worker1", "{"+created+"}")},
			"Kueue still connects to MultiKueueCluster worker1, which is 20s old", "no controller connects to MultiKueueCluster worker1",
		},
		"a check of new clusters": {
			[]edit{patch(mgr, "MultiKueueCluster/*", "{"+created+"}"), patch(mgr, "AdmissionCheck/multikueue", inactive)},
			"Kueue still connects to MultiKueueCluster worker1, which is 20s old", "AdmissionCheck multikueue dispatches to no worker",
		},
		"a check": {
			[]edit{patch(mgr, "AdmissionCheck/multikueue", "{"+created+"}")},
			"kueue.x-k8s.io/multikueue has not written the status of AdmissionCheck multikueue yet, which is 20s old", "no controller serves AdmissionCheck multikueue",
		},
	} {
		t.Run(name, func(t *testing.T) {
			rule, _ := rules.ByCode("JM008")
			v := testCase{base: "running", edits: tt.edits}.make(t)
			for age, want := range map[time.Duration]string{20 * time.Second: tt.young, time.Hour: tt.later} {
				findings := judge(t, inspect.NewInventory(at.Add(age), v.Clusters, v.Addresses), []rules.Rule{rule}, 0)
				var messages []string
				for _, f := range findings {
					messages = append(messages, f.Message)
					assert.Equal(t, f.Severity == inspect.Info, age < time.Minute, f.Message)
				}
				assert.Assert(t, strings.Contains(strings.Join(messages, "\n"), want), "%q", messages)
			}
		})
	}
}
