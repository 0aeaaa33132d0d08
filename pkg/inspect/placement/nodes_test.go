package placement_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/podfit"
)

// someNodes are a small one, one of zone b that is tainted, and one that is cordoned.
func someNodes() []*podfit.Node {
	of := func(name, cpu string, taints ...corev1.Taint) *podfit.Node {
		return &podfit.Node{Name: name, Labels: map[string]string{"zone": name, "f": "yes", corev1.LabelOSStable: "linux"}, Taints: taints, Allocatable: corev1.ResourceList{"cpu": resource.MustParse(cpu)}}
	}
	cordoned := of("c", "8")
	cordoned.Unschedulable = true
	return []*podfit.Node{of("a", "1"), of("b", "8", corev1.Taint{Key: "gpu", Value: "a100", Effect: corev1.TaintEffectNoSchedule}), cordoned}
}

// TestNodes checks that the number of suitable nodes is reported. Without such
// a node, a Job with free quota has no certain verdict.
func TestNodes(t *testing.T) {
	const job = `{spec: {template: {spec: {%s containers: [{name: c, resources: {requests: {cpu: %c}}}]}}}}`
	spec := func(more, cpu string) string {
		return strings.NewReplacer("%s", more, "%c", cpu).Replace(job)
	}
	for _, tt := range []struct {
		name, job, want string
		state           inspect.State
	}{
		{"fits one", spec("", "1"), "1 of 3 nodes", inspect.Yes},
		{"too big", spec("", "2"), "0 of 3 nodes", inspect.No},
		{"tolerates", spec("tolerations: [{key: gpu, operator: Exists}],", "2"), "1 of 3 nodes", inspect.Yes},
		{"tolerates all", spec("tolerations: [{operator: Exists}],", "1"), "3 of 3 nodes", inspect.Yes},
		{"selects", spec("nodeSelector: {zone: b}, tolerations: [{key: gpu, operator: Exists}],", "1"), "1 of 3 nodes", inspect.Yes},
		{"selects another", spec("nodeSelector: {zone: d},", "1"), "0 of 3 nodes", inspect.No},
		{"another system", spec("os: {name: windows},", "1"), "0 of 3 nodes", inspect.No},
		{"names a tainted one", spec("nodeName: b,", "1"), "1 of 3 nodes", inspect.Yes},
		{"asks for what none has", spec("", "1, example.com/gpu: 1"), "0 of 3 nodes", inspect.No},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := parse[world](t, simple("10"))
			j := parse[batchv1.Job](t, tt.job)
			j.Namespace = "ml"
			r := placement.OfJob(&j, "q")
			judge := func(site *inspect.Environment) *inspect.Placement {
				f := w.facts()
				f.Environment = site
				return placement.On(f, &r, nil, time.Now())
			}
			without := judge(nil)
			assert.Equal(t, without.Condition(inspect.ConditionPods).State, inspect.NotAsked)
			p := judge(&inspect.Environment{Nodes: someNodes()})
			want := without.Verdict
			if tt.state == inspect.No && want == inspect.Fits {
				want = inspect.Unknown
			}
			assert.Equal(t, p.Verdict, want)
			pods := p.Condition(inspect.ConditionPods)
			assert.Equal(t, pods.Text, tt.want)
			assert.Equal(t, pods.State, tt.state)
			isReported := p.Reason == inspect.NoNode && strings.HasPrefix(p.Message, "quota is free, but no")
			assert.Equal(t, isReported, tt.state == inspect.No && without.Verdict == inspect.Fits, p.Message)
			refused := judge(&inspect.Environment{NodesErr: errors.New("forbidden")})
			assert.Equal(t, refused.Condition(inspect.ConditionPods).Text, "?")
			assert.Equal(t, refused.Message, without.Message)
		})
	}
}

// TestPodsAtOnce checks that a Job whose Pods the nodes cannot run together is reported, although
// Kueue has quota for it.
func TestPodsAtOnce(t *testing.T) {
	for parallelism, want := range map[string]*inspect.PodsAtOnce{"2": nil, "3": {Pods: 2, Of: 3}} {
		w := parse[world](t, simple("50"))
		j := parse[batchv1.Job](t, `{spec: {parallelism: `+parallelism+`, template: {spec: {containers: [{name: c, resources: {requests: {cpu: 12}}}]}}}}`)
		j.Namespace = "ml"
		r := placement.OfJob(&j, "q")
		f := w.facts()
		node := func(name string) *podfit.Node {
			return &podfit.Node{Name: name, Allocatable: corev1.ResourceList{"cpu": resource.MustParse("16")}}
		}
		f.Environment = &inspect.Environment{Nodes: []*podfit.Node{node("a"), node("b"), {Name: "c"}}}
		p := placement.On(f, &r, nil, time.Now())
		assert.Equal(t, p.Verdict, inspect.Fits)
		assert.Equal(t, p.Condition(inspect.ConditionPods).Text, "2 of 3 nodes")
		assert.DeepEqual(t, p.PodsAtOnce, want)
		assert.Equal(t, strings.HasSuffix(p.Message, "; its nodes run at most 2 of 3 Pods at once"), want != nil, p.Message)
	}
}

// TestQuotaBeyondNodes checks that raising the quota above what the nodes have is marked as such: Kueue
// would admit the Job, and its Pods would find no node.
func TestQuotaBeyondNodes(t *testing.T) {
	for cpu, want := range map[string]bool{"8": false, "7": true} {
		w := parse[world](t, simple("4"))
		j := parse[batchv1.Job](t, pods("8", "cpu: 1"))
		j.Namespace = "ml"
		r := placement.OfJob(&j, "q")
		f := w.facts()
		f.Environment = &inspect.Environment{Nodes: []*podfit.Node{{Name: "a", Allocatable: corev1.ResourceList{"cpu": resource.MustParse(cpu)}}}}
		p := placement.On(f, &r, nil, time.Now())
		assert.Equal(t, p.Verdict, inspect.Never)
		raise := p.Changes[len(p.Changes)-1].Message
		assert.Assert(t, strings.Contains(raise, "from 4 to 8 cpu"), raise)
		assert.Equal(t, strings.HasSuffix(raise, "; its nodes have 7 in all"), want, raise)
	}
}

// TestNodesOfAFlavor checks that Pods get the labels and tolerations of a
// flavor.
func TestNodesOfAFlavor(t *testing.T) {
	for flavor, want := range map[string]string{
		`{nodeLabels: {f: "yes"}}`: "1 of 3 nodes",
		`{nodeLabels: {f: "no"}}`:  "0 of 3 nodes",
		`{nodeLabels: {zone: b}, tolerations: [{key: gpu, operator: Exists}]}`: "1 of 3 nodes",
		`{nodeLabels: {zone: b}}`: "0 of 3 nodes",
	} {
		w := parse[world](t, strings.Replace(simple("10"), "{metadata: {name: f}}", "{metadata: {name: f}, spec: "+flavor+"}", 1))
		j := parse[batchv1.Job](t, pods("1", "cpu: 1"))
		j.Namespace = "ml"
		r := placement.OfJob(&j, "q")
		f := w.facts()
		f.Environment = &inspect.Environment{Nodes: someNodes()}
		p := placement.On(f, &r, nil, time.Now())
		assert.Equal(t, p.Condition(inspect.ConditionPods).Text, want, flavor)
		if flavor == `{nodeLabels: {f: "no"}}` { // The Job itself selects nothing.
			assert.Equal(t, p.Changes[0].Message, "add nodes with label f=no, which their flavor or RuntimeClass requires, on w")
		}
	}
}

// TestNodesOfAManager checks that Pods that run on workers need no node of
// the manager.
func TestNodesOfAManager(t *testing.T) {
	w := parse[world](t, simple("10"))
	f := w.facts()
	f.Environment = &inspect.Environment{Nodes: someNodes()}
	v := inspect.NewInventory(time.Now(), []*inspect.Facts{f}, nil)
	j := parse[batchv1.Job](t, pods("1", "cpu: 1"))
	j.Namespace = "ml"
	r := placement.OfJob(&j, "q")
	own := placement.Submit(v, &r)
	assert.Equal(t, own[0].Condition(inspect.ConditionPods).Text, "1 of 3 nodes")
	r.Owner = delegation.MultiKueue
	given := placement.Submit(v, &r)
	assert.Equal(t, given[0].Condition(inspect.ConditionPods).State, inspect.NotAsked)
}

// TestForDispatch checks that a Job that waits for dispatch has one row for
// every other context, whatever is there, and none once it has a mirror.
func TestForDispatch(t *testing.T) {
	origin := &inspect.Job{Context: "hub", Kind: "Job", Namespace: "ml", Name: "train", UID: "u", ManagedBy: delegation.Dispatch, Status: delegation.Unclaimed}
	there := &inspect.Namespace{Name: "ml"}
	clusters := []*inspect.Facts{
		{Context: "hub", Jobs: []*inspect.Job{origin}, Environment: &inspect.Environment{Namespaces: map[string]*inspect.Namespace{"ml": there}}},
		{Context: "lost", Err: errors.New("no route")},
		{Context: "ready", Environment: &inspect.Environment{Namespaces: map[string]*inspect.Namespace{"ml": there}}},
		{Context: "without", Environment: &inspect.Environment{Namespaces: map[string]*inspect.Namespace{"ml": nil}}},
		{Context: "going", Environment: &inspect.Environment{Namespaces: map[string]*inspect.Namespace{"ml": {Name: "ml", IsTerminating: true}}}},
		{Context: "closed", Environment: &inspect.Environment{}},
		{
			Context: "taken", Environment: &inspect.Environment{Namespaces: map[string]*inspect.Namespace{"ml": there}},
			Jobs: []*inspect.Job{{Context: "taken", Kind: "Job", Namespace: "ml", Name: "train", UID: "x", Marks: &delegation.Marks{OriginUID: "an-earlier-one"}}},
		},
	}
	v := inspect.NewInventory(time.Now(), clusters, nil)
	pair := inspect.Pair{Origin: origin}
	var got []string
	for _, p := range placement.Around(v).Judge(pair, nil) {
		got = append(got, p.Context+" "+string(p.Verdict))
		// Only a missing namespace can be changed.
		assert.Equal(t, len(p.Changes) > 0, p.Reason == inspect.NamespaceMissing && p.Verdict == inspect.Never, "%v", p.Changes)
	}
	assert.DeepEqual(t, got, []string{"lost unknown", "ready unknown", "without never", "going waits", "closed unknown", "taken never"})
	origin.Marks = &delegation.Marks{Mirror: delegation.Place{Name: "train", UID: "m"}}
	assert.Equal(t, len(placement.Around(v).Judge(pair, nil)), 0)
}

// TestTerminatingNamespace checks that a Job fits nowhere in a namespace that is being deleted, even
// if its Workload there has quota.
func TestTerminatingNamespace(t *testing.T) {
	for _, own := range []string{"", `own: {metadata: {uid: o}, status: {conditions: [{type: QuotaReserved, status: "True", reason: "", message: "", lastTransitionTime: null}]}}`} {
		w := parse[world](t, simple("4")+own)
		j := parse[batchv1.Job](t, pods("1", "cpu: 1"))
		j.Namespace = "ml"
		r := placement.OfJob(&j, "q")
		f := w.facts()
		f.Kueue.Capacity.Namespaces["ml"].IsTerminating = true
		p := placement.On(f, &r, w.Own, time.Now())
		assert.Equal(t, p.Verdict, inspect.Waits, p.Message)
		assert.Equal(t, p.Reason, inspect.NamespaceMissing)
		assert.Equal(t, p.Message, "namespace ml is being deleted")
		assert.Equal(t, p.Condition(inspect.ConditionNamespace).Text, "terminating")
	}
}
