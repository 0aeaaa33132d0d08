package inspect_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestKnownTopologies checks that Topologies count as read only if they were requested and listed.
func TestKnownTopologies(t *testing.T) {
	known := func(c *inspect.Capacity) kueue.Topologies {
		return (&inspect.Facts{Kueue: &inspect.KueueFacts{Capacity: c}}).FixTarget(nil).Topologies
	}
	assert.Assert(t, !known(nil).IsRead)
	c := &inspect.Capacity{Gaps: map[inspect.Part]error{}, Flavors: []*kueue.ResourceFlavor{{}}}
	assert.Assert(t, !known(c).IsRead)
	assert.Equal(t, len(known(c).Flavors), 1)
	c.Topologies = []*kueue.Topology{}
	assert.Assert(t, known(c).IsRead)
	c.AddGap(inspect.PartTopologies, errors.New("forbidden"))
	assert.Assert(t, !known(c).IsRead)
}

// TestBlockersBeyondTheNamespace checks that a Workload of another namespace explains why Kueue
// ignores one: a ClusterQueue serves many namespaces. Without a reading of the others, the absence
// of a blocker in one namespace is no proof.
func TestBlockersBeyondTheNamespace(t *testing.T) {
	workload := func(namespace string, conditions ...metav1.Condition) *kueue.Workload {
		w := &kueue.Workload{}
		w.Namespace, w.Name, w.Spec.QueueName = namespace, "train", "gpu"
		w.Spec.PodSets = []kueue.PodSet{{Name: "main", Count: 4}}
		w.Status.Conditions = conditions
		return w
	}
	queue := func(namespace string) *kueue.LocalQueue {
		q := &kueue.LocalQueue{}
		q.Namespace, q.Name, q.Spec.ClusterQueue = namespace, "gpu", "shared"
		return q
	}
	shared := &kueue.ClusterQueue{}
	shared.Name = "shared"
	ignored := workload("ml")
	waits := workload("vision", metav1.Condition{Type: kueue.QuotaReserved, Status: metav1.ConditionFalse, Reason: "Pending", Message: "insufficient unused quota for cpu in flavor f, 1 more needed"})
	f := &inspect.Facts{Namespace: "ml", Kueue: &inspect.KueueFacts{
		Workloads: []*kueue.Workload{ignored}, LocalQueues: []*kueue.LocalQueue{queue("ml")}, ClusterQueues: []*kueue.ClusterQueue{shared},
	}}
	assert.Assert(t, f.BlockerOf(ignored) == nil)
	assert.Assert(t, !f.KnowsBlockers())
	f.Kueue.Neighbours = &inspect.Neighbours{Workloads: []*kueue.Workload{waits}, LocalQueues: []*kueue.LocalQueue{queue("vision")}}
	assert.Assert(t, f.KnowsBlockers())
	blocker := f.BlockerOf(ignored)
	assert.Assert(t, blocker != nil)
	assert.Equal(t, blocker.Workload, waits)
	f.Namespace, f.Kueue.Neighbours = "", nil
	assert.Assert(t, f.KnowsBlockers())
}

// TestBlockersOfStrictQueues checks that a Workload blocks those behind it in a StrictFIFO queue if Kueue has
// evaluated it and retries it, and that a Workload in a backoff waits for no other.
func TestBlockersOfStrictQueues(t *testing.T) {
	const behind, head = 1, 2
	condition := func(conditionType string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: conditionType, Status: status, Reason: reason, Message: message}
	}
	noQuota := func(reason, message string) metav1.Condition {
		return condition(kueue.QuotaReserved, metav1.ConditionFalse, reason, message)
	}
	backoff := []metav1.Condition{
		noQuota(kueue.PendingEvaluation, "Exceeded the PodsReady timeout"), condition(kueue.Evicted, metav1.ConditionTrue, "PodsReadyTimeout", ""),
		condition(kueue.Requeued, metav1.ConditionFalse, "PodsReadyTimeout", ""),
	}
	full := noQuota(kueue.WaitingForQuota, "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor f, 1 more needed")
	for name, tt := range map[string]struct {
		head, behind []metav1.Condition
		want         bool
	}{
		"waits for quota":                   {[]metav1.Condition{full}, nil, true},
		"breaks a LimitRange":               {[]metav1.Condition{noQuota(kueue.Misconfigured, "resources didn't satisfy LimitRange constraints: above max")}, nil, true},
		"not evaluated":                     {nil, nil, false},
		"in a backoff":                      {backoff, nil, false},
		"gated":                             {[]metav1.Condition{noQuota(kueue.AdmissionGated, "Admission is gated by: example.com/audit")}, nil, false},
		"the one behind it is in a backoff": {[]metav1.Condition{full}, backoff, false},
	} {
		t.Run(name, func(t *testing.T) {
			workload := func(name string, priority int32, conditions []metav1.Condition) *kueue.Workload {
				w := &kueue.Workload{}
				w.Namespace, w.Name, w.Spec.QueueName, w.Spec.Priority, w.Status.Conditions = "ml", name, "gpu", &priority, conditions
				return w
			}
			local, queue := &kueue.LocalQueue{}, &kueue.ClusterQueue{}
			local.Namespace, local.Name, local.Spec.ClusterQueue = "ml", "gpu", "shared"
			queue.Name, queue.Spec.QueueingStrategy = "shared", kueue.StrictFIFO
			first, second := workload("head", head, tt.head), workload("behind", behind, tt.behind)
			f := &inspect.Facts{Kueue: &inspect.KueueFacts{
				Workloads: []*kueue.Workload{first, second}, LocalQueues: []*kueue.LocalQueue{local}, ClusterQueues: []*kueue.ClusterQueue{queue},
			}}
			b := f.BlockerOf(second)
			assert.Equal(t, b != nil, tt.want)
			assert.Assert(t, b == nil || b.Workload == first && b.IsHead)
		})
	}
}

// TestUnevaluatedSince checks since when Kueue has not evaluated a Workload. The time of the condition remains if only its reason
// changes.
func TestUnevaluatedSince(t *testing.T) {
	at := func(minute int) metav1.Time { return metav1.Date(2026, 11, 20, 23, minute, 0, 0, time.UTC) }
	pending := metav1.Condition{Type: kueue.QuotaReserved, Status: metav1.ConditionFalse, Reason: kueue.PendingEvaluation, LastTransitionTime: at(10)}
	waits := pending
	waits.Reason = kueue.WaitingForQuota
	evicted := metav1.Condition{Type: kueue.Evicted, Status: metav1.ConditionTrue, Reason: "Preempted"}
	for name, tt := range map[string]struct {
		conditions []metav1.Condition
		written    int
		want       int
	}{
		"no conditions": {nil, 0, 1}, "pending": {[]metav1.Condition{pending}, 0, 10}, "pending lately": {[]metav1.Condition{pending}, 30, 30},
		"waits for quota": {[]metav1.Condition{waits}, 30, 0}, "evicted": {[]metav1.Condition{pending, evicted}, 30, 0},
	} {
		w := &kueue.Workload{}
		w.CreationTimestamp, w.Status.Conditions = at(1), tt.conditions
		if written := at(tt.written); tt.written > 0 {
			w.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kueue", Subresource: "status", Time: &written}}
		}
		since, ok := inspect.UnevaluatedSince(w)
		assert.Equal(t, ok, tt.want > 0, name)
		assert.Assert(t, !ok || since.Equal(at(tt.want).Time), "%s: %s", name, since)
	}
}

// TestMayWait checks that Kueue may rightly not have evaluated a Workload while its scheduler waits for the Pods of others,
// and while a StrictFIFO queue that orders by usage has a head in any LocalQueue.
func TestMayWait(t *testing.T) {
	const message = "waiting for all admitted workloads to be in PodsReady condition"
	condition := func(reason, message string) metav1.Condition {
		return metav1.Condition{Type: kueue.QuotaReserved, Status: metav1.ConditionFalse, Reason: reason, Message: message}
	}
	full := condition(kueue.WaitingForQuota, "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor f, 1 more needed")
	admitted := metav1.Condition{Type: kueue.QuotaReserved, Status: metav1.ConditionTrue, Reason: kueue.QuotaReserved}
	for name, tt := range map[string]struct {
		queue           string
		head            metav1.Condition
		strategy        string
		isByUsage, want bool
	}{
		"the scheduler waits for Pods":     {"other", condition(kueue.PodsReadyFirst, message), kueue.BestEffortFIFO, false, true},
		"the Pods are ready":               {"other", admitted, kueue.BestEffortFIFO, false, false},
		"by usage, another LocalQueue":     {"b", full, kueue.StrictFIFO, true, true},
		"by usage, another ClusterQueue":   {"other", full, kueue.StrictFIFO, true, false},
		"by usage, not strict":             {"b", full, kueue.BestEffortFIFO, true, false},
		"by usage, its head has its quota": {"b", admitted, kueue.StrictFIFO, true, false},
		"strict, without usage":            {"b", full, kueue.StrictFIFO, false, false},
	} {
		workload := func(queue string, c metav1.Condition) *kueue.Workload {
			w := &kueue.Workload{}
			w.Namespace, w.Name, w.Spec.QueueName, w.Status.Conditions = "ml", "of-"+queue, queue, []metav1.Condition{c}
			return w
		}
		cluster, other := &kueue.ClusterQueue{}, &kueue.ClusterQueue{}
		cluster.Name, cluster.Spec.QueueingStrategy, other.Name = "shared", tt.strategy, "other"
		if tt.isByUsage {
			assert.NilError(t, json.Unmarshal([]byte(`{"admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"}}`), &cluster.Spec))
		}
		f := &inspect.Facts{Kueue: &inspect.KueueFacts{ClusterQueues: []*kueue.ClusterQueue{cluster, other}}}
		for name, of := range map[string]string{"a": "shared", "b": "shared", "other": "other"} {
			q := &kueue.LocalQueue{}
			q.Namespace, q.Name, q.Spec.ClusterQueue = "ml", name, of
			f.Kueue.LocalQueues = append(f.Kueue.LocalQueues, q)
		}
		waits := workload("a", condition(kueue.PendingEvaluation, ""))
		f.Kueue.Workloads = []*kueue.Workload{waits, workload(tt.queue, tt.head)}
		assert.Equal(t, f.MayWait(waits), tt.want, name)
	}
}
