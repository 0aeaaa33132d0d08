package answer

import (
	"errors"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestDispatchedToUnreadCluster checks that the answer for a dispatched Job names the context that did
// not answer, with the reason, or that contexts were not selected.
func TestDispatchedToUnreadCluster(t *testing.T) {
	frozen := &inspect.Facts{Context: "worker-2", Err: errors.New("TLS handshake timeout")}
	other := &inspect.Facts{Context: "worker-1", ClusterUID: "other", Err: errors.New("refused")}
	for name, tt := range map[string]struct {
		clusters  []*inspect.Facts
		leftOut   []string
		message   string
		unchecked []inspect.Unchecked
	}{
		"did not answer": {
			[]*inspect.Facts{frozen, other},
			nil, "It was dispatched to ml/d2. Cannot read worker-2 (TLS handshake timeout).",
			[]inspect.Unchecked{{What: "mirror", Contexts: []string{"worker-2"}, Reason: "TLS handshake timeout"}},
		},
		"left out": {
			nil,
			[]string{"worker-1", "worker-2"},
			"It was dispatched to ml/d2 on another cluster, in a context that was not selected.",
			[]inspect.Unchecked{{What: "mirror", Contexts: []string{"worker-1", "worker-2"}, Reason: inspect.NotSelected}},
		},
		"both": {
			[]*inspect.Facts{frozen},
			[]string{"worker-2", "worker-3"},
			"It was dispatched to ml/d2. Cannot read worker-2 (TLS handshake timeout); other contexts were not selected.",
			[]inspect.Unchecked{
				{What: "mirror", Contexts: []string{"worker-2"}, Reason: "TLS handshake timeout"},
				{What: "mirror", Contexts: []string{"worker-3"}, Reason: inspect.NotSelected},
			},
		},
		"no context": {
			nil, nil, "It was dispatched to ml/d2 on cluster lost, which was not read.",
			[]inspect.Unchecked{{What: "mirror", Contexts: []string{}, Reason: "no known context reaches cluster lost"}},
		},
	} {
		origin := &inspect.Job{
			APIVersion: "batch/v1", Kind: "Job", Context: "hub", ClusterUID: "hub", Namespace: "ml", Name: "d2", UID: "d2", ManagedBy: delegation.Dispatch,
			Status: delegation.Running, Marks: &delegation.Marks{Mirror: delegation.Place{ClusterUID: "lost", Namespace: "ml", Name: "d2", UID: "m"}},
		}
		hub := &inspect.Facts{Context: "hub", ClusterUID: "hub", Jobs: []*inspect.Job{origin}}
		addresses := []kubecontext.Address{{Context: "hub"}}
		for _, name := range tt.leftOut {
			addresses = append(addresses, kubecontext.Address{Context: name})
		}
		v := inspect.NewInventory(time.Unix(0, 0), append([]*inspect.Facts{hub}, tt.clusters...), addresses)
		trace := Trace(v, v.Pairs.Pairs[0])
		assert.Equal(t, trace.Message, tt.message, name)
		assert.DeepEqual(t, trace.Unchecked, tt.unchecked)
	}
}

// TestUnreadWorkers checks that the answer for a Job that was offered to a worker says why it is unknown
// whether the worker admits it, and how to find out.
func TestUnreadWorkers(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Group: "kueue.x-k8s.io", Resource: "workloads"}, "", nil)
	unread := inspect.Finding{Code: workersUnread, Severity: inspect.Info, Fixes: []command.Fix{{Text: "select w1 with --contexts"}}}
	for name, tt := range map[string]struct {
		worker   *inspect.Facts
		findings []inspect.Finding
		message  string
		unread   string
		fix      string
	}{
		"left out": {
			nil, []inspect.Finding{unread}, "paris is not selected.", "worker paris", "select w1 with --contexts",
		},
		"its Workloads are forbidden": {
			&inspect.Facts{Context: "w1", ClusterUID: "w1", Kueue: &inspect.KueueFacts{}, Gaps: map[inspect.Part]error{inspect.PartWorkloads: forbidden}},
			nil, "you cannot read Workloads on w1.", "Workloads", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			job := &inspect.Job{Context: "hub", ClusterUID: "hub", APIVersion: "batch/v1", Kind: "Job", Namespace: "ml", Name: "train", UID: "1", ManagedBy: delegation.MultiKueue, Marks: &delegation.Marks{Queue: "gpu"}}
			w := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "job-train", UID: "w", Labels: map[string]string{delegation.JobUIDLabel: "1"}}}
			w.Status.Nominated = []string{"paris"}
			w.Status.Conditions = []metav1.Condition{{Type: kueue.QuotaReserved, Status: metav1.ConditionTrue}}
			paris := kubecontext.Address{Server: "https://paris"}
			hub := &inspect.Facts{Context: "hub", ClusterUID: "hub", Jobs: []*inspect.Job{job}, Kueue: &inspect.KueueFacts{
				Version: "v1beta2", Workloads: []*kueue.Workload{w}, Addresses: map[string]kubecontext.Address{"paris": paris},
			}}
			clusters := []*inspect.Facts{hub}
			if tt.worker != nil {
				clusters = append(clusters, tt.worker)
			}
			v := inspect.NewInventory(time.Unix(6000, 0), clusters, []kubecontext.Address{{Context: "hub"}, {Context: "w1", Server: paris.Server}})
			for i := range tt.findings {
				tt.findings[i].Jobs = []inspect.Ref{inspect.RefOf(job)}
			}
			q := Question{Inventory: v, Pair: inspect.Pair{Origin: job}, Trace: &inspect.Trace{Findings: tt.findings}}
			a := q.Answer()
			assert.Equal(t, a.State, inspect.StateWaiting)
			assert.Equal(t, a.Message, "Kueue on hub reserved quota and offered it to paris. Cannot see why no worker admits it: "+tt.message)
			assert.Equal(t, a.Unchecked[0].What, tt.unread)
			assert.Equal(t, command.Alternatives(a.Fixes), command.Prose(tt.fix))
		})
	}
}

// TestFrozenStatus checks that the copied status of a Job shows its state only while Kueue copies it: its Workload is not
// evicted, and its manager has a connection to the worker, which was not read.
func TestFrozenStatus(t *testing.T) {
	const unread = " No known context reaches paris."
	condition := func(kind string, status metav1.ConditionStatus) []metav1.Condition {
		return []metav1.Condition{{Type: kind, Status: status, Reason: "Preempted"}}
	}
	for name, tt := range map[string]struct {
		evicted metav1.ConditionStatus
		active  metav1.ConditionStatus
		state   inspect.JobState
		message string
	}{
		"copied":       {metav1.ConditionFalse, metav1.ConditionTrue, inspect.StateRunning, "Kueue says that it runs on paris: 0/1 completions."},
		"not known":    {metav1.ConditionFalse, metav1.ConditionUnknown, inspect.StateRunning, "Kueue says that it runs on paris: 0/1 completions."},
		"disconnected": {metav1.ConditionFalse, metav1.ConditionFalse, inspect.StateUnknown, "MultiKueue chose paris, which hub cannot use: the status of the Job is not updated."},
		"evicted": {
			metav1.ConditionTrue, metav1.ConditionTrue, inspect.StateUnknown,
			"Kueue evicted it (preempted by another Workload), but its Workload still holds quota; whether Pods still run on paris is unknown.",
		},
	} {
		job := &inspect.Job{Context: "hub", APIVersion: "batch/v1", Kind: "Job", Namespace: "ml", Name: "train", UID: "1", ManagedBy: delegation.MultiKueue, Status: delegation.Running, Completions: ptr.To[int32](1)}
		w := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "job-train", UID: "w", Labels: map[string]string{delegation.JobUIDLabel: "1"}}}
		w.Status.ClusterName = ptr.To("paris")
		w.Status.Conditions = append(condition(kueue.QuotaReserved, metav1.ConditionTrue), condition(kueue.Evicted, tt.evicted)...)
		paris := &kueue.MultiKueueCluster{ObjectMeta: metav1.ObjectMeta{Name: "paris"}}
		paris.Status.Conditions = condition(kueue.Active, tt.active)
		hub := &inspect.Facts{Context: "hub", Jobs: []*inspect.Job{job}, Kueue: &inspect.KueueFacts{
			Version: "v1beta2", Workloads: []*kueue.Workload{w}, Clusters: []*kueue.MultiKueueCluster{paris},
		}}
		v := inspect.NewInventory(time.Unix(6000, 0), []*inspect.Facts{hub}, nil)
		trace := Trace(v, inspect.Pair{Origin: job})
		assert.Equal(t, trace.State, tt.state, name)
		assert.Equal(t, trace.Message, tt.message+unread, name)
		assert.Equal(t, len(trace.Unchecked), 1, name)
	}
}

// TestCopiedFailures checks that the answer counts the failed Pods that an origin's copied status shows,
// and says that the Job is failing if none of its Pods runs.
func TestCopiedFailures(t *testing.T) {
	for name, tt := range map[string]struct {
		active, failed int32
		state          inspect.JobState
		failures       string
	}{
		"all failed": {0, 2, inspect.StateFailing, " 2 Pods failed; backoffLimit is 3."},
		"one runs":   {1, 1, inspect.StateRunning, " 1 Pod failed; backoffLimit is 3."},
		"none":       {1, 0, inspect.StateRunning, ""},
	} {
		origin := &inspect.Job{
			APIVersion: "batch/v1", Kind: "Job", Context: "hub", ClusterUID: "hub", Namespace: "ml", Name: "train", UID: "1", ManagedBy: delegation.MultiKueue,
			Marks: &delegation.Marks{Queue: "gpu"}, Status: delegation.Running, StartTime: &metav1.Time{Time: time.Unix(0, 0)},
			Active: tt.active, Failed: tt.failed, BackoffLimit: ptr.To(int32(3)),
		}
		origin.Completions = ptr.To(int32(1))
		w := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "job-train", UID: "w", Labels: map[string]string{delegation.JobUIDLabel: "1"}}}
		w.Status.ClusterName = ptr.To("tokyo")
		hub := &inspect.Facts{Context: "hub", ClusterUID: "hub", Jobs: []*inspect.Job{origin}, Kueue: &inspect.KueueFacts{Version: "v1beta2", Workloads: []*kueue.Workload{w}}}
		v := inspect.NewInventory(time.Unix(60, 0), []*inspect.Facts{hub}, nil)
		trace := Trace(v, v.Pairs.Pairs[0])
		assert.Equal(t, trace.State, tt.state, name)
		assert.Equal(t, trace.Message, "Kueue says that it runs on tokyo: 0/1 completions."+tt.failures+" There is no MultiKueueCluster tokyo on hub.", name)
	}
}
