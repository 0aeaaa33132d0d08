package chain_test

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/chain"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestLife checks that a Job's states follow from the dates in its Workload, its Pods and its own
// status.
func TestLife(t *testing.T) {
	at := func(minute int) metav1.Time { return metav1.NewTime(time.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC)) }
	condition := func(kind string, status metav1.ConditionStatus, minute int) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, LastTransitionTime: at(minute)}
	}
	quota, admitted := condition(kueue.QuotaReserved, metav1.ConditionTrue, 2), condition(kueue.Admitted, metav1.ConditionTrue, 4)
	for _, tt := range []struct {
		name       string
		managedBy  delegation.Owner
		conditions []metav1.Condition
		noWorkload bool
		started    int
		pod        int
		// ahead is by how many minutes the cluster's clock is ahead.
		ahead int
		want  string
	}{
		{name: "without quota", want: "waiting 0-30+"},
		{name: "quota", conditions: []metav1.Condition{quota}, want: "waiting 0-2 offered 2-30+"},
		{name: "admitted", conditions: []metav1.Condition{quota, admitted}, want: "waiting 0-2 offered 2-4 admitted 4-30+"},
		{name: "has Pods", conditions: []metav1.Condition{quota, admitted}, pod: 6, want: "waiting 0-2 offered 2-4 admitted 4-6 running 6-30+"},
		{
			name: "finished", conditions: []metav1.Condition{quota, admitted, condition(kueue.Finished, metav1.ConditionTrue, 9)}, pod: 6,
			want: "waiting 0-2 offered 2-4 admitted 4-6 running 6-9",
		},
		{name: "evicted", conditions: []metav1.Condition{quota, admitted, condition(kueue.Evicted, metav1.ConditionTrue, 5)}, want: "earlier 0-5 evicted 5-30+"},
		{
			name:       "evicted before",
			conditions: []metav1.Condition{condition(kueue.QuotaReserved, metav1.ConditionTrue, 8), condition(kueue.Evicted, metav1.ConditionFalse, 8)},
			want:       "earlier 0-8 offered 8-30+",
		},
		{name: "status of another cluster", conditions: []metav1.Condition{quota, admitted}, managedBy: delegation.MultiKueue, started: 5, want: "waiting 0-2 offered 2-4 admitted 4-30+"},
		{name: "by the clock of its cluster", conditions: []metav1.Condition{quota, admitted}, ahead: 5, want: "waiting 0-2 offered 2-4 admitted 4-35+"},
		{name: "no Workload, by the clock of its cluster", noWorkload: true, started: 3, ahead: 5, want: "waiting 0-3 running 3-35+"},
		{name: "no Workload", noWorkload: true, started: 3, want: "waiting 0-3 running 3-30+"},
		{name: "dispatched", noWorkload: true, started: 3, managedBy: delegation.Dispatch, want: "waiting 0-3 admitted 3-30+"},
		{name: "dated backwards", conditions: []metav1.Condition{condition(kueue.QuotaReserved, metav1.ConditionTrue, 5), admitted}, want: "waiting 0-5 admitted 5-30+"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.managedBy == "" {
				tt.managedBy = delegation.BuiltIn
			}
			job := &inspect.Job{
				Context: "hub", APIVersion: "batch/v1", Kind: "Job", Namespace: "default", Name: "a", UID: "u",
				ManagedBy: tt.managedBy, Status: delegation.Running, CreationTimestamp: at(0),
			}
			if tt.started > 0 {
				job.StartTime = new(at(tt.started))
			}
			ahead := time.Duration(tt.ahead) * time.Minute
			facts := &inspect.Facts{
				Context: "hub", Jobs: []*inspect.Job{job}, Kueue: &inspect.KueueFacts{}, Skew: kubecontext.Skew{Known: true, Min: ahead, Max: ahead},
			}
			if !tt.noWorkload {
				w := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{
					Namespace: "default", Name: "job-a", UID: "w", CreationTimestamp: at(0),
					OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "a", UID: types.UID(job.UID), Controller: new(true)}},
				}}
				w.Status.Conditions = tt.conditions
				facts.Kueue.Workloads = []*kueue.Workload{w}
			}
			if tt.pod > 0 {
				facts.Pods = []*inspect.Pod{{Namespace: "default", Name: "p", UID: "p", JobUID: "u", CreationTimestamp: at(tt.pod)}}
			}
			v := inspect.NewInventory(at(30).Time, []*inspect.Facts{facts}, nil)
			got := ""
			for _, part := range chain.Trace(v, inspect.Pair{Origin: job}).Life {
				assert.Equal(t, part.Cluster, "hub")
				got += fmt.Sprintf(" %s %d-%d", part.State, part.From.Minute(), part.To.Minute())
				if part.IsOpen {
					got += "+"
				}
			}
			assert.Equal(t, got, " "+tt.want)
		})
	}
}
