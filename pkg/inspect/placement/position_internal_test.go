package placement

import (
	"testing"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestBlocks checks that a waiting Workload blocks a StrictFIFO queue if
// Kueue retries it endlessly, also if it violates a LimitRange. A Workload
// that Kueue keeps out of the queue blocks no other.
func TestBlocks(t *testing.T) {
	for name, tt := range map[string]struct {
		reason, message string
		want            bool
	}{
		"not evaluated":          {"", "", true},
		"no quota now":           {"WaitingForQuota", "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor f, 1 more needed", true},
		"more than the limit":    {"ExceedsMaxQuota", "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor f, previously considered podsets requests (0) + current podset request (9) > maximum capacity (4)", true},
		"it breaks a LimitRange": {"Misconfigured", "resources didn't satisfy LimitRange constraints: [spec.podSets[0].template.spec.containers[0]: Invalid value: requests exceed it]", true},
		"a wrong namespace":      {"Misconfigured", "workload namespace doesn't match ClusterQueue selector", false},
		"its queue is stopped":   {"Suspended", "LocalQueue q is stopped", false},
	} {
		t.Run(name, func(t *testing.T) {
			var w kueue.ClaimedWorkload
			if tt.reason != "" {
				w.Status.Conditions = []metav1.Condition{{Type: kueue.QuotaReserved, Status: metav1.ConditionFalse, Reason: tt.reason, Message: tt.message}}
			}
			assert.Equal(t, blocks(w.Claim()), tt.want)
		})
	}
}
