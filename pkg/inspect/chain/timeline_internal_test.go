package chain

import (
	"testing"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestBeginnings checks that a condition about something that has not happened yet is no event.
func TestBeginnings(t *testing.T) {
	for _, c := range []struct {
		condition, status, reason string
		want                      bool
	}{
		{kueue.Admitted, "False", "NoReservation", true},
		{kueue.PodsReady, "False", "WaitForStart", true},
		{kueue.PodsReady, "False", "WaitForScheduling", true},
		{kueue.PodsScheduled, "False", "WaitForScheduling", true},
		{kueue.PodsScheduled, "False", "Preempted", false},
		{kueue.PodsScheduled, "True", "AllRequiredPodsScheduled", false},
		{kueue.PodsReady, "False", "WaitForRecovery", false},
	} {
		assert.Equal(t, isBeginning(metav1.Condition{Type: c.condition, Status: metav1.ConditionStatus(c.status), Reason: c.reason}), c.want, "%+v", c)
	}
}
