package placement_test

import (
	"errors"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestOrphans checks that a holder of quota is an orphan only if every management cluster was read
// and none has its Workload, whatever its state. A young one may be newer than the reading.
func TestOrphans(t *testing.T) {
	now := time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)
	const origin = "kueue.x-k8s.io/multikueue-origin: mk"
	for name, tt := range map[string]struct {
		created string
		known   []types.NamespacedName
		unread  bool
		behind  time.Duration
		want    bool
		maybe   []string
	}{
		"no manager has it":                {created: "2026-01-01T00:00:00Z", want: true},
		"the manager has it":               {created: "2026-01-01T00:00:00Z", known: []types.NamespacedName{{Namespace: "ml", Name: "a"}}},
		"created while managers were read": {created: "2026-01-01T00:59:58Z"},
		"created then, by a slow clock":    {created: "2026-01-01T00:58:58Z", behind: time.Minute},
		"a context was not read":           {created: "2026-01-01T00:00:00Z", unread: true, maybe: []string{"lost"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := parse[world](t, simple("4")+`
workloads: [{metadata: {namespace: ml, name: a, uid: a, creationTimestamp: "`+tt.created+`", labels: {`+origin+`}}, status: {admission: {clusterQueue: q,
 podSetAssignments: [{name: main, count: 1, flavors: {cpu: f}, resourceUsage: {cpu: 4}}]},
 conditions: [{type: QuotaReserved, status: "True", reason: QuotaReserved, message: "", lastTransitionTime: "`+tt.created+`"}]}}]`)
			worker := w.facts()
			worker.Skew = kubecontext.Skew{Known: true, Min: -tt.behind, Max: -tt.behind}
			worker.Kueue.Workloads = []*kueue.Workload{parse[*kueue.Workload](t, "{metadata: {namespace: ml, name: own, uid: own-copy, labels: {"+origin+"}}}")}
			hub := hubOf(t, tt.known)
			clusters := []*inspect.Facts{hub, worker}
			if tt.unread {
				clusters = append(clusters, &inspect.Facts{Context: "lost", Err: errors.New("no route")})
			}
			v := inspect.NewInventory(now, clusters, nil)
			all := placement.Around(v).Judge(v.Pairs.Pairs[0], nil)
			at := all[len(all)-1]
			assert.Equal(t, at.Reason, inspect.QuotaInUse, at.Message)
			assert.Equal(t, at.Holders[0].Orphan, tt.want)
			assert.DeepEqual(t, at.Holders[0].OriginUnread, append([]string{}, tt.maybe...))
		})
	}
}

// TestOrphansBeforeSubmission checks that the holder of quota is known as an orphan before a Job has a
// copy of its own: another Workload of the same manager shows the manager's label.
func TestOrphansBeforeSubmission(t *testing.T) {
	now := time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)
	workload := func(name, origin string) string {
		return `{metadata: {namespace: ml, name: ` + name + `, uid: ` + name + `, creationTimestamp: "2026-01-01T00:00:00Z", labels: {kueue.x-k8s.io/multikueue-origin: ` + origin + `}},
 status: {admission: {clusterQueue: q, podSetAssignments: [{name: main, count: 1, flavors: {cpu: f}, resourceUsage: {cpu: 2}}]},
 conditions: [{type: QuotaReserved, status: "True", reason: QuotaReserved, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]}}`
	}
	for origin, want := range map[string]bool{"mk": true, "another": false} {
		w := parse[world](t, simple("4")+"\nworkloads: ["+workload("orphan", origin)+", "+workload("live", "mk")+"]")
		hub := hubOf(t, []types.NamespacedName{{Namespace: "ml", Name: "live"}})
		hub.Kueue.Checks = []*kueue.AdmissionCheck{parse[*kueue.AdmissionCheck](t,
			"{metadata: {name: mk}, spec: {controllerName: kueue.x-k8s.io/multikueue, parameters: {apiGroup: kueue.x-k8s.io, kind: MultiKueueConfig, name: mk}}}")}
		hub.Kueue.Configs = []*kueue.MultiKueueConfig{parse[*kueue.MultiKueueConfig](t, "{metadata: {name: mk}, spec: {clusters: [w]}}")}
		hub.Kueue.Capacity.ClusterQueues[0].Spec.AdmissionChecks = []string{"mk"}
		worker := w.facts()
		worker.Kueue.Workloads = []*kueue.Workload{parse[*kueue.Workload](t, "{metadata: {namespace: ml, name: own, labels: {kueue.x-k8s.io/multikueue-origin: mk}}}")}
		v := inspect.NewInventory(now, []*inspect.Facts{hub, worker}, nil)
		j := parse[batchv1.Job](t, `{spec: {template: {spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}}}}`)
		j.Namespace = "ml"
		r := placement.OfJob(&j, "q")
		r.Owner = delegation.MultiKueue
		all := placement.Submit(v, &r)
		for _, h := range all[len(all)-1].Holders {
			assert.Equal(t, h.Orphan, want && h.Name == "orphan", "%s by %s", h.Name, origin)
		}
		assert.Equal(t, len(all[len(all)-1].Holders), 2)
	}
}

// hubOf returns a manager with a Job that waits for worker w, and with further Workloads.
func hubOf(t *testing.T, known []types.NamespacedName) *inspect.Facts {
	t.Helper()
	w := parse[world](t, simple("9"))
	hub := w.facts()
	hub.Context, hub.Kueue.Capacity.Requested = "hub", sets.New[string]()
	hub.Kueue.Capacity.Places = map[string]types.NamespacedName{}
	for _, name := range known {
		hub.Kueue.Capacity.Places[name.String()] = name
	}
	own := parse[*kueue.Workload](t, `{metadata: {namespace: ml, name: own, uid: own, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: own, uid: j, controller: true}]},
 spec: {queueName: q}, status: {nominatedClusterNames: [w], conditions: [{type: QuotaReserved, status: "True", reason: QuotaReserved, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]}}`)
	hub.Kueue.Workloads = []*kueue.Workload{own}
	hub.Kueue.Clusters = []*kueue.MultiKueueCluster{parse[*kueue.MultiKueueCluster](t, "{metadata: {name: w}}")}
	hub.Kueue.Capacity.Templates = map[types.UID]*kueue.PodTemplates{"own": parse[*kueue.PodTemplates](t, `{spec: {podSets: [{name: main, count: 1, template: {spec: {containers: [{name: c, resources: {requests: {cpu: 2}}}]}}}]}}`)}
	hub.Jobs = []*inspect.Job{{
		Context: "hub", APIVersion: "batch/v1", Kind: "Job", Namespace: "ml", Name: "own", UID: "j",
		ManagedBy: delegation.MultiKueue, Status: delegation.Suspended, Suspended: true, Marks: &delegation.Marks{Queue: "q"},
	}}
	return hub
}

// TestNameTakenOnWorker checks that a submitted Job never runs on a worker that has another Job of its
// name, whatever quota is free there.
func TestNameTakenOnWorker(t *testing.T) {
	w := parse[world](t, simple("4"))
	worker := w.facts()
	worker.Kueue.Workloads = []*kueue.Workload{parse[*kueue.Workload](t, "{metadata: {namespace: ml, name: own, labels: {kueue.x-k8s.io/multikueue-origin: mk}}}")}
	worker.Jobs = []*inspect.Job{{Context: worker.Context, APIVersion: "batch/v1", Kind: "Job", Namespace: "ml", Name: "own", UID: "foreign", ManagedBy: delegation.BuiltIn, Status: delegation.Running}}
	v := inspect.NewInventory(time.Now(), []*inspect.Facts{hubOf(t, nil), worker}, nil)
	all := placement.Around(v).Judge(v.Pairs.Pairs[0], nil)
	at := all[len(all)-1]
	assert.Equal(t, at.Verdict, inspect.Never, at.Message)
	assert.Equal(t, at.Reason, inspect.NameTaken)
	assert.Equal(t, at.Changes[0].Message, "submit it under another name")
}

// TestNameOfOlderMirror checks that a submitted Job waits on a worker that still has the mirror of an older Job of its name,
// until Kueue deletes that. It never runs there if Kueue does not: Kueue starts from the Workloads of its own
// multiKueue.origin.
func TestNameOfOlderMirror(t *testing.T) {
	const deletion = "kubectl --context w -n ml delete job own"
	for name, tt := range map[string]struct {
		status           metav1.ConditionStatus
		copied, origin   string
		inactive         bool
		verdict          inspect.Verdict
		reason           inspect.PlacementReason
		message, command string
	}{
		"Kueue deletes it soon":        {metav1.ConditionTrue, "job-own-older", "mk", false, inspect.Waits, inspect.NameTaken, "still has the mirror of an older Job of this name, which Kueue on hub normally deletes within a minute", ""},
		"Kueue deletes it at once":     {metav1.ConditionFalse, "job-own-older", "mk", false, inspect.Fits, inspect.HasRoom, "", ""},
		"not without its Workload":     {metav1.ConditionTrue, "another", "mk", false, inspect.Never, inspect.NameTaken, "still has the mirror of an older Job of this name", deletion},
		"of another manager":           {metav1.ConditionTrue, "job-own-older", "other", false, inspect.Never, inspect.NameTaken, "has another object of this name", ""},
		"after the manager reconnects": {metav1.ConditionTrue, "job-own-older", "mk", true, inspect.Waits, inspect.NotConnected, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := parse[world](t, simple("4"))
			worker := w.facts()
			worker.Kueue.Workloads = []*kueue.Workload{
				parse[*kueue.Workload](t, "{metadata: {namespace: ml, name: own, labels: {kueue.x-k8s.io/multikueue-origin: mk}}}"),
				parse[*kueue.Workload](t, "{metadata: {namespace: ml, name: "+tt.copied+", labels: {kueue.x-k8s.io/multikueue-origin: "+tt.origin+"}}}"),
			}
			worker.Jobs = []*inspect.Job{{
				Context: worker.Context, APIVersion: "batch/v1", Kind: "Job", Namespace: "ml", Name: "own", UID: "older", ManagedBy: delegation.BuiltIn, Status: delegation.Running,
				Marks: &delegation.Marks{MultiKueueOrigin: tt.origin, Prebuilt: "job-own-older"},
			}}
			hub := hubOf(t, nil)
			hub.Kueue.Workloads[0].Status.Conditions[0].Status = tt.status
			if tt.inactive {
				hub.Kueue.Clusters[0].Status.Conditions = []metav1.Condition{{Type: kueue.Active, Status: metav1.ConditionFalse, Reason: "ClientConnectionFailed"}}
			}
			v := inspect.NewInventory(time.Now(), []*inspect.Facts{hub, worker}, nil)
			v.Pairs.Pairs[0].Mirrors = []inspect.Mirror{{Job: worker.Jobs[0], Relation: inspect.ByMultiKueue}}
			all := placement.Around(v).Judge(v.Pairs.Pairs[0], nil)
			at := all[len(all)-1]
			assert.Equal(t, at.Context, worker.Context)
			assert.Equal(t, at.Verdict, tt.verdict, at.Message)
			assert.Equal(t, at.Reason, tt.reason)
			assert.Assert(t, tt.message == "" || at.Message == tt.message, at.Message)
			assert.Equal(t, at.Verdict == inspect.Never, len(at.Changes) > 0 && at.Reason == inspect.NameTaken)
			assert.Assert(t, tt.command == "" || at.Changes[0].Command == tt.command, at.Changes)
		})
	}
}
