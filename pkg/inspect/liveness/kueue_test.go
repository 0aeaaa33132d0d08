package liveness_test

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestManagerIsNoSign checks that a manager's writes to the status of a copy are no signs of the worker's
// Kueue, although both use the same field managers. Other writes are.
func TestManagerIsNoSign(t *testing.T) {
	now := time.Date(2026, 11, 22, 4, 44, 24, 0, time.UTC)
	at := func(seconds int) metav1.Time { return metav1.NewTime(now.Add(-time.Duration(seconds) * time.Second)) }
	wrote := func(manager string, seconds int) []metav1.ManagedFieldsEntry {
		return []metav1.ManagedFieldsEntry{{Manager: manager, Subresource: "status", Time: new(at(seconds))}}
	}
	deactivated := kueue.WorkloadStatus{Conditions: []metav1.Condition{{Type: kueue.DeactivationTarget, Status: metav1.ConditionTrue, LastTransitionTime: at(60)}}}
	opened := func(gate, position string) kueue.WorkloadStatus {
		return kueue.WorkloadStatus{Gates: []kueue.GateState{{Name: gate, Position: position, LastTransitionTime: at(60)}}}
	}
	for name, tt := range map[string]struct {
		status kueue.WorkloadStatus
		writes []metav1.ManagedFieldsEntry
		// skew is how far the manager's clock is ahead of the worker's.
		skew  time.Duration
		isOwn bool
		want  bool
	}{
		"deactivated by the manager":         {status: deactivated, writes: wrote("kueue-admission", 59)},
		"deactivated, then evicted":          {status: deactivated, writes: wrote("kueue-admission", 20), want: true},
		"before it was deactivated":          {status: deactivated, writes: wrote("kueue-admission", 300), want: true},
		"gate opened by the manager":         {status: opened(kueue.MultiKueueGate, "Open"), writes: wrote("kueue", 60)},
		"closed gate":                        {status: opened(kueue.MultiKueueGate, "Closed"), writes: wrote("kueue", 60), want: true},
		"gate of the worker's Kueue":         {status: opened("kueue.x-k8s.io/concurrent-admission", "Open"), writes: wrote("kueue", 60), want: true},
		"the manager's clock is ahead":       {status: deactivated, writes: wrote("kueue-admission", 360), skew: 300 * time.Second},
		"no copy, but a Workload of its own": {status: deactivated, writes: wrote("kueue-admission", 60), isOwn: true, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			workload := func(labels map[string]string) *kueue.Workload {
				return &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "job-a", Labels: labels}}
			}
			w := workload(map[string]string{delegation.MultiKueueOriginLabel: "multikueue"})
			if tt.isOwn {
				w.Labels = nil
			}
			w.Status, w.ManagedFields = tt.status, tt.writes
			v := inspect.NewInventory(now, []*inspect.Facts{
				{Context: "hub", Kueue: &inspect.KueueFacts{Workloads: []*kueue.Workload{workload(nil)}}, Skew: kubecontext.Skew{Min: tt.skew, Max: tt.skew, Known: true}},
				{Context: "w1", Kueue: &inspect.KueueFacts{Workloads: []*kueue.Workload{w}}},
			}, nil)
			record := liveness.Of(v).RecordOf(liveness.Actor{Role: liveness.RoleKueue, Context: "w1"})
			assert.Equal(t, record != nil, tt.want)
		})
	}
}
