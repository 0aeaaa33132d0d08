package rules_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/answer"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/podfit"
)

// TestCordonedNodes checks that a Pod that finds only cordoned nodes gets the fix to make them
// schedulable again. Its selector and its requests do not matter.
func TestCordonedNodes(t *testing.T) {
	const change = "add a matching node to kwok-w2: "
	find := quoted("kubectl --context kwok-w2 get nodes --field-selector spec.unschedulable=true")
	again := "make the cordoned nodes on kwok-w2 schedulable again: find them with " + find + ", and then " + quoted("kubectl --context kwok-w2 uncordon NODE")
	for name, tt := range map[string]struct {
		message string
		nodes   []*podfit.Node
		remedy  string
	}{
		"all": {message: "0/4 nodes are available: 4 node(s) were unschedulable. preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling.", remedy: again},
		"all, and nodes are known": {
			message: "0/2 nodes are available: 2 node(s) were unschedulable.",
			nodes:   []*podfit.Node{{Name: "a", Unschedulable: true}, {Name: "b", Unschedulable: true}},
			remedy:  "make 2 cordoned nodes on kwok-w2 schedulable again: " + quoted("kubectl --context kwok-w2 uncordon a b"),
		},
		"some":                       {message: "0/4 nodes are available: 1 Insufficient cpu, 3 node(s) were unschedulable.", remedy: again + "; or " + change},
		"none":                       {message: "0/4 nodes are available: 4 Insufficient cpu.", remedy: change},
		"none, and some have taints": {message: "0/4 nodes are available: 1 node(s) had untolerated taint {a: b}, 3 Insufficient cpu.", remedy: change},
	} {
		t.Run(name, func(t *testing.T) {
			edits := []edit{patch("kwok-w2", "Pod/train-*", fmt.Sprintf(
				"{status: {containerStatuses: [], conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, message: %q, lastTransitionTime: '2026-11-20T23:23:35Z'}]}}", tt.message))}
			v := testCase{base: "starting", edits: edits}.make(t)
			if tt.nodes != nil {
				v.Facts("kwok-w2").Environment = &inspect.Environment{Nodes: tt.nodes}
			}
			rule, _ := rules.ByCode("JM049")
			found := judge(t, v, []rules.Rule{rule}, 0)
			assert.Equal(t, len(found), 1)
			rest, isSame := strings.CutPrefix(found[0].Remedy, tt.remedy)
			assert.Assert(t, isSame, found[0].Remedy)
			if strings.HasSuffix(tt.remedy, change) {
				what := "the requests"
				if strings.Contains(tt.message, "taint") {
					what = "the tolerations or the requests"
				}
				_, rest, _ = strings.Cut(rest, "; or ")
				assert.Equal(t, rest, "change "+what+" of the Pods, then delete the Job: "+quoted("kubectl --context kwok-mgr -n default delete job train")+", and create the Job again")
			}
		})
	}
}

// TestLostNodes checks that Pods whose node no longer exists do not count as running, if the nodes were
// read, and that a Pod on a new node does.
func TestLostNodes(t *testing.T) {
	rule, _ := rules.ByCode("JM049")
	for name, tt := range map[string]struct {
		nodes   []*podfit.Node
		fresh   bool
		state   inspect.JobState
		message string
	}{
		"not read":       {nil, false, inspect.StateRunning, ""},
		"all exist":      {[]*podfit.Node{{Name: "node-0"}}, false, inspect.StateRunning, ""},
		"gone":           {[]*podfit.Node{{Name: "other"}}, false, inspect.StateFailing, "Job default/train: 2 Pods of its mirror on kwok-w1 lost: node node-0 no longer exists"},
		"no nodes exist": {[]*podfit.Node{}, false, inspect.StateFailing, "Job default/train: 2 Pods of its mirror on kwok-w1 lost: node node-0 no longer exists"},
		"new":            {[]*podfit.Node{}, true, inspect.StateRunning, ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := testCase{base: "running"}.make(t)
			f := v.Facts("kwok-w1")
			assert.Equal(t, len(f.Pods), 2)
			for _, p := range f.Pods {
				if p.Node = "node-0"; tt.fresh {
					p.Scheduled = metav1.NewTime(v.Now.Add(-time.Second))
				} else {
					p.Scheduled = metav1.NewTime(v.Now.Add(-time.Hour))
				}
			}
			if tt.nodes != nil {
				f.Environment = &inspect.Environment{Nodes: tt.nodes}
			}
			v = inspect.NewInventory(v.Now, v.Clusters, v.Addresses)
			assert.Equal(t, answer.Trace(v, only(t, v.Pairs.Pairs)).State, tt.state)
			found := judge(t, v, []rules.Rule{rule}, 0)
			assert.Equal(t, len(found) > 0, tt.message != "")
			if tt.message != "" {
				assert.Equal(t, found[0].Message, tt.message)
			}
		})
	}
}

// TestUnconfirmedPods checks that Pods which their node neither ends nor reports do not count as running, and
// that they are no obstacle once other Pods replace them.
func TestUnconfirmedPods(t *testing.T) {
	rule, _ := rules.ByCode("JM049")
	terminating := func(age time.Duration) func(v *inspect.Inventory, p *inspect.Pod) {
		return func(v *inspect.Inventory, p *inspect.Pod) {
			p.Reason, p.DeletedBy = inspect.Terminating, metav1.NewTime(v.Now.Add(-age))
		}
	}
	for name, tt := range map[string]struct {
		change   func(v *inspect.Inventory, p *inspect.Pod)
		replaced bool
		state    inspect.JobState
		message  string
	}{
		"terminating within the grace period": {terminating(-time.Minute), false, inspect.StateStarting, ""},
		"terminating for an hour": {
			terminating(time.Hour), false, inspect.StateFailing,
			"Job default/train: 2 Pods of its mirror on kwok-w1 lost (PODS): node node-0 does not confirm their end",
		},
		"replaced": {terminating(time.Hour), true, inspect.StateRunning, ""},
		"unknown": {
			func(_ *inspect.Inventory, p *inspect.Pod) { p.Phase, p.Reason = corev1.PodUnknown, "NodeLost" }, false, inspect.StateFailing,
			"Job default/train: 2 Pods of its mirror on kwok-w1 lost (PODS): node node-0 does not report their state",
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := testCase{base: "running"}.make(t)
			f := v.Facts("kwok-w1")
			assert.Equal(t, len(f.Pods), 2)
			for _, p := range f.Pods {
				if tt.replaced {
					other := *p
					other.Name, other.UID = p.Name+"-again", p.UID+"-again"
					f.Pods = append(f.Pods, &other)
				}
				p.Node = "node-0"
				tt.change(v, p)
			}
			v = inspect.NewInventory(v.Now, v.Clusters, v.Addresses)
			assert.Equal(t, answer.Trace(v, only(t, v.Pairs.Pairs)).State, tt.state)
			found := judge(t, v, []rules.Rule{rule}, 0)
			assert.Equal(t, len(found) > 0, tt.message != "")
			if tt.message != "" {
				assert.Equal(t, found[0].Message, strings.Replace(tt.message, "PODS", f.Pods[0].Name+", "+f.Pods[1].Name, 1))
				assert.Equal(t, found[0].Severity, inspect.Error)
				assert.Equal(t, found[0].Remedy, "check and restart the node: "+quoted("kubectl --context kwok-w1 get node node-0")+
					"; or, only if it is shut down for good, release the Pods: "+quoted("kubectl --context kwok-w1 taint node node-0 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"))
			}
		})
	}
}

// TestNoNodeInNamespaces checks that Jobs of several namespaces whose Pods find no node of a cluster for the same reason
// are one finding.
func TestNoNodeInNamespaces(t *testing.T) {
	t.Parallel()
	rule, _ := rules.ByCode("JM049")
	for recording, want := range map[string]int{"dispatch-origin-in-multikueue-queue": 3, "workers-only-user": 5} {
		found := judge(t, inventory(t, recordings+"/"+recording), []rules.Rule{rule}, 0)
		assert.Equal(t, len(found), want, linesOf(found))
		isAcross := slices.ContainsFunc(found, func(f inspect.Finding) bool {
			return slices.ContainsFunc(f.Jobs, func(r inspect.Ref) bool { return r.Namespace != f.Jobs[0].Namespace })
		})
		assert.Assert(t, isAcross, linesOf(found))
	}
}
