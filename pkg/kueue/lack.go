package kueue

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Lack is one reason for which a flavor or a ClusterQueue does not take a Workload. Kueue's
// message fills it, or a simulation that knows more. Quantities are Kubernetes quantities.
// Fields that are unknown, or that its reason does not use, are "".
type Lack struct {
	// Reason is one of QuotaInUse, OverLimit, NoTopologyDomain and those about flavors.
	Reason       WaitReason `json:"reason"`
	Resource     string     `json:"resource,omitempty"`
	Flavor       string     `json:"flavor,omitempty"`
	ClusterQueue string     `json:"clusterQueue,omitempty"`
	// Requested is what a podset requests, and Before what other podsets of the Workload
	// take first. Kueue before 0.16 does not report Before.
	Requested string `json:"requested,omitempty"`
	Before    string `json:"before,omitempty"`
	// Free is what is unused, Missing how much more is needed, and Limit the most that the
	// Workload could get, all with what may be borrowed.
	Free    string `json:"free,omitempty"`
	Missing string `json:"missing,omitempty"`
	Limit   string `json:"limit,omitempty"`
	// Taint is KEY=VALUE:EFFECT, or KEY:EFFECT.
	Taint string `json:"taint,omitempty"`
	// NodeSelector is the node selector of the Pods, KEY=VALUE,…. NodeLabels are the labels of the flavor that contradict
	// it, "" if node affinity may be the cause.
	NodeSelector string `json:"nodeSelector,omitempty"`
	NodeLabels   string `json:"nodeLabels,omitempty"`
	// Topology is the name of a Topology, and Level one of its levels.
	Topology string `json:"topology,omitempty"`
	Level    string `json:"level,omitempty"`
	// Fit is how many of Pods fit into the best domain. Either may count slices of Pods.
	Fit  string `json:"fit,omitempty"`
	Pods string `json:"pods,omitempty"`
}

// sharesQuota reports whether other podsets of the Workload take some of the
// quota first. Another flavor for them could help then.
func (l *Lack) sharesQuota() bool { return l.Before != "" && l.Before != "0" }

// mayFitAlone reports whether the podset fits within the limit if other
// podsets of the Workload take another flavor.
func (l *Lack) mayFitAlone() bool {
	return l.sharesQuota() && compareQuantities(l.Requested, l.Limit) <= 0
}

// Total returns what the podset and those before it request together, "" if unknown.
func (l *Lack) Total() string {
	if !l.sharesQuota() {
		return l.Requested
	}
	return addQuantities(l.Requested, l.Before, 1)
}

// Excess returns by how much the request exceeds the limit, or the unused quota; "" if
// unknown.
func (l *Lack) Excess() string {
	if l.Reason == ReasonOverLimit {
		return addQuantities(l.Total(), l.Limit, -1)
	}
	if l.Missing != "" || l.Free == "" {
		return l.Missing
	}
	return addQuantities(l.Total(), l.Free, -1)
}

// share returns Excess as a part of the request, and thus comparable between resources. ok is false if it is
// unknown: Kueue often reports only what is missing.
func (l *Lack) share() (share float64, ok bool) {
	excess, err := resource.ParseQuantity(l.Excess())
	if err != nil {
		return 0, false
	}
	total, err := resource.ParseQuantity(l.Total())
	if err != nil || total.Sign() <= 0 {
		return 0, false
	}
	return excess.AsApproximateFloat64() / total.AsApproximateFloat64(), true
}

// compareSizes returns the comparison of lacks by the size of the change that ends them: by their shares or, if
// all are of one resource, by their amounts. Other lacks are not comparable. Those of no quota come last.
func compareSizes(all []Lack) func(a, b Lack) int {
	all = slices.DeleteFunc(slices.Clone(all), func(l Lack) bool { return l.Excess() == "" })
	hasShares := !slices.ContainsFunc(all, func(l Lack) bool { _, ok := l.share(); return !ok })
	isOneResource := !slices.ContainsFunc(all, func(l Lack) bool { return l.Resource != all[0].Resource })
	return func(a, b Lack) int {
		x, y := a.Excess(), b.Excess()
		switch {
		case x == "" || y == "" || !hasShares && isOneResource:
			return compareQuantities(x, y)
		case hasShares:
			ofA, _ := a.share()
			ofB, _ := b.share()
			return cmp.Compare(ofA, ofB)
		}
		return 0
	}
}

// addQuantities returns a + sign × b; "" if one of them is not a quantity.
func addQuantities(a, b string, sign int) string {
	x, err := resource.ParseQuantity(a)
	if err != nil {
		return ""
	}
	y, err := resource.ParseQuantity(b)
	if err != nil {
		return ""
	}
	if sign < 0 {
		y.Neg()
	}
	x.Add(y)
	return x.String()
}

// Message describes the lack in words that follow the name of the Job.
func (l *Lack) Message() string {
	switch l.Reason {
	case ReasonOverLimit:
		return fmt.Sprintf("needs %s, limit %s%s", l.need(), l.Limit, l.location())
	case ReasonQuotaInUse:
		return l.shortageText()
	case ReasonTaint:
		return fmt.Sprintf("does not tolerate taint %s of flavor %s", l.Taint, l.Flavor)
	case ReasonFlavorLabels:
		return l.labelsText()
	case ReasonResourceNotCovered:
		return UncoveredText(*l)
	case ReasonFlavorMissing:
		return fmt.Sprintf("flavor %s does not exist", l.Flavor)
	case ReasonNoTopology:
		return fmt.Sprintf("flavor %s has no topology, which its Pods request", l.Flavor)
	case ReasonNoTopologyLevel:
		return fmt.Sprintf("requests a topology level that flavor %s lacks", l.Flavor)
	case ReasonTopologyRequired:
		return fmt.Sprintf("requests no topology (flavor %s requires one)", l.Flavor)
	case ReasonNoTopologyDomain:
		return l.noDomainText()
	default:
		return ""
	}
}

// labelsText describes a flavor whose nodes the Pods do not select.
func (l *Lack) labelsText() string {
	switch {
	case l.NodeLabels != "":
		return fmt.Sprintf("flavor %s (%s) does not match its node selector %s", l.Flavor, l.NodeLabels, l.NodeSelector)
	case l.NodeSelector != "":
		return fmt.Sprintf("flavor %s does not match its node selector (%s) or affinity", l.Flavor, l.NodeSelector)
	}
	return fmt.Sprintf("flavor %s does not match its node selector or affinity", l.Flavor)
}

// need returns the requested amount of the resource.
func (l *Lack) need() string {
	if l.sharesQuota() {
		return fmt.Sprintf("%s %s besides %s for its other Pods", l.Requested, l.Resource, l.Before)
	}
	return l.Requested + " " + l.Resource
}

// shortageText describes quota that others use.
func (l *Lack) shortageText() string {
	if l.Requested == "" || l.Free == "" {
		return fmt.Sprintf("needs %s more %s%s", l.Missing, l.Resource, l.location())
	}
	return fmt.Sprintf("needs %s, %s free%s", l.need(), l.Free, l.location())
}

// noDomainText describes Pods that fit into no topology domain.
func (l *Lack) noDomainText() string {
	switch {
	case l.Topology == "":
		return "no topology domain exists at level " + l.Level
	case l.Pods == "":
		return fmt.Sprintf("topology %s does not fit its Pods", l.Topology)
	}
	switch l.Fit {
	case "0":
		return fmt.Sprintf("none of its %s Pods fits in a domain of topology %s", l.Pods, l.Topology)
	case "1":
		return fmt.Sprintf("only 1 of %s Pods fits in a domain of topology %s", l.Pods, l.Topology)
	}
	return fmt.Sprintf("only %s of %s Pods fit in one domain of topology %s", l.Fit, l.Pods, l.Topology)
}

// location returns the flavor and the ClusterQueue in parentheses, "" if both are unknown.
func (l *Lack) location() string {
	var parts []string
	if l.Flavor != "" {
		parts = append(parts, "flavor "+l.Flavor)
	}
	if l.ClusterQueue != "" {
		parts = append(parts, "ClusterQueue "+l.ClusterQueue)
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}
