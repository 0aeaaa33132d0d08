package podfit

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Summary says what keeps a Pod off the nodes of a cluster.
type Summary struct {
	// Nodes is the number of nodes. Counts are the numbers of nodes by reason.
	Nodes  int
	Counts map[Reason]int
	// Taints are those of the nodes that are Tainted. OneTaint counts the nodes that would take the
	// Pod if it tolerated one more taint.
	Taints   []string
	OneTaint map[string]int
	// Lacking are the requests that exceed every node that is TooSmall. Largest has, of the nodes
	// that lack one resource only, the largest amount of that resource.
	Lacking corev1.ResourceList
	Largest corev1.ResourceList
}

// Summarize compares the Pod with all nodes of a cluster.
func (p *Pod) Summarize(nodes []*Node) Summary {
	s := Summary{Nodes: len(nodes), Counts: map[Reason]int{}, OneTaint: map[string]int{}, Lacking: corev1.ResourceList{}, Largest: corev1.ResourceList{}}
	taints := sets.New[string]()
	lacking := map[corev1.ResourceName]int{}
	for _, n := range nodes {
		v := p.On(n)
		s.Counts[v.Reason]++
		switch v.Reason {
		case Tainted:
			for _, t := range v.Taints {
				taints.Insert(t.ToString())
			}
			if len(v.Taints) == 1 && len(v.Lacks) == 0 {
				s.OneTaint[v.Taints[0].ToString()]++
			}
		case TooSmall:
			for _, name := range v.Lacks {
				lacking[name]++
			}
			if has := n.Allocatable[v.Lacks[0]]; len(v.Lacks) == 1 && has.Cmp(s.Largest[v.Lacks[0]]) > 0 {
				s.Largest[v.Lacks[0]] = has
			}
		default:
		}
	}
	s.Taints = sets.List(taints)
	for name, count := range lacking {
		if count == s.Counts[TooSmall] {
			s.Lacking[name] = p.requests[name]
		}
	}
	return s
}

// Fits is the number of nodes that would take the Pod.
func (s *Summary) Fits() int { return s.Counts[Fits] }

// Other is the number of nodes that the Pod itself excludes, whatever their state.
func (s *Summary) Other() int {
	return s.Counts[OtherName] + s.Counts[OtherLabels] + s.Counts[OtherOS]
}

// MissingLabels returns the labels of the Pod's node selector that no node has, as "key=value" and
// sorted.
func (p *Pod) MissingLabels(nodes []*Node) []string {
	var missing []string
	for _, key := range slices.Sorted(maps.Keys(p.spec.NodeSelector)) {
		value := p.spec.NodeSelector[key]
		if !slices.ContainsFunc(nodes, func(n *Node) bool { has, ok := n.Labels[key]; return ok && has == value }) {
			missing = append(missing, key+"="+value)
		}
	}
	return missing
}

// Uncordoned returns the names of the cordoned nodes that would take the Pod if they were schedulable.
func (p *Pod) Uncordoned(nodes []*Node) []string {
	var names []string
	for _, n := range nodes {
		open := *n
		open.Unschedulable = false
		open.Taints = slices.DeleteFunc(slices.Clone(n.Taints), func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnschedulable })
		if n.IsCordoned() && p.On(&open).Reason == Fits {
			names = append(names, n.Name)
		}
	}
	return names
}
