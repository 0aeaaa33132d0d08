package answer

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestFitsWithoutCopy checks that the answer for a Job that fits on a worker says whether the worker
// has a copy of its Workload, and if not, what to check.
func TestFitsWithoutCopy(t *testing.T) {
	now := time.Unix(10000, 0)
	finding := inspect.Finding{Code: "JM025", Kind: "MultiKueueCluster", Name: "tokyo", Context: "hub", Severity: inspect.Warning, Fixes: []command.Fix{{Text: "check the webhook"}}}
	namespace := inspect.Finding{Code: "JM024", Kind: "Namespace", Name: "ml", Context: "worker-1", Severity: inspect.Warning, Fixes: []command.Fix{{Text: "create the namespace"}}}
	both := namespace
	both.Evidence = []string{"worker-1: there is no Namespace ml", "worker-2: there is no Namespace ml"}
	silent := inspect.Finding{Code: "JM137", Kind: "MultiKueueCluster", Name: "osaka", Context: "hub", Severity: inspect.Error, Fixes: []command.Fix{{Text: "renew the token"}}}
	silent.Evidence = []string{"hub: condition Active of MultiKueueCluster tokyo is True since 2026-01-01T00:00:00Z"}
	late := inspect.Finding{Code: "JM114", Severity: inspect.Info, Context: "hub", Fixes: []command.Fix{{Text: "wait"}}}
	admitted := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "job-a1", UID: "copy", Labels: map[string]string{"kueue.x-k8s.io/multikueue-origin": "m"}}}
	admitted.Status.Conditions = []metav1.Condition{{Type: kueue.Admitted, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(-20 * time.Second))}}
	const without = "Fits on worker-2 now, but MultiKueue has not copied its Workload there."
	for name, tt := range map[string]struct {
		copies   []*kueue.Workload
		findings []inspect.Finding
		age      time.Duration
		message  string
		fix      string
	}{
		"just nominated":                             {age: time.Second, message: without},
		"nominated before":                           {age: time.Minute, message: without, fix: "check that Kueue and its webhook run on worker-2"},
		"a finding explains it":                      {age: time.Minute, findings: []inspect.Finding{finding}, message: without, fix: "check the webhook"},
		"a finding about another worker":             {age: time.Minute, findings: []inspect.Finding{namespace}, message: without, fix: "check that Kueue and its webhook run on worker-2"},
		"its namespace was created since":            {age: time.Minute, findings: []inspect.Finding{namespace, finding}, message: without, fix: "check the webhook"},
		"a finding about several workers":            {age: time.Minute, findings: []inspect.Finding{both}, message: without, fix: "create the namespace"},
		"a finding about its connection and another": {age: time.Minute, findings: []inspect.Finding{silent}, message: without, fix: "renew the token"},
		"has a copy": {
			age: time.Minute, copies: []*kueue.Workload{{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "job-a1", UID: "copy", Labels: map[string]string{"kueue.x-k8s.io/multikueue-origin": "m"}}}},
			message: "Fits on worker-2 now; Kueue has not admitted it yet.",
		},
		"admitted": {
			age: time.Minute, copies: []*kueue.Workload{admitted}, findings: []inspect.Finding{late},
			message: "Admitted on worker-2 for 20s; MultiKueue has created no mirror yet. MultiKueue is behind: 1 Job waits for it.", fix: "wait",
		},
		"admitted, and not behind": {
			age: time.Minute, copies: []*kueue.Workload{admitted}, message: "Admitted on worker-2 for 20s; MultiKueue has created no mirror yet.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			row := delegation.Job()
			origin := &inspect.Job{KindRow: &row, Context: "hub", APIVersion: "batch/v1", Kind: "Job", Namespace: "ml", Name: "a1", UID: "u", ManagedBy: delegation.MultiKueue}
			at := metav1.NewTime(now.Add(-tt.age))
			w := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{
				Namespace: "ml", Name: "job-a1", UID: "w", OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "a1", UID: "u", Controller: ptr.To(true)}},
				ManagedFields: []metav1.ManagedFieldsEntry{{
					Manager: "kueue", Operation: "Apply", APIVersion: "kueue.x-k8s.io/v1beta2", Subresource: "status", Time: &at, FieldsType: "FieldsV1",
					FieldsV1: metav1.NewFieldsV1(`{"f:status": {"f:nominatedClusterNames": {}}}`),
				}},
			}}
			w.Status.Nominated = []string{"tokyo"}
			hub := &inspect.Facts{Context: "hub", Kueue: &inspect.KueueFacts{Version: "v1beta2", Workloads: []*kueue.Workload{w}}, Jobs: []*inspect.Job{origin}}
			worker := &inspect.Facts{Context: "worker-2", Kueue: &inspect.KueueFacts{Version: "v1beta2", Workloads: tt.copies}}
			v := inspect.NewInventory(now, []*inspect.Facts{hub, worker}, nil)
			fits := *inspect.NewPlacement("worker-2")
			fits.Cluster, fits.Verdict, fits.Reason = "tokyo", inspect.Fits, inspect.HasRoom
			for i := range tt.findings {
				tt.findings[i].Jobs = []inspect.Ref{inspect.RefOf(origin)}
			}
			q := Question{Inventory: v, Pair: inspect.Pair{Origin: origin}, Trace: &inspect.Trace{Findings: tt.findings}}
			a := q.fits(hub, w, []inspect.Placement{fits}, []inspect.Placement{fits})
			assert.Equal(t, a.Message, tt.message)
			fix := ""
			if len(a.Fixes) > 0 {
				fix = a.Fixes[0].Text
			}
			assert.Equal(t, fix, tt.fix)
		})
	}
}
