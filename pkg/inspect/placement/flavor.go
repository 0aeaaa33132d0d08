package placement

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/podfit"
)

// suitability is whether a flavor suits some Pods, however much of it is
// free.
type suitability struct {
	suits bool
	// isKnown is false if that is unknown.
	isKnown bool
	// lack is why it does not suit, and why is why that is unknown, in words
	// that follow the flavor's name. tolerate are the taints that the Pods would
	// have to tolerate, if that is enough.
	why      string
	lack     kueue.Lack
	tolerate []corev1.Taint
	// selects are the labels that the Pods' selector would have to have, if that
	// is enough, as "key=value,…".
	selects string
}

// topologyAnnotations returns the annotations by which Pods request
// topology-aware placement (kueue: apis/kueue/v1beta2/topology_types.go).
func topologyAnnotations() []string {
	return []string{
		"kueue.x-k8s.io/podset-required-topology", "kueue.x-k8s.io/podset-preferred-topology",
		"kueue.x-k8s.io/podset-unconstrained-topology", "kueue.x-k8s.io/podset-slice-required-topology",
		"kueue.x-k8s.io/podset-slice-required-topology-constraints",
	}
}

// isBound reports whether a podset must be placed by topology. That depends
// on nodes and Pods, which are not read.
func isBound(set *kueue.PodTemplate) bool {
	return set.Topology.IsExplicit() || slices.ContainsFunc(topologyAnnotations(), func(key string) bool {
		_, isAsked := set.Template.Annotations[key]
		return isAsked
	})
}

// suits reports whether a flavor suits the Pods of a podset: they tolerate
// its taints, and their node requirements do not contradict its labels. keys are the labels that Kueue
// compares. allTopology is whether all flavors of the queue have a topology.
func suits(set *kueue.PodTemplate, f *kueue.ResourceFlavor, keys sets.Set[string], allTopology bool) suitability {
	spec := &set.Template.Spec
	tolerations := slices.Concat(spec.Tolerations, f.Spec.Tolerations)
	if taints := podfit.Untolerated(f.Spec.NodeTaints, tolerations); len(taints) > 0 {
		result := unsuited(kueue.Lack{Reason: kueue.ReasonTaint, Taint: taints[0].ToString()})
		untainted := *f
		untainted.Spec.NodeTaints = nil
		if rest := suits(set, &untainted, keys, allTopology); rest.suits || !rest.isKnown || rest.selects != "" {
			result.tolerate, result.selects = taints, rest.selects
		}
		return result
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: f.Spec.NodeLabels}}
	matches, err := nodeaffinity.NewRequiredNodeAffinity(selectorFor(spec, keys), affinityFor(spec, keys)).Match(node)
	if err != nil {
		return suitability{why: fmt.Sprintf("cannot be compared with its node affinity: %v", err)}
	}
	if !matches {
		return otherLabels(spec, f, keys)
	}
	switch {
	case isBound(set) && f.Spec.TopologyName == "":
		return unsuited(kueue.Lack{Reason: kueue.ReasonNoTopology})
	case isBound(set) || f.Spec.TopologyName != "" && allTopology:
		return suitability{why: "places Pods by topology, which depends on its nodes"}
	case f.Spec.TopologyName != "":
		return unsuited(kueue.Lack{Reason: kueue.ReasonTopologyRequired})
	}
	return suitability{isKnown: true, suits: true}
}

// flavor returns whether a flavor of the queue suits the Pods of a podset.
func (s *site) flavor(set *kueue.PodTemplate, name string) suitability {
	if err := s.capacity.Gaps[inspect.PartFlavors]; err != nil {
		return s.flavorByMessage(name, "is not known: "+s.because(err))
	}
	f := s.capacity.Flavor(name)
	if f == nil {
		return unsuited(kueue.Lack{Reason: kueue.ReasonFlavorMissing})
	}
	allTopology, keys := true, sets.KeySet(f.Spec.NodeLabels)
	others := keys.Clone()
	for _, g := range s.queue.Queue.Groups() {
		isIn := slices.ContainsFunc(g.Flavors, func(q kueue.FlavorQuotas) bool { return q.Name == name })
		for _, quotas := range g.Flavors {
			known := s.capacity.Flavor(quotas.Name)
			allTopology = allTopology && known != nil && known.Spec.TopologyName != ""
			if isIn && known != nil {
				others = others.Union(sets.KeySet(known.Spec.NodeLabels))
			}
		}
	}
	result := suits(set, f, keys, allTopology)
	if !s.facts.Kueue.ServesOld || !result.suits || suits(set, f, others, allTopology).suits {
		return result
	}
	return s.flavorByMessage(name, "matches its Pods only in some versions of Kueue, and the version is unknown")
}

// otherLabels returns that the labels of a flavor contradict the node requirements of Pods.
func otherLabels(spec *corev1.PodSpec, f *kueue.ResourceFlavor, keys sets.Set[string]) suitability {
	lack := kueue.Lack{Reason: kueue.ReasonFlavorLabels, NodeSelector: labels.Set(selectorFor(spec, keys)).String()}
	if affinityFor(spec, keys) != nil {
		return unsuited(lack)
	}
	selects := labels.Set{}
	for key := range selectorFor(spec, keys) {
		selects[key] = f.Spec.NodeLabels[key]
	}
	lack.NodeLabels = selects.String()
	result := unsuited(lack)
	result.selects = lack.NodeLabels
	return result
}

// selectorFor returns the part of a node selector that Kueue compares with a
// flavor: that with some keys.
func selectorFor(spec *corev1.PodSpec, keys sets.Set[string]) map[string]string {
	selector := map[string]string{}
	for key, value := range spec.NodeSelector {
		if keys.Has(key) {
			selector[key] = value
		}
	}
	return selector
}

// affinityFor returns the part of the required node affinity that Kueue
// compares with a flavor: that with some keys. It is nil if one term has no such part, because one
// term is enough to match.
func affinityFor(spec *corev1.PodSpec, keys sets.Set[string]) *corev1.Affinity {
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil || spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	var terms []corev1.NodeSelectorTerm
	for _, term := range spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		kept := slices.DeleteFunc(slices.Clone(term.MatchExpressions), func(r corev1.NodeSelectorRequirement) bool { return !keys.Has(r.Key) })
		if len(kept) == 0 {
			return nil
		}
		terms = append(terms, corev1.NodeSelectorTerm{MatchExpressions: kept})
	}
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
	}}
}

func numberIn(text string) (int32, bool) {
	n, err := strconv.ParseInt(text, 10, 32)
	return int32(n), err == nil && n > 0
}
