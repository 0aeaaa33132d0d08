package placement

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// suitability is whether a flavor is one for some pods, whatever room there is.
type suitability struct {
	suits bool
	// isKnown is false where that cannot be told.
	isKnown bool
	// lack is why it does not suit, and why is why that is unknown, in words that follow the
	// flavor's name. tolerate is the taint that would have to be tolerated.
	why      string
	lack     kueue.Lack
	tolerate *corev1.Taint
}

// topologyAnnotations are how pods ask to be near each other (kueue:
// apis/kueue/v1beta2/topology_types.go).
func topologyAnnotations() []string {
	return []string{
		"kueue.x-k8s.io/podset-required-topology", "kueue.x-k8s.io/podset-preferred-topology",
		"kueue.x-k8s.io/podset-unconstrained-topology", "kueue.x-k8s.io/podset-slice-required-topology",
		"kueue.x-k8s.io/podset-slice-required-topology-constraints",
	}
}

// isBound is whether a podset has to be placed by topology, which hangs on nodes and pods
// that nobody here looks at.
func isBound(set *kueue.PodTemplate) bool {
	return set.Topology.IsExplicit() || slices.ContainsFunc(topologyAnnotations(), func(key string) bool {
		_, isAsked := set.Template.Annotations[key]
		return isAsked
	})
}

// suits says whether a flavor is one for the pods of a podset: its taints are tolerated,
// and what they ask of nodes does not contradict its labels. allTopology is whether all
// flavors of the queue are such with a topology.
func suits(set *kueue.PodTemplate, f *kueue.ResourceFlavor, allTopology bool) suitability {
	if f == nil {
		return unsuited(kueue.Lack{Reason: kueue.ReasonFlavorMissing})
	}
	spec := &set.Template.Spec
	tolerations := slices.Concat(spec.Tolerations, f.Spec.Tolerations)
	isHard := func(t *corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
	}
	if taint, found := scheduling.FindMatchingUntoleratedTaint(klog.Background(), f.Spec.NodeTaints, tolerations, isHard, true); found {
		result := unsuited(kueue.Lack{Reason: kueue.ReasonTaint, Taint: taint.ToString()})
		result.tolerate = &taint
		return result
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: f.Spec.NodeLabels}}
	matches, err := nodeaffinity.NewRequiredNodeAffinity(selectorFor(spec, f), affinityFor(spec, f)).Match(node)
	if err != nil {
		return suitability{why: fmt.Sprintf("cannot be compared with its node affinity: %v", err)}
	}
	if !matches {
		return unsuited(kueue.Lack{Reason: kueue.ReasonFlavorLabels})
	}
	switch {
	case isBound(set) && f.Spec.TopologyName == "":
		return unsuited(kueue.Lack{Reason: kueue.ReasonNoTopology})
	case isBound(set) || f.Spec.TopologyName != "" && allTopology:
		return suitability{why: "places pods by topology, which depends on its nodes"}
	case f.Spec.TopologyName != "":
		return unsuited(kueue.Lack{Reason: kueue.ReasonTopologyRequired})
	}
	return suitability{isKnown: true, suits: true}
}

// selectorFor is what of a node selector Kueue compares with a flavor: the keys that the
// flavor labels its nodes with.
func selectorFor(spec *corev1.PodSpec, f *kueue.ResourceFlavor) map[string]string {
	selector := map[string]string{}
	for key, value := range spec.NodeSelector {
		if _, ok := f.Spec.NodeLabels[key]; ok {
			selector[key] = value
		}
	}
	return selector
}

// affinityFor is the same of what is required of nodes. One term that asks for nothing
// of it is enough to match.
func affinityFor(spec *corev1.PodSpec, f *kueue.ResourceFlavor) *corev1.Affinity {
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil || spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	var terms []corev1.NodeSelectorTerm
	for _, term := range spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		kept := slices.DeleteFunc(slices.Clone(term.MatchExpressions), func(r corev1.NodeSelectorRequirement) bool {
			_, ok := f.Spec.NodeLabels[r.Key]
			return !ok
		})
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
