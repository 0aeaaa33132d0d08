package podfit

import (
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// Reason reports whether a node would take a Pod, and otherwise why not.
type Reason int

// If several reasons hold, the first one counts.
const (
	Fits Reason = iota
	// OtherName: the Pod names another node.
	OtherName
	// OtherLabels: the Pod's selector or required affinity excludes the node.
	OtherLabels
	// OtherOS: the Pod is for another operating system.
	OtherOS
	// Cordoned: the node is cordoned.
	Cordoned
	// Tainted: the node has taints that the Pod does not tolerate.
	Tainted
	// TooSmall: the Pod requests more than the node has.
	TooSmall
)

// Verdict reports whether a node would take a Pod.
type Verdict struct {
	Reason Reason
	// Taints are the taints that the Pod does not tolerate, without that of a cordoned node.
	Taints []corev1.Taint
	// Lacks are the resources of which the Pod requests more than the node has, sorted.
	Lacks []corev1.ResourceName
}

// Pod is what nodes are compared with.
type Pod struct {
	spec     *corev1.PodSpec
	requests corev1.ResourceList
	affinity nodeaffinity.RequiredNodeAffinity
}

// New returns the Pod of a spec. requests are what the scheduler counts for it.
func New(spec *corev1.PodSpec, requests corev1.ResourceList) *Pod {
	return &Pod{spec: spec, requests: requests, affinity: nodeaffinity.NewRequiredNodeAffinity(spec.NodeSelector, spec.Affinity)}
}

// Requests returns what the scheduler counts for the Pod.
func (p *Pod) Requests() corev1.ResourceList { return p.requests }

// IsSelective reports whether the Pod has requirements that some nodes usually do not meet.
func (p *Pod) IsSelective() bool {
	if p.spec.NodeName != "" || len(p.spec.NodeSelector) > 0 || p.spec.Affinity != nil && p.spec.Affinity.NodeAffinity != nil {
		return true
	}
	if p.spec.OS != nil && p.spec.OS.Name != corev1.Linux {
		return true
	}
	for name := range p.requests {
		if strings.Contains(string(name), "/") {
			return true
		}
	}
	return false
}

// On returns whether a node would take the Pod.
func (p *Pod) On(n *Node) Verdict {
	v := Verdict{Taints: p.untolerated(n)}
	isCordoned := p.spec.NodeName == "" && n.IsCordoned() && !tolerates(p.spec.Tolerations, cordon())
	for name, requested := range p.requests {
		if has := n.Allocatable[name]; requested.Cmp(has) > 0 {
			v.Lacks = append(v.Lacks, name)
		}
	}
	slices.Sort(v.Lacks)
	switch {
	case p.spec.NodeName != "" && p.spec.NodeName != n.Name:
		v.Reason = OtherName
	case !p.matches(n):
		v.Reason = OtherLabels
	case !p.hasOS(n):
		v.Reason = OtherOS
	case isCordoned:
		v.Reason = Cordoned
	case len(v.Taints) > 0:
		v.Reason = Tainted
	case len(v.Lacks) > 0:
		v.Reason = TooSmall
	}
	return v
}

// AtOnce returns how many such Pods a node could run at the same time if it were empty. 0 if it would
// take none.
func (p *Pod) AtOnce(n *Node) int64 {
	if p.On(n).Reason != Fits {
		return 0
	}
	most := int64(math.MaxInt32)
	if limit, ok := n.Allocatable[corev1.ResourcePods]; ok {
		most = min(most, limit.Value())
	}
	for name, requested := range p.requests {
		if has := n.Allocatable[name]; !requested.IsZero() {
			most = min(most, Quotient(has, requested))
		}
	}
	return most
}

// Quotient returns how many times a request is contained in a quantity. Both are positive.
func Quotient(has, requested resource.Quantity) int64 {
	if has.AsApproximateFloat64() > math.MaxInt64/1000 {
		return has.Value() / max(requested.Value(), 1)
	}
	return has.MilliValue() / max(requested.MilliValue(), 1)
}

// untolerated returns the taints of a node that keep the Pod off it, except that of cordoned nodes.
func (p *Pod) untolerated(n *Node) []corev1.Taint {
	var all []corev1.Taint
	for _, t := range Untolerated(n.Taints, p.spec.Tolerations) {
		// If the Pod names its node, there is no scheduler, and the kubelet regards only this effect
		// (kubernetes: pkg/kubelet/lifecycle/predicate.go).
		isRegarded := p.spec.NodeName == "" || t.Effect == corev1.TaintEffectNoExecute
		if isRegarded && !t.MatchTaint(new(cordon())) {
			all = append(all, t)
		}
	}
	return all
}

// matches reports whether a node has the labels and the fields that the Pod requires. An affinity
// that cannot be parsed excludes no node.
func (p *Pod) matches(n *Node) bool {
	matches, err := p.affinity.Match(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}})
	return matches || err != nil
}

// hasOS reports whether a node has the operating system that the Pod names. Otherwise the kubelet
// refuses the Pod.
func (p *Pod) hasOS(n *Node) bool {
	os := n.Labels[corev1.LabelOSStable]
	return p.spec.OS == nil || os == "" || string(p.spec.OS.Name) == os
}

// Untolerated returns the taints that keep Pods off a node and that no toleration matches.
func Untolerated(taints []corev1.Taint, tolerations []corev1.Toleration) []corev1.Taint {
	var all []corev1.Taint
	for _, t := range taints {
		keepsOff := t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
		if keepsOff && !tolerates(tolerations, t) {
			all = append(all, t)
		}
	}
	return all
}

// ResourceTolerations returns the tolerations that the admission plugin ExtendedResourceToleration adds
// to a Pod with such requests: a node may have a taint whose key is one of its extended resources
// (kubernetes: plugin/pkg/admission/extendedresourcetoleration). Some clusters enable the plugin, and no
// object shows which.
func ResourceTolerations(requests corev1.ResourceList) []corev1.Toleration {
	var all []corev1.Toleration
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		if isExtended(string(name)) {
			all = append(all, corev1.Toleration{Key: string(name), Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule})
		}
	}
	return all
}

// isExtended reports whether a resource is none of Kubernetes itself (kubernetes:
// pkg/apis/core/v1/helper).
func isExtended(name string) bool {
	domain, _, hasDomain := strings.Cut(name, "/")
	return hasDomain && !strings.HasSuffix(domain, "kubernetes.io") && !strings.HasPrefix(name, corev1.DefaultResourceRequestsPrefix)
}

func tolerates(tolerations []corev1.Toleration, t corev1.Taint) bool {
	// The logger drops what it gets.
	return scheduling.TolerationsTolerateTaint(klog.Logger{}, tolerations, &t, true)
}
