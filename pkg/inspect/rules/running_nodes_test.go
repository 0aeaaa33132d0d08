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
	const change = "see what the Pods need: "
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
				"{status: {containerStatuses: [], conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, message: %q, lastTransitionTime: '2026-11-20T23:23:35Z'}]}}", tt.message,
			))}
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
				_, rest, _ = strings.Cut(rest, "; then add a matching node to kwok-w2; or ")
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

// TestFlavorWithoutNode checks that JM049 names what requires the labels that no node has, a flavor or the Job itself,
// and claims that no node has them only if the nodes were read.
func TestFlavorWithoutNode(t *testing.T) {
	rule, _ := rules.ByCode("JM049")
	const spot = `{spec: {template: {spec: {nodeSelector: {pool: spot}}}}}`
	selects := func(context, workload string) edit {
		return patch(context, workload, `{spec: {podSets: [{name: main, count: 1, template: {spec: {containers: [], nodeSelector: {pool: on-demand}}}}]}}`)
	}
	onAll := func(context string) edit {
		return patch(context, "Job/*", `{spec: {template: {spec: {nodeSelector: {pool: on-demand}}}}}`)
	}
	flavored := []string{
		"flavor on-demand requires nodes with label pool=on-demand, and no node of kwok-w2 has it: 1 Pod of its mirror waits",
		"flavor spot requires nodes with label pool=spot, and no node of kwok-w2 has it: 1 Pod of its mirror waits",
	}
	unread := []string{
		"the scheduler of kwok-w2 finds no node for 1 Pod of its mirror: flavor on-demand requires label pool=on-demand",
		"the scheduler of kwok-w2 finds no node for 1 Pod of its mirror: flavor spot requires label pool=spot",
	}
	const (
		label      = "label nodes: `kubectl --context kwok-w2 label node NODE pool=on-demand`; or correct nodeLabels of ResourceFlavor on-demand: `kubectl --context kwok-w2 edit resourceflavors.kueue.x-k8s.io on-demand`"
		check      = "check which nodes have label pool=on-demand, which flavor on-demand requires: `kubectl --context kwok-w2 get nodes -l pool=on-demand`; or " + label
		ofTemplate = "check which nodes have label pool=on-demand, which the Pod template requires: `kubectl --context kwok-w2 get nodes -l pool=on-demand`; " +
			"or label nodes: `kubectl --context kwok-w2 label node NODE pool=on-demand`; or "
		affinity = `{spec: {template: {spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
			{matchExpressions: [{key: zone, operator: In, values: [berlin]}]}]}}}}}}}`
		prefers = `{spec: {template: {spec: {affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [
			{weight: 1, preference: {matchExpressions: [{key: zone, operator: In, values: [berlin]}]}}]}}}}}}`
	)
	for name, tt := range map[string]struct {
		edits []edit
		// nodes are the values of the label pool; nil if the nodes were not read.
		nodes    []string
		messages []string
		remedy   string
	}{
		"no node has the label": {
			nil, []string{}, flavored, label,
		},
		"the nodes were not read": {nil, nil, unread, check},
		"a required affinity": {
			[]edit{patch("kwok-mgr", "Job/*", affinity)}, []string{}, []string{unread[0] + ", and the Job has a node affinity", unread[1] + ", and the Job has a node affinity"}, check,
		},
		"a preferred affinity":                 {[]edit{patch("kwok-mgr", "Job/*", prefers)}, []string{}, flavored, label},
		"other labels":                         {nil, []string{"gpu", ""}, flavored, "label nodes: `kubectl"},
		"a node has the label":                 {nil, []string{"gpu", "spot"}, []string{flavored[0], "0/2 nodes are available"}, "label nodes: `kubectl"},
		"an unknown flavor":                    {[]edit{patch("kwok-w2", "Workload/*", `{status: {admission: null}}`)}, []string{}, []string{"its flavors require nodes with label pool=on-demand", "its flavors require nodes with label pool=spot"}, "label nodes: `kubectl"},
		"Kueue added a selector to the origin": {[]edit{patch("kwok-mgr", "Job/*", spot)}, nil, unread, check},
		"the Job selects nodes": {
			[]edit{selects("kwok-w2", "Workload/*"), onAll("kwok-w2")},
			nil,
			[]string{"finds no node for 2 Pods of 2 Jobs: the Pod template requires label pool=on-demand"},
			ofTemplate + "change node selector pool=on-demand of the Pods in all manifests, then delete the 2 Jobs, and create them again",
		},
		"one Job selects nodes": {
			[]edit{selects("kwok-w2", "Workload/job-fits-on-demand-*"), onAll("kwok-w2")},
			nil,
			[]string{"the Pod template requires label pool=on-demand", "flavor spot requires label pool=on-demand"},
			"check which nodes have label pool=on-demand, which the Pod template requires: ",
		},
		"the Jobs of a CronJob select nodes": {
			[]edit{selects("kwok-w2", "Workload/*"), onAll("kwok-w2"), patch("kwok-mgr", "Job/*", `{metadata: {ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: nightly, uid: its-cronjob, controller: true}]}}`)},
			nil,
			[]string{"finds no node for 2 Pods of 2 Jobs: the Pod template requires label pool=on-demand"},
			ofTemplate + "change node selector pool=on-demand of the Pods in spec.jobTemplate of CronJob default/nightly, then delete the 2 Jobs",
		},
		"a flavor, by the Workload of the manager": {
			[]edit{remove("kwok-w2", "Workload/*"), onAll("kwok-mgr"), onAll("kwok-w2")},
			nil,
			[]string{"finds no node for 2 Pods of 2 Jobs: its flavors require label pool=on-demand"},
			"check which nodes have label pool=on-demand, which its flavors require: ",
		},
		"the Jobs select nodes, by the Workload of the manager": {
			[]edit{remove("kwok-w2", "Workload/*"), selects("kwok-mgr", "Workload/*"), onAll("kwok-w2")},
			nil,
			[]string{"finds no node for 2 Pods of 2 Jobs: the Pod template requires label pool=on-demand"},
			ofTemplate,
		},
		"the origin has not started, and no Workload is known": {
			[]edit{
				remove("kwok-w2", "Workload/*"), remove("kwok-mgr", "Workload/*"), onAll("kwok-mgr"), onAll("kwok-w2"),
				patch("kwok-mgr", "Job/*", "{spec: {suspend: true}, status: {startTime: null}}"),
			},
			nil,
			[]string{"finds no node for 2 Pods of 2 Jobs: the Pod template requires label pool=on-demand"},
			ofTemplate,
		},
		"the origin has started, and no Workload is known": {
			[]edit{remove("kwok-w2", "Workload/*"), remove("kwok-mgr", "Workload/*"), onAll("kwok-mgr"), onAll("kwok-w2")},
			nil,
			[]string{"finds no node for 2 Pods of 2 Jobs: 0/2 nodes are available"},
			"see what the Pods need: ",
		},
		"the Job and a flavor select nodes": {
			[]edit{
				patch("kwok-w2", "Workload/*", `{spec: {podSets: [{name: main, count: 1, template: {spec: {containers: [], nodeSelector: {gpu: h100}}}}]}}`),
				patch("kwok-w2", "Job/*", `{spec: {template: {spec: {nodeSelector: {gpu: h100}}}}}`),
			},
			nil,
			[]string{"the Pod template and flavor on-demand require labels gpu=h100,pool=on-demand", "the Pod template and flavor spot require labels gpu=h100,pool=spot"},
			"check which nodes have labels gpu=h100,pool=on-demand, which the Pod template and flavor on-demand require: `kubectl --context kwok-w2 get nodes -l gpu=h100,pool=on-demand`; " +
				"or label nodes: `kubectl --context kwok-w2 label node NODE gpu=h100 pool=on-demand`; " +
				"or change node selector gpu=h100 of the Pods, then delete the Job: `kubectl --context kwok-mgr -n default delete job fits-on-demand`, and create the Job again; " +
				"or correct nodeLabels of ResourceFlavor on-demand: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := testCase{base: "two-flavors", edits: tt.edits}.make(t)
			v.Facts("kwok-w2").Environment = &inspect.Environment{}
			if tt.nodes != nil {
				v.Facts("kwok-w2").Environment.Nodes = []*podfit.Node{}
			}
			for _, pool := range tt.nodes {
				v.Facts("kwok-w2").Environment.Nodes = append(v.Facts("kwok-w2").Environment.Nodes, &podfit.Node{Labels: map[string]string{"pool": pool}})
			}
			found := judge(t, v, []rules.Rule{rule}, 0)
			assert.Equal(t, len(found), len(tt.messages), "%+v", found)
			for i, f := range found {
				assert.Assert(t, strings.Contains(f.Message, tt.messages[i]), f.Message)
			}
			assert.Assert(t, strings.HasPrefix(found[0].Remedy, tt.remedy), found[0].Remedy)
		})
	}
}
