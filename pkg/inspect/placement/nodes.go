package placement

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/podfit"
)

// countNodes adds how many nodes could take a Pod, if they were empty, for
// the podset that fits on the fewest. If there is no such node, Fits becomes
// Unknown: Kueue gives quota without looking at nodes, and an autoscaler may
// add some.
func (s *site) countNodes() {
	if s.facts == nil || s.facts.Err != nil || s.facts.Environment == nil || s.role.isGiven || len(s.request.PodSets) == 0 {
		return
	}
	nodes := s.facts.Environment.Nodes
	switch {
	case s.facts.Environment.NodesErr != nil:
		s.condition(inspect.ConditionPods, inspect.NotKnown, "?")
		return
	case nodes == nil:
		return
	}
	if !slices.ContainsFunc(s.request.PodSets, func(set kueue.PodTemplate) bool { return set.Count > 0 }) {
		return
	}
	for i := range s.request.PodSets {
		if _, isKnown := s.admitted(&s.request.PodSets[i]); !isKnown {
			s.condition(inspect.ConditionPods, inspect.NotKnown, "?")
			return
		}
	}
	rarest, fewest := s.rarest(nodes, false)
	all := inspect.Count(len(nodes), "node")
	if fewest > 0 {
		s.condition(inspect.ConditionPods, inspect.Yes, "%d of %s", fewest, all)
		s.countPods(nodes)
		return
	}
	if _, most := s.rarest(nodes, !s.isUntolerated); most > 0 {
		s.condition(inspect.ConditionPods, inspect.NotKnown, "%d of %s?", most, all)
		s.needTolerations(rarest, nodes)
		s.countPods(nodes)
		return
	}
	s.condition(inspect.ConditionPods, inspect.No, "0 of %s", all)
	s.withoutNode(rarest, all)
}

// needTolerations adds to the verdict that nodes take the Pods of a podset only if admission adds
// tolerations to them.
func (s *site) needTolerations(set *kueue.PodTemplate, nodes []*podfit.Node) {
	var taints []string
	for _, n := range nodes {
		if !slices.ContainsFunc(s.podsOf(set, true), func(p *podfit.Pod) bool { return p.On(n).Reason == podfit.Fits }) {
			continue
		}
		for _, p := range s.podsOf(set, false) {
			for _, t := range p.On(n).Taints {
				if text := t.ToString(); !slices.Contains(taints, text) {
					taints = append(taints, text)
				}
			}
		}
	}
	slices.Sort(taints)
	text := fmt.Sprintf("its Pods do not tolerate taint %s; admission may add the toleration", strings.Join(taints, ", "))
	switch {
	case s.Verdict == inspect.Fits:
		s.decide(inspect.Unknown, inspect.HasRoom, "quota is free, but %s", text)
	case s.Verdict != inspect.Never:
		s.Message += "; " + text
	}
}

// rarest returns the podset that fits on the fewest nodes, nil if it has no Pods. isTolerated is
// whether admission adds tolerations to the Pods.
func (s *site) rarest(nodes []*podfit.Node, isTolerated bool) (rarest *kueue.PodTemplate, fewest int) {
	fewest = len(nodes) + 1
	for i := range s.request.PodSets {
		set := &s.request.PodSets[i]
		if set.Count <= 0 {
			continue
		}
		if count := s.nodesFor(set, nodes, isTolerated); count < fewest {
			fewest, rarest = count, set
		}
	}
	return rarest, fewest
}

// countPods adds to the verdict that the nodes could not run all Pods of a podset at the same time,
// even if they were empty. Kueue does not check that without a topology. It compares each podset
// alone, so that the nodes may run even fewer.
func (s *site) countPods(nodes []*podfit.Node) {
	if s.Verdict == inspect.Never {
		return
	}
	for i := range s.request.PodSets {
		set := &s.request.PodSets[i]
		needed := s.startsWith(set)
		if most := s.podsOn(set, nodes); most < needed {
			s.limitPods(&inspect.PodsAtOnce{Pods: most, Of: needed})
		}
	}
}

// startsWith returns with how many Pods a podset starts.
func (s *site) startsWith(set *kueue.PodTemplate) int64 {
	if s.Partial != nil && len(s.request.PodSets) == 1 {
		return s.Partial.Pods
	}
	return int64(set.Count)
}

// limitPods notes that only some Pods can run at the same time, unless a lower limit is known.
func (s *site) limitPods(limit *inspect.PodsAtOnce) {
	if s.PodsAtOnce != nil && s.PodsAtOnce.Pods <= limit.Pods {
		return
	}
	s.PodsAtOnce = limit
}

// podsOn returns how many Pods of a podset the nodes could run at the same time, with any of the
// flavors that it may get.
func (s *site) podsOn(set *kueue.PodTemplate, nodes []*podfit.Node) (most int64) {
	pods := s.podsOf(set, !s.isUntolerated)
	for _, n := range nodes {
		var here int64
		for _, p := range pods {
			here = max(here, p.AtOnce(n))
		}
		most += here
	}
	return most
}

// withoutNode adds to the verdict that no node could take a Pod of a podset.
func (s *site) withoutNode(rarest *kueue.PodTemplate, all string) {
	switch {
	case s.Verdict == inspect.Fits:
		s.noNodeFits(rarest, "quota is free, but ")
	case s.Reason == inspect.QuotaInUse:
		// Free quota would not help.
		s.Changes = nil
		s.noNodeFits(rarest, "quota is in use, and ")
	case s.Reason == inspect.NothingInTheWay:
		s.noNodeFits(rarest, "")
	case s.Reason == inspect.OverLimit && rarest.Count == 1:
		if smaller := s.fitNodes(rarest); len(smaller) > 0 {
			s.Changes = smaller
		}
	case s.Verdict != inspect.Never:
		s.Message += fmt.Sprintf("; none of its %s fits the Pods now", all)
	}
}

// nodesFor returns how many nodes could take a Pod of a podset, with any of
// the flavors that it may get.
func (s *site) nodesFor(set *kueue.PodTemplate, nodes []*podfit.Node, isTolerated bool) (count int) {
	pods := s.podsOf(set, isTolerated)
	for _, n := range nodes {
		if slices.ContainsFunc(pods, func(p *podfit.Pod) bool { return p.On(n).Reason == podfit.Fits }) {
			count++
		}
	}
	return count
}

// podsOf returns a Pod of a podset for each flavor that it may get, the
// first choice first. isTolerated is whether admission adds tolerations of the resources that it requests.
func (s *site) podsOf(set *kueue.PodTemplate, isTolerated bool) []*podfit.Pod {
	var flavors []*kueue.ResourceFlavor
	if s.capacity != nil {
		for _, tried := range s.Flavors {
			if f := s.capacity.Flavor(tried.Flavor); f != nil && tried.PodSet == set.Name && tried.Verdict != inspect.Never {
				flavors = append(flavors, f)
			}
		}
	}
	if len(flavors) == 0 {
		flavors = []*kueue.ResourceFlavor{{}}
	}
	spec, _ := s.admitted(set)
	requests := kueue.Requests(spec, s.limits(), kueue.SchedulerRules())
	pods := make([]*podfit.Pod, len(flavors))
	for i, f := range flavors {
		with := flavored(spec, f)
		if isTolerated {
			with.Tolerations = slices.Concat(with.Tolerations, podfit.ResourceTolerations(requests))
		}
		pods[i] = podfit.New(with, requests)
	}
	return pods
}

// limits returns the LimitRanges of the request's namespace.
func (s *site) limits() []corev1.LimitRange {
	if s.capacity == nil {
		return nil
	}
	return s.capacity.LimitsOf(s.request.Namespace)
}

// flavored returns a Pod spec with what Kueue adds for a flavor. The flavor
// must suit the Pod: its labels do not contradict the Pod's own selector.
func flavored(spec *corev1.PodSpec, f *kueue.ResourceFlavor) *corev1.PodSpec {
	with := *spec
	with.NodeSelector = maps.Clone(f.Spec.NodeLabels)
	if with.NodeSelector == nil {
		with.NodeSelector = map[string]string{}
	}
	maps.Copy(with.NodeSelector, spec.NodeSelector)
	with.Tolerations = slices.Concat(spec.Tolerations, f.Spec.Tolerations)
	return &with
}
