package placement

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/kueue"
)

// countNodes tells how many nodes could take a pod of each kind, if nothing else ran there:
// of the kind that fewest could take. It changes no verdict: quota is given without looking
// at nodes, and nodes may be added by whoever sees that some are lacking.
func (s *site) countNodes() {
	if s.facts == nil || s.facts.Err != nil || s.facts.Site == nil || s.request.isGiven || len(s.request.PodSets) == 0 {
		return
	}
	nodes := s.facts.Site.Nodes
	switch {
	case s.facts.Site.NodesErr != nil:
		s.condition(inspect.ConditionPods, inspect.NotKnown, "?")
		return
	case nodes == nil:
		return
	}
	fewest := len(nodes)
	for i := range s.request.PodSets {
		set := &s.request.PodSets[i]
		if set.Count > 0 {
			fewest = min(fewest, s.nodesFor(set, nodes))
		}
	}
	noun := "nodes"
	if len(nodes) == 1 {
		noun = "node"
	}
	if fewest > 0 {
		s.condition(inspect.ConditionPods, inspect.Yes, "%d of %d %s", fewest, len(nodes), noun)
		return
	}
	s.condition(inspect.ConditionPods, inspect.No, "0 of %d %s", len(nodes), noun)
	if s.Verdict != inspect.Never {
		s.Message += fmt.Sprintf("; of its %d %s, none could take the pods as it is now", len(nodes), noun)
	}
}

// nodesFor counts the nodes that could take a pod of a set, in any of the flavors that it
// may be given.
func (s *site) nodesFor(set *kueue.PodTemplate, nodes []*inspect.Node) (count int) {
	var limits []corev1.LimitRange
	var flavors []*kueue.ResourceFlavor
	if s.room != nil {
		limits = limitsOf(s.room, s.request.Namespace)
		for _, tried := range s.Flavors {
			if f := s.room.Flavor(tried.Flavor); f != nil && tried.PodSet == set.Name && tried.Verdict != inspect.Never {
				flavors = append(flavors, f)
			}
		}
	}
	if len(flavors) == 0 {
		flavors = []*kueue.ResourceFlavor{{}}
	}
	requests := kueue.Requests(&set.Template.Spec, limits)
	for _, n := range nodes {
		if holds(n, requests) && slices.ContainsFunc(flavors, func(f *kueue.ResourceFlavor) bool { return takes(n, &set.Template.Spec, f) }) {
			count++
		}
	}
	return count
}

// holds says whether a node has so much of everything.
func holds(n *inspect.Node, requests corev1.ResourceList) bool {
	for name, asked := range requests {
		if has := n.Allocatable[name]; asked.Cmp(has) > 0 {
			return false
		}
	}
	return true
}

// takes says whether a node lets a pod in that has what Kueue adds for a flavor, and is one
// that the pod asks for.
func takes(n *inspect.Node, spec *corev1.PodSpec, f *kueue.ResourceFlavor) bool {
	for key, value := range f.Spec.NodeLabels {
		if n.Labels[key] != value {
			return false
		}
	}
	if spec.NodeName != "" && spec.NodeName != n.Name {
		return false
	}
	isHard := func(t *corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
	}
	tolerations := slices.Concat(spec.Tolerations, f.Spec.Tolerations)
	if _, found := scheduling.FindMatchingUntoleratedTaint(klog.Background(), n.Taints, tolerations, isHard, true); found {
		return false
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}}
	matches, err := nodeaffinity.NewRequiredNodeAffinity(spec.NodeSelector, spec.Affinity).Match(node)
	// What makes no sense to us is no reason to leave a node out.
	return err != nil || matches
}
