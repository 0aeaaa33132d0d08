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
	all := inspect.Count(len(nodes), "node")
	if fewest > 0 {
		s.condition(inspect.ConditionPods, inspect.Yes, "%d of %s", fewest, all)
		return
	}
	s.condition(inspect.ConditionPods, inspect.No, "0 of %s", all)
	if s.Verdict != inspect.Never {
		s.Message += fmt.Sprintf("; of its %s, none could take the pods as it is now", all)
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
	requests := kueue.Requests(&set.Template.Spec, limits, schedulerCounting())
	for _, n := range nodes {
		if slices.ContainsFunc(flavors, func(f *kueue.ResourceFlavor) bool { return whyNot(n, requests, &set.Template.Spec, f).fits() }) {
			count++
		}
	}
	return count
}

// misfit is why a node could not take a pod, even if nothing else ran there.
type misfit struct {
	// isOther is whether it is not one that the pod asks for.
	isOther bool
	// taints are those that the pod does not tolerate, and lacks what it has less of than one
	// pod needs.
	taints []corev1.Taint
	lacks  []corev1.ResourceName
}

func (m misfit) fits() bool { return !m.isOther && len(m.taints) == 0 && len(m.lacks) == 0 }

// whyNot says whether a node is one that a pod asks for which has what Kueue adds for a
// flavor, lets it in, and has so much of everything.
func whyNot(n *inspect.Node, requests corev1.ResourceList, spec *corev1.PodSpec, f *kueue.ResourceFlavor) (m misfit) {
	for key, value := range f.Spec.NodeLabels {
		m.isOther = m.isOther || n.Labels[key] != value
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}}
	matches, err := nodeaffinity.NewRequiredNodeAffinity(spec.NodeSelector, spec.Affinity).Match(node)
	// What makes no sense to us is no reason to leave a node out.
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
