package answer

import (
	"errors"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

const gpu = "nvidia.com/gpu"

// hopeless is a Workload that has quota on the management cluster and fits on
// no worker.
func hopeless() *kueue.Workload {
	w := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "job-sweep", UID: "sweep"}}
	w.Status.Conditions = []metav1.Condition{{Type: kueue.QuotaReserved, Status: metav1.ConditionTrue}}
	w.Status.Admission = &kueue.Admission{ClusterQueue: "team-a", PodSetAssignments: []kueue.PodSetAssignment{{
		Name: "main", Count: 8, Flavors: map[string]string{gpu: "a100", "cpu": "cpu"},
		ResourceUsage: corev1.ResourceList{gpu: resource.MustParse("8"), "cpu": resource.MustParse("0")},
	}}}
	return w
}

// queueIn is a ClusterQueue of a cohort.
func queueIn(name, cohort string) *kueue.ClusterQueue {
	q := &kueue.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: name}}
	q.Spec.CohortName = cohort
	return q
}

// managerWith has queues of two cohorts, and Workloads that wait in them.
func managerWith(claims ...*kueue.Claim) *inspect.Facts {
	quotas := &inspect.Capacity{Claims: claims, Gaps: map[inspect.Part]error{}}
	for queue, cohort := range map[string]string{"team-a": "org", "team-b": "org", "other": "elsewhere"} {
		quotas.ClusterQueues = append(quotas.ClusterQueues, queueIn(queue, cohort))
		local := &kueue.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: queue}}
		local.Spec.ClusterQueue = queue
		quotas.LocalQueues = append(quotas.LocalQueues, local)
	}
	return &inspect.Facts{Context: "manager", Kueue: &inspect.KueueFacts{Capacity: quotas}}
}

// waits is a Workload without quota, with Kueue's reason.
func waits(owner, queue, reason, message string) *kueue.Claim {
	return &kueue.Claim{
		Namespace: "ml", Name: "job-" + owner, UID: owner, Kind: "Job", Owner: owner, LocalQueue: queue, CreatedAt: time.Unix(1, 0),
		Rank: kueue.Rank{UID: owner}, Reason: reason, Message: message, Requests: []kueue.PodSetRequests{{Name: "main"}},
	}
}

// TestCost checks what a Job holds, and which Jobs wait for exactly that.
func TestCost(t *testing.T) {
	const lacks = "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor a100, 2 more needed"
	manager := managerWith(
		waits("same-queue", "team-a", kueue.WaitingForQuota, lacks),
		waits("same-cohort", "team-b", kueue.WaitingForQuota, lacks),
		waits("other-cohort", "other", kueue.WaitingForQuota, lacks),
		waits("other-flavor", "team-a", kueue.WaitingForQuota, "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor h100, 2 more needed"),
		waits("too-large", "team-a", kueue.ExceedsMaxQuota, "couldn't assign flavors to pod set main: insufficient quota for nvidia.com/gpu in flavor a100, previously considered podsets requests (0) + current podset request (20) > maximum capacity (10)"),
	)
	c := costOf(manager, hopeless())
	assert.DeepEqual(t, c, &inspect.Cost{Context: "manager", ClusterQueue: "team-a", Holds: map[string]string{gpu: "8"}, Blocks: []string{"ml/same-cohort", "ml/same-queue"}, BlocksKnown: true})
	assert.Equal(t, c.Text(), "8 nvidia.com/gpu of ClusterQueue team-a on manager, for which 2 Jobs wait: ml/same-cohort, ml/same-queue")

	manager.Kueue.Capacity.Gaps[inspect.PartClaims] = errors.New("refused")
	c = costOf(manager, hopeless())
	assert.Assert(t, len(c.Blocks) == 0 && !c.BlocksKnown)
	assert.Equal(t, c.Text(), "8 nvidia.com/gpu of ClusterQueue team-a on manager; whether others wait for it is unknown")

	// Pods that have ended hold no quota, as in what queues counts.
	w := hopeless()
	w.Spec.PodSets = []kueue.PodSet{{Name: "main", Count: 8}}
	w.Status.Reclaimable = []kueue.ReclaimablePods{{Name: "main", Count: 3}}
	assert.DeepEqual(t, costOf(manager, w).Holds, map[string]string{gpu: "5"})

	for what, change := range map[string]func(*kueue.Workload){
		"without quota": func(w *kueue.Workload) { w.Status.Conditions[0].Status = metav1.ConditionFalse },
		"deactivated":   func(w *kueue.Workload) { w.Spec.Active = new(bool) },
		"for nothing":   func(w *kueue.Workload) { w.Status.Admission.PodSetAssignments = nil },
	} {
		w := hopeless()
		change(w)
		assert.Assert(t, costOf(manager, w) == nil, what)
	}
}

// TestRelease checks that the command that releases the quota is not a fix of
// the Job.
func TestRelease(t *testing.T) {
	q := Question{}
	a := q.withCost(managerWith(), hopeless(), Answer{Message: "Needs 8; the limit is 6."})
	assert.Equal(t, len(a.Fixes), 0)
	assert.DeepEqual(t, a.Cost.Release.Command, []string{
		"kubectl", "--context", "manager", "-n", "ml", "patch", "workloads.kueue.x-k8s.io", "job-sweep", "--type", "merge", "-p", `{"spec":{"active":false}}`,
	})
}

// TestByCost checks that within a severity, Jobs that block most come first,
// and that the rest keeps its order.
func TestByCost(t *testing.T) {
	blocks := func(names ...string) *inspect.Cost { return &inspect.Cost{Blocks: names} }
	findings := []inspect.Finding{
		{Name: "a", Severity: inspect.Error},
		{Name: "b", Severity: inspect.Error, Cost: blocks("x")},
		{Name: "c", Severity: inspect.Error, Cost: blocks("x", "y")},
		{Name: "d", Severity: inspect.Error},
		{Name: "e", Severity: inspect.Warning, Cost: blocks("x", "y", "z")},
	}
	ByCost(findings)
	got := ""
	for i := range findings {
		got += findings[i].Name
	}
	assert.Equal(t, got, "cbade")
}

// TestCostInFindings checks that findings about queues of workers, and about a refused mirror, show what the Job holds,
// as the trace of the Job does.
func TestCostInFindings(t *testing.T) {
	origin := &inspect.Job{Context: "hub", APIVersion: "batch/v1", Kind: "Job", Namespace: "ml", Name: "train"}
	for _, code := range []string{"JM026", "JM027", "JM028", "JM034", "JM035"} {
		findings := []inspect.Finding{{Code: code, Jobs: []inspect.Ref{inspect.RefOf(origin)}}}
		q := Question{Pair: inspect.Pair{Origin: origin}, Trace: &inspect.Trace{Cost: &inspect.Cost{Context: "hub"}}}
		q.addCost(findings)
		assert.Assert(t, findings[0].Cost != nil, code)
		assert.Assert(t, NeedsQuotas(findings), "%s: check must read the quotas that tell it", code)
	}
}
