package answer

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// workloadFor returns the Workload of a Job without quota, with a priority.
func workloadFor(job, uid string, priority int32, conditions ...metav1.Condition) *kueue.Workload {
	isController := true
	w := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ml", Name: "job-" + job, UID: types.UID(uid), Labels: map[string]string{delegation.JobUIDLabel: job},
		OwnerReferences: []metav1.OwnerReference{{Kind: "Job", Name: job, UID: types.UID(job), Controller: &isController}},
	}}
	w.Spec.Priority, w.Status.Conditions = &priority, conditions
	return w
}

// TestPreemptedPlainJob checks that a plain Job that Kueue stopped waits since then, and that the answer
// names the Job that preempted it, with both priorities.
func TestPreemptedPlainJob(t *testing.T) {
	created, evicted := metav1.NewTime(time.Unix(1000, 0)), metav1.NewTime(time.Unix(5000, 0))
	const noQuota = "No quota on hub: needs 2 more cpu (flavor f)."
	noRoom := metav1.Condition{
		Type: kueue.QuotaReserved, Status: metav1.ConditionFalse, Reason: "Pending", LastTransitionTime: evicted,
		Message: "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor f, 2 more needed",
	}
	by := func(reason, message string, status metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: kueue.Evicted, Status: status, Reason: reason, Message: message, LastTransitionTime: evicted}
	}
	const preempted = "Preempted to accommodate a workload (UID: w-high, JobUID: high) due to prioritization in the ClusterQueue"
	// Kueue writes it until its scheduler judges the Workload again (kueue: pkg/controller/jobframework/reconciler.go).
	notJudged := metav1.Condition{Type: kueue.QuotaReserved, Status: metav1.ConditionFalse, Reason: "PendingEvaluation", LastTransitionTime: evicted, Message: preempted}
	for name, tt := range map[string]struct {
		quota    metav1.Condition
		evicted  metav1.Condition
		priority int32
		message  string
	}{
		"preempted":          {noRoom, by("Preempted", preempted, metav1.ConditionTrue), 1000, "hub: preempted by Job ml/high (priority 1000; this Job has 0). " + noQuota},
		"of equal priority":  {noRoom, by("Preempted", preempted, metav1.ConditionTrue), 0, "hub: preempted by Job ml/high. " + noQuota},
		"for another reason": {noRoom, by("PodsReadyTimeout", "Exceeded the PodsReady timeout", metav1.ConditionTrue), 0, noQuota},
		"earlier":            {noRoom, by("Preempted", preempted, metav1.ConditionFalse), 1000, noQuota},
		"not judged again":   {notJudged, by("Preempted", preempted, metav1.ConditionTrue), 1000, "hub: preempted by Job ml/high (priority 1000; this Job has 0)."},
	} {
		t.Run(name, func(t *testing.T) {
			j := &inspect.Job{
				APIVersion: "batch/v1", Kind: "Job", Context: "hub", Namespace: "ml", Name: "low", UID: "low", ManagedBy: delegation.BuiltIn,
				Status: delegation.Suspended, Suspended: true, CreationTimestamp: created, Since: &evicted, Marks: &delegation.Marks{Queue: "gpu"},
			}
			k := &inspect.KueueFacts{Workloads: []*kueue.Workload{
				workloadFor("low", "w-low", 0, tt.quota, tt.evicted), workloadFor("high", "w-high", tt.priority),
			}}
			v := inspect.NewInventory(time.Unix(6000, 0), []*inspect.Facts{{Context: "hub", Jobs: []*inspect.Job{j}, Kueue: k}}, nil)
			trace := Trace(v, inspect.Pair{Origin: j})
			assert.Equal(t, trace.State, inspect.StateWaiting)
			assert.Equal(t, trace.Message, tt.message)
			assert.Assert(t, trace.Since.Equal(&evicted), "since %v", trace.Since)
		})
	}
}

// TestPreemptedWithoutQuotas checks that the answer says once that a Job was preempted, by which Job, if the quotas of its
// cluster were not read, and keeps what else it says.
func TestPreemptedWithoutQuotas(t *testing.T) {
	wait := &kueue.Wait{Reason: kueue.ReasonPreempted, Message: "Preempted"}
	p := &inspect.Placement{Context: "hub", Manager: true, Verdict: inspect.Waits, Reason: inspect.SaidByKueue, Wait: wait}
	for message, want := range map[string]string{
		"Kueue says: " + wait.Text():                           "hub: preempted by Job ml/high.",
		wait.Text() + "; Kueue has not released its quota yet": "hub: preempted by Job ml/high. hub: preempted by another Workload; Kueue has not released its quota yet.",
	} {
		p.Message = message
		a := (&Question{Trace: &inspect.Trace{}}).gated(p, nil)
		a.addPreemption(&inspect.Preemption{Text: "hub: preempted by Job ml/high"})
		assert.Equal(t, a.Message, want)
	}
}
