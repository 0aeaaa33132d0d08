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
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// countNodes adds how many nodes could take a Pod, if they were empty, for
// the podset that fits on the fewest. It changes no verdict: Kueue gives
// quota without looking at nodes, and an autoscaler may add nodes.
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
	all := inspect.Count(len(nodes), "node")
	if fewest > 0 {
		s.condition(inspect.ConditionPods, inspect.Yes, "%d of %s", fewest, all)
		return
	}
	s.condition(inspect.ConditionPods, inspect.No, "0 of %s", all)
	if s.Verdict != inspect.Never {
		s.Message += fmt.Sprintf("; none of its %s fits the Pods now", all)
	}
}

// nodesFor returns how many nodes could take a Pod of a podset, with any of
// the flavors that it may get.
func (s *site) nodesFor(set *kueue.PodTemplate, nodes []*inspect.Node) (count int) {
	var limits []corev1.LimitRange
	var flavors []*kueue.ResourceFlavor
	if s.capacity != nil {
		limits = limitsOf(s.capacity, s.request.Namespace)
		for _, tried := range s.Flavors {
			if f := s.capacity.Flavor(tried.Flavor); f != nil && tried.PodSet == set.Name && tried.Verdict != inspect.Never {
				flavors = append(flavors, f)
			}
		}
	}
	if len(flavors) == 0 {
		flavors = []*kueue.ResourceFlavor{{}}
	}
	requests := kueue.Requests(&set.Template.Spec, limits, schedulerCounting())
	for _, n := range nodes {
		if slices.ContainsFunc(flavors, func(f *kueue.ResourceFlavor) bool { return whyNot(n, requests, &set.Template.Spec, f).fits() }) {
			count++
		}
	}
	return count
}

// misfit is why a node could not take a Pod, even if it were empty.
type misfit struct {
	// isOther is whether the Pod's selector, affinity or node name excludes the
	// node.
	isOther bool
	// taints are the taints that the Pod does not tolerate. lacks are the
	// resources of which one Pod needs more than the node has.
	taints []corev1.Taint
	lacks  []corev1.ResourceName
}

func (m misfit) fits() bool { return !m.isOther && len(m.taints) == 0 && len(m.lacks) == 0 }

// whyNot returns why a node could not take a Pod with what Kueue adds for a
// flavor.
func whyNot(n *inspect.Node, requests corev1.ResourceList, spec *corev1.PodSpec, f *kueue.ResourceFlavor) (m misfit) {
	for key, value := range f.Spec.NodeLabels {
		m.isOther = m.isOther || n.Labels[key] != value
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}}
	matches, err := nodeaffinity.NewRequiredNodeAffinity(spec.NodeSelector, spec.Affinity).Match(node)
	// An affinity that cannot be parsed does not exclude the node.
	m.isOther = m.isOther || spec.NodeName != "" && spec.NodeName != n.Name || err == nil && !matches
	for _, t := range n.Taints {
		isHard := t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
		if isHard && !scheduling.TolerationsTolerateTaint(klog.Background(), slices.Concat(spec.Tolerations, f.Spec.Tolerations), &t, true) {
			m.taints = append(m.taints, t)
		}
	}
	for name, asked := range requests {
		if has := n.Allocatable[name]; asked.Cmp(has) > 0 {
			m.lacks = append(m.lacks, name)
		}
	}
	return m
}
