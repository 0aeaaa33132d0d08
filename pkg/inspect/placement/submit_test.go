package placement_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestSubmit checks the verdict of the cluster that a Job is submitted to, and
// the first change that helps.
func TestSubmit(t *testing.T) {
	const check = "checks: [{metadata: {name: workers}, spec: {controllerName: kueue.x-k8s.io/multikueue, parameters: {apiGroup: kueue.x-k8s.io, kind: MultiKueueConfig, name: workers}}}]\n"
	const locals = `
locals:
- {metadata: {namespace: ml, name: gpu}, spec: {clusterQueue: given}}
- {metadata: {namespace: ml, name: own}, spec: {clusterQueue: own}}
- {metadata: {namespace: ml, name: lost}, spec: {clusterQueue: absent}}
- {metadata: {namespace: ml, name: broken}, spec: {clusterQueue: broken}}
flavors: [{metadata: {name: f}}]
`
	const quota = "namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: 4}]}]}]"
	const queues = locals + "queues: [{metadata: {name: given}, spec: {admissionChecks: [workers], " + quota + "}}, {metadata: {name: own}, spec: {" + quota + "}}, {metadata: {name: broken}, spec: {admissionChecks: [gone], " + quota + "}}]\n"
	multiKueue, builtIn := delegation.MultiKueue, delegation.BuiltIn
	for name, tt := range map[string]struct {
		queue, job string
		owner      delegation.Owner
		class      placement.Class
		verdict    inspect.Verdict
		reason     inspect.PlacementReason
		change     string
	}{
		"to a worker":                 {"gpu", pods("1", "cpu: 1"), multiKueue, placement.Class{}, inspect.Fits, inspect.HasRoom, ""},
		"no MultiKueue check":         {"own", pods("1", "cpu: 1"), multiKueue, placement.Class{}, inspect.Never, inspect.NotDispatched, "use LocalQueue gpu: set label kueue.x-k8s.io/queue-name=gpu"},
		"too large, and no check":     {"own", pods("9", "cpu: 1"), multiKueue, placement.Class{}, inspect.Never, inspect.NotDispatched, ""},
		"a check that is gone":        {"broken", pods("1", "cpu: 1"), multiKueue, placement.Class{}, inspect.Never, inspect.QueueInactive, "create AdmissionCheck gone on hub, or remove it from ClusterQueue broken"},
		"built-in, no check":          {"own", pods("1", "cpu: 1"), builtIn, placement.Class{}, inspect.Fits, inspect.HasRoom, ""},
		"another owner":               {"gpu", pods("1", "cpu: 1"), "acme.io/runner", placement.Class{}, inspect.Never, inspect.OwnerRefused, "set spec.managedBy to kueue.x-k8s.io/multikueue, or use a queue without a MultiKueue check"},
		"another owner, no check":     {"own", pods("1", "cpu: 1"), "acme.io/runner", placement.Class{}, inspect.Fits, inspect.HasRoom, ""},
		"a typo in the queue":         {"gpuu", pods("1", "cpu: 1"), multiKueue, placement.Class{}, inspect.Never, inspect.QueueMissing, "use LocalQueue gpu: set label kueue.x-k8s.io/queue-name=gpu"},
		"no queue label":              {"", pods("1", "cpu: 1"), multiKueue, placement.Class{}, inspect.Never, inspect.NoQueueLabel, "use LocalQueue gpu: set label kueue.x-k8s.io/queue-name=gpu"},
		"no ClusterQueue":             {"lost", pods("1", "cpu: 1"), multiKueue, placement.Class{}, inspect.Never, inspect.QueueMissing, "use LocalQueue gpu: set label kueue.x-k8s.io/queue-name=gpu"},
		"too large for every queue":   {"gpuu", pods("9", "cpu: 1"), multiKueue, placement.Class{}, inspect.Never, inspect.QueueMissing, "create LocalQueue ml/gpuu on hub for one of its ClusterQueues"},
		"no priority class":           {"gpu", pods("1", "cpu: 1"), multiKueue, placement.Class{Missing: inspect.ClassName{Kind: "WorkloadPriorityClass", Name: "high"}}, inspect.Never, inspect.ClassMissing, "create it, or name a WorkloadPriorityClass that exists on hub"},
		"no class for Pods there":     {"gpu", pods("1", "cpu: 1"), multiKueue, placement.Class{MissingForPods: inspect.ClassName{Kind: "PriorityClass", Name: "high"}}, inspect.Fits, inspect.HasRoom, ""},
		"no class for Pods here":      {"own", pods("1", "cpu: 1"), builtIn, placement.Class{MissingForPods: inspect.ClassName{Kind: "PriorityClass", Name: "high"}}, inspect.Never, inspect.ClassMissing, "create it, or name a PriorityClass that exists on hub"},
		"parallelism 0":               {"gpu", "{spec: {parallelism: 0}}", multiKueue, placement.Class{}, inspect.Never, inspect.NoPods, "set spec.parallelism to 1 or more"},
		"nothing requested":           {"gpu", "{spec: {parallelism: 1, template: {spec: {containers: [{name: a}]}}}}", multiKueue, placement.Class{}, inspect.Never, inspect.NothingRequested, "request cpu"},
		"nothing requested, defaults": {"gpu", "{spec: {parallelism: 1, template: {spec: {containers: [{name: a}]}}}}", builtIn, placement.Class{}, inspect.Never, inspect.NothingRequested, "request cpu"},
		"nothing requested, here":     {"own", "{spec: {parallelism: 1, template: {spec: {containers: [{name: a}]}}}}", builtIn, placement.Class{}, inspect.Fits, inspect.HasRoom, ""},
		"no label, nothing requested": {"", "{spec: {parallelism: 1, template: {spec: {containers: [{name: a}]}}}}", multiKueue, placement.Class{}, inspect.Never, inspect.NoQueueLabel, "use LocalQueue gpu: set label kueue.x-k8s.io/queue-name=gpu, and request cpu"},
		"no completions":              {"gpu", "{spec: {parallelism: 0, completions: 0}}", multiKueue, placement.Class{}, inspect.Fits, inspect.HasRoom, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := parse[world](t, queues)
			hub := w.facts()
			hub.Context = "hub"
			hub.Kueue.Checks = parse[struct {
				Checks []*kueue.AdmissionCheck `json:"checks"`
			}](t, check).Checks
			hub.Kueue.Configs = []*kueue.MultiKueueConfig{parse[*kueue.MultiKueueConfig](t, "{metadata: {name: workers}, spec: {clusters: [paris]}}")}
			hub.Kueue.Clusters = []*kueue.MultiKueueCluster{parse[*kueue.MultiKueueCluster](t, "{metadata: {name: paris}}")}
			j := parse[batchv1.Job](t, tt.job)
			j.Namespace = "ml"
			r := placement.OfJob(&j, tt.queue)
			r.Owner, r.Check("hub").Class = tt.owner, &tt.class
			p := placement.Submit(inspect.NewInventory(time.Now(), []*inspect.Facts{hub}, nil), &r)[0]
			assert.Equal(t, p.Verdict, tt.verdict, p.Message)
			assert.Equal(t, p.Reason, tt.reason, p.Message)
			change := ""
			if len(p.Changes) > 0 {
				change = p.Changes[0].Message
			}
			assert.Equal(t, change, tt.change)
		})
	}
}

// managerOfParis returns the facts of a manager whose queue q dispatches to the worker paris.
func managerOfParis(t *testing.T) *inspect.Facts {
	t.Helper()
	w := parse[world](t, strings.ReplaceAll(simple("4"), "namespaceSelector: {}", "admissionChecks: [workers], namespaceSelector: {}"))
	hub := w.facts()
	hub.Context = "hub"
	hub.Kueue.Checks = []*kueue.AdmissionCheck{parse[*kueue.AdmissionCheck](t,
		"{metadata: {name: workers}, spec: {controllerName: kueue.x-k8s.io/multikueue, parameters: {apiGroup: kueue.x-k8s.io, kind: MultiKueueConfig, name: workers}}}")}
	hub.Kueue.Configs = []*kueue.MultiKueueConfig{parse[*kueue.MultiKueueConfig](t, "{metadata: {name: workers}, spec: {clusters: [paris]}}")}
	hub.Kueue.Clusters = []*kueue.MultiKueueCluster{parse[*kueue.MultiKueueCluster](t, "{metadata: {name: paris}}")}
	return hub
}

// TestUndefaulted checks that a Job whose managedBy the webhook does not set now must be submitted after its queue works
// again, or with managedBy. This cluster decides, although a worker has a queue of the same name.
func TestUndefaulted(t *testing.T) {
	const resume, missing, create = "if its maintenance is over, resume LocalQueue ml/q on hub", "add what ClusterQueue q on hub lacks", "create LocalQueue ml/q on hub"
	const after = "submit the Job after that"
	const field = after + "; to submit it earlier, set spec.managedBy to kueue.x-k8s.io/multikueue"
	stop := func(hub *inspect.Facts) { hub.Kueue.Capacity.LocalQueues[0].Spec.StopPolicy = "Hold" }
	remove := func(hub *inspect.Facts) { hub.Kueue.Capacity.LocalQueues = nil }
	lose := func(hub *inspect.Facts) {
		hub.Kueue.Checks = nil
		hub.Kueue.Capacity.ClusterQueues[0].Status.Conditions = []metav1.Condition{{Type: kueue.Active, Status: metav1.ConditionFalse, Reason: "AdmissionCheckNotFound"}}
	}
	for name, tt := range map[string]struct {
		change     func(*inspect.Facts)
		owner      delegation.Owner
		want, then string
	}{
		"stopped":                         {stop, delegation.BuiltIn, resume, field},
		"stopped, with managedBy":         {stop, delegation.MultiKueue, resume, ""},
		"without check":                   {lose, delegation.BuiltIn, missing, after},
		"without check, but managed":      {lose, delegation.MultiKueue, missing, ""},
		"without LocalQueue":              {remove, delegation.BuiltIn, create, after},
		"without LocalQueue, but managed": {remove, delegation.MultiKueue, create, ""},
	} {
		t.Run(name, func(t *testing.T) {
			hub, w := managerOfParis(t), parse[world](t, simple("4"))
			worker := w.facts()
			worker.Context = "paris"
			tt.change(hub)
			if tt.want == create {
				tt.change(worker)
			}
			j := parse[batchv1.Job](t, pods("1", "cpu: 1"))
			j.Namespace = "ml"
			r := placement.OfJob(&j, "q")
			r.Owner = tt.owner
			all := placement.Submit(inspect.NewInventory(time.Now(), []*inspect.Facts{hub, worker}, nil), &r)
			assert.Equal(t, all[0].Context, "hub")
			assert.Equal(t, placement.Overall(all), inspect.Never)
			assert.Equal(t, all[0].Changes[0].Message, tt.want)
			steps, then := all[0].Changes[0].Then, ""
			if len(steps) > 0 {
				then = steps[len(steps)-1].Text
			}
			assert.Equal(t, then, tt.then)
		})
	}
}

// TestEntriesBesideBrokenManager checks that a manager whose queue does not work hides its workers, or what may be one, as places to submit a
// Job to, and no other cluster.
func TestEntriesBesideBrokenManager(t *testing.T) {
	hub, w := managerOfParis(t), parse[world](t, simple("4"))
	hub.Kueue.Capacity.ClusterQueues = nil
	paris, other := w.facts(), w.facts()
	paris.Context, other.Context = "paris", "c2"
	j := parse[batchv1.Job](t, pods("1", "cpu: 1"))
	j.Namespace = "ml"
	r := placement.OfJob(&j, "q")
	at := kubecontext.Address{Context: "paris", Server: "https://paris", CA: "ca"}
	for want, address := range map[string]kubecontext.Address{"hub c2": at, "hub": {}} {
		hub.Kueue.Addresses = map[string]kubecontext.Address{"paris": address}
		v := inspect.NewInventory(time.Now(), []*inspect.Facts{hub, paris, other}, []kubecontext.Address{at})
		var contexts []string
		for _, f := range placement.Entries(v, &r) {
			contexts = append(contexts, f.Context)
		}
		assert.Equal(t, strings.Join(contexts, " "), want)
		assert.Equal(t, placement.Overall(placement.Submit(v, &r)) == inspect.Fits, len(contexts) > 1)
	}
}

// TestCreatedNamespace checks that a namespace that the files create makes the verdict unknown only where they do. What
// the Pods lack there may come with it.
func TestCreatedNamespace(t *testing.T) {
	var clusters []*inspect.Facts
	j := parse[batchv1.Job](t, pods("1", "cpu: 1"))
	j.Namespace = "ml"
	r := placement.OfJob(&j, "q")
	for _, context := range []string{"here", "there"} {
		w := parse[world](t, simple("4"))
		f := w.facts()
		f.Context, f.Kueue.Capacity.Namespaces["ml"] = context, nil
		clusters = append(clusters, f)
		r.Check(context).Lacking = []string{"ServiceAccount robot"}
	}
	r.Check("here").CreatesNamespace = true
	var got []string
	for _, p := range placement.Submit(inspect.NewInventory(time.Now(), clusters, nil), &r) {
		got = append(got, fmt.Sprint(p.Context, " ", p.Verdict, " ", p.Reason, " ", len(p.Changes)))
	}
	assert.DeepEqual(t, got, []string{"here unknown NamespaceMissing 1", "there never NamespaceMissing 1"})
}

// TestManualSelector checks that no worker fits a Job that selects its Pods itself: MultiKueue's mirror of it is invalid.
func TestManualSelector(t *testing.T) {
	hub := managerOfParis(t)
	for _, selects := range []bool{false, true} {
		j := parse[batchv1.Job](t, pods("1", "cpu: 1"))
		j.Namespace, j.Spec.ManualSelector = "ml", &selects
		r := placement.OfJob(&j, "q")
		r.Owner = delegation.MultiKueue
		placements := placement.Submit(inspect.NewInventory(time.Now(), []*inspect.Facts{hub}, nil), &r)
		i := slices.IndexFunc(placements, func(p inspect.Placement) bool { return p.Cluster == "paris" })
		assert.Assert(t, i >= 0)
		assert.Equal(t, placements[i].Reason == inspect.RefusedByServer, selects, placements[i].Message)
	}
}

// TestRefusedOwner checks that a Job of another owner gets a change only while it can be changed, in
// the field of its kind.
func TestRefusedOwner(t *testing.T) {
	hub := managerOfParis(t)
	r := &placement.Request{Namespace: "ml", Queue: "q", Owner: "acme.io/runner", OwnerField: "spec.runPolicy.managedBy"}
	p := placement.Submit(inspect.NewInventory(time.Now(), []*inspect.Facts{hub}, nil), r)[0]
	assert.Equal(t, p.Reason, inspect.OwnerRefused)
	assert.Equal(t, p.Changes[0].Message, "set spec.runPolicy.managedBy to kueue.x-k8s.io/multikueue, or use a queue without a MultiKueue check")

	r.Check("hub").As = &placement.Request{Namespace: "ml", Queue: "q", Owner: "acme.io/runner"}
	tried := placement.Submit(inspect.NewInventory(time.Now(), []*inspect.Facts{hub}, nil), r)[0]
	assert.DeepEqual(t, tried.Changes, p.Changes) // After a dry run, the field is that of the manifest.

	row, _ := delegation.KindNamed("job")
	hub.Jobs = []*inspect.Job{{
		KindRow: &row, Context: "hub", Namespace: "ml", Name: "train", UID: "u", ManagedBy: "acme.io/runner", Status: delegation.Suspended, Suspended: true,
		Marks: &delegation.Marks{Queue: "q"},
	}}
	v := inspect.NewInventory(time.Now(), []*inspect.Facts{hub}, nil)
	all := placement.Around(v).Judge(v.Pairs.Pairs[0], nil)
	assert.Equal(t, len(all), 1, "MultiKueue creates no copy on workers")
	assert.Assert(t, all[0].Manager)
	for _, p := range all {
		for _, c := range p.Changes {
			assert.Assert(t, !strings.Contains(c.Message, "managedBy"), c.Message)
		}
	}
}

// TestSubmitWithoutQueue checks that the queue default of one cluster is not that of a Job on another
// one, and that a built-in Job without a queue needs no Kueue.
func TestSubmitWithoutQueue(t *testing.T) {
	w, empty := parse[world](t, strings.ReplaceAll(simple("4"), "namespace: ml, name: q", "namespace: ml, name: default")), parse[world](t, simple("4"))
	with, without := w.facts(), empty.facts()
	with.Context, without.Context = "with", "without"
	judgeUnqueued := &inspect.Facts{Context: "bare", NoKueue: true}
	j := parse[batchv1.Job](t, pods("1", "cpu: 1"))
	j.Namespace = "ml"
	r := placement.OfJob(&j, "")
	r.Owner = delegation.BuiltIn
	verdicts, reasons := map[string]inspect.Verdict{}, map[string]inspect.PlacementReason{}
	for _, p := range placement.Submit(inspect.NewInventory(time.Now(), []*inspect.Facts{with, without, judgeUnqueued}, nil), &r) {
		verdicts[p.Context], reasons[p.Context] = p.Verdict, p.Reason
	}
	assert.DeepEqual(t, verdicts, map[string]inspect.Verdict{"with": inspect.Fits, "without": inspect.Unknown, "bare": inspect.Unknown})
	assert.DeepEqual(t, reasons, map[string]inspect.PlacementReason{"with": inspect.HasRoom, "without": inspect.NoQueueLabel, "bare": inspect.NoQueueLabel})
}

// TestSuggestedQueueOfManager checks that a queue which a manager and its worker have is suggested for the manager
// only: there, the Job would be submitted. It would run only with a request that the queue covers.
func TestSuggestedQueueOfManager(t *testing.T) {
	hub := managerOfParis(t)
	w := parse[world](t, simple("4"))
	worker := w.facts()
	worker.Context = "paris"
	for job, want := range map[string]string{
		pods("1", "cpu: 1"): "use LocalQueue q: set label kueue.x-k8s.io/queue-name=q",
		pods("9", "cpu: 1"): "",
		"{spec: {parallelism: 1, template: {spec: {containers: [{name: a}]}}}}": "use LocalQueue q: set label kueue.x-k8s.io/queue-name=q, and request cpu",
	} {
		j := parse[batchv1.Job](t, job)
		j.Namespace = "ml"
		r := placement.OfJob(&j, "")
		r.Owner = delegation.BuiltIn
		for _, p := range placement.Submit(inspect.NewInventory(time.Now(), []*inspect.Facts{hub, worker}, nil), &r) {
			assert.Equal(t, p.Reason, inspect.NoQueueLabel)
			change := ""
			for _, c := range p.Changes {
				change = c.Message
			}
			if p.Context == "hub" {
				assert.Equal(t, change, want)
			} else {
				assert.Equal(t, change, "")
			}
		}
	}
}

// TestBest checks that a manager that holds a Job back does not hide another one that takes it.
func TestBest(t *testing.T) {
	place := func(context string, isManager bool, verdict inspect.Verdict) inspect.Placement {
		p := inspect.NewPlacement(context)
		p.Manager, p.Verdict = isManager, verdict
		return *p
	}
	full := []inspect.Placement{place("m1", true, inspect.Never), place("w", false, inspect.Fits)}
	free := []inspect.Placement{place("m2", true, inspect.Fits), place("w", false, inspect.Fits)}
	small := []inspect.Placement{place("m3", true, inspect.Fits), place("x", false, inspect.Never)}
	contexts := func(all ...[]inspect.Placement) (names string) {
		for _, p := range placement.Best(slices.Concat(all...)) {
			names += " " + p.Context
		}
		return names
	}
	assert.Equal(t, contexts(full, free), " m2 w")
	assert.Equal(t, contexts(free, full, free), " m2 w m2 w")
	assert.Equal(t, contexts(full, small), " m1 w")
	assert.Equal(t, contexts(small, small), " m3 x m3 x")
	assert.Equal(t, contexts(), "")
}

// TestLacking checks that a Job never runs where its Pods lack something, if it fits otherwise.
func TestLacking(t *testing.T) {
	w := parse[world](t, simple("4"))
	here := w.facts()
	here.Context = "here"
	for requests, want := range map[string]inspect.PlacementReason{"cpu: 1": inspect.DependencyMissing, "cpu: 9": inspect.OverLimit} {
		j := parse[batchv1.Job](t, pods("1", requests))
		j.Namespace = "ml"
		r := placement.OfJob(&j, "q")
		r.Check("here").Lacking, r.Check("there").Lacking = []string{"Secret token", "ServiceAccount robot"}, []string{"ServiceAccount robot"}
		p := placement.Submit(inspect.NewInventory(time.Now(), []*inspect.Facts{here}, nil), &r)[0]
		assert.Equal(t, p.Verdict, inspect.Never, p.Message)
		assert.Equal(t, p.Reason, want, p.Message)
		if want == inspect.DependencyMissing {
			assert.Equal(t, p.Message, "lacks what the Pods need in namespace ml: Secret token, ServiceAccount robot")
			assert.Equal(t, p.Changes[0].Message, "create in namespace ml on here: Secret token, ServiceAccount robot")
			here.Context = "there"
			p = placement.Submit(inspect.NewInventory(time.Now(), []*inspect.Facts{here}, nil), &r)[0]
			assert.Equal(t, p.Changes[0].Command, "kubectl --context there -n ml create serviceaccount robot")
			here.Context = "here"
		}
	}
}
