package kueue

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
)

// Topology is a hierarchy of node labels, by which Kueue places Pods near each other.
type Topology struct {
	metav1.ObjectMeta `json:"metadata"`
}

// Topologies is what is known about the topologies of a cluster.
type Topologies struct {
	// All are the Topologies of the cluster. IsRead is whether they were read.
	All    []*Topology
	IsRead bool
	// Flavors are the ResourceFlavors of the cluster, as far as they were read.
	Flavors []*ResourceFlavor
}

// names returns the names of all Topologies, sorted.
func (t *Topologies) names() []string {
	names := make([]string, len(t.All))
	for i, topology := range t.All {
		names[i] = topology.Name
	}
	slices.Sort(names)
	return names
}

// commonTopology returns the only topology that the flavors name, "" if there is none or
// several.
func (t *Topologies) commonTopology() string {
	common := ""
	for _, f := range t.Flavors {
		switch name := f.Spec.TopologyName; {
		case name == "" || name == common:
		case common != "":
			return ""
		default:
			common = name
		}
	}
	if t.IsRead && !slices.Contains(t.names(), common) {
		return ""
	}
	return common
}

// lacksNodeLabels reports whether a flavor is known to have no node labels. Only a flavor
// with node labels can have a topology (kueue: apis/kueue/v1beta2/resourceflavor_types.go).
func (t *Topologies) lacksNodeLabels(flavor string) bool {
	return slices.ContainsFunc(t.Flavors, func(f *ResourceFlavor) bool { return f.Name == flavor && len(f.Spec.NodeLabels) == 0 })
}

// Placeholders for what the reader must choose.
const (
	topologyPlaceholder = "TOPOLOGY"
	labelPlaceholder    = "LABEL"
	valuePlaceholder    = "VALUE"
)

// mostTopologies is how many Topologies a text names.
const mostTopologies = 5

// replaceLabel tells the reader to replace the placeholders of a flavor's node labels.
const replaceLabel = labelPlaceholder + " and " + valuePlaceholder + " with a label of the flavor's nodes"

// setTopology returns the fix that gives a flavor a topology. A topology cannot be removed again
// (kueue: apis/kueue/v1beta2/resourceflavor_types.go), and Kueue then places all Pods of the flavor
// by it. Nodes without its labels take none of them.
func (s FixTarget) setTopology(flavor string) command.Fix {
	const caution = " (cannot be undone, affects all Jobs of the flavor)"
	var text string
	var replacements []string
	topology, names := s.Topologies.commonTopology(), s.Topologies.names()
	switch {
	case topology != "":
		text = fmt.Sprintf("set the topology of ResourceFlavor %s on %s to %s, which the other flavors there have", flavor, s.Context, topology)
	case s.Topologies.IsRead && len(names) == 1:
		topology = names[0]
		text = fmt.Sprintf("set the topology of ResourceFlavor %s on %s to %s, the only Topology there", flavor, s.Context, topology)
	case s.Topologies.IsRead && len(names) == 0:
		topology = topologyPlaceholder
		text = fmt.Sprintf("create a Topology on %s, which has none, and give it to ResourceFlavor %s", s.Context, flavor)
		replacements = append(replacements, topologyPlaceholder+" with its name")
	default:
		topology = topologyPlaceholder
		text = fmt.Sprintf("give ResourceFlavor %s on %s a topology", flavor, s.Context)
		replacement := topologyPlaceholder + " with a Topology of " + s.Context
		if len(names) > 0 {
			replacement += " (" + joinNames(names) + ")"
		}
		replacements = append(replacements, replacement)
	}
	spec := map[string]any{"topologyName": topology}
	if s.Topologies.lacksNodeLabels(flavor) {
		spec["nodeLabels"] = map[string]any{labelPlaceholder: valuePlaceholder}
		replacements = append(replacements, replaceLabel)
	}
	text += caution
	if len(replacements) > 0 {
		text += ". Replace " + strings.Join(replacements, ", and ")
	}
	return fixBy(Patch(s.Context, "ResourceFlavor", "", flavor, spec, "spec"), "%s", text)
}

// joinNames joins the first names with commas, and counts the others.
func joinNames(names []string) string {
	text := strings.Join(names[:min(mostTopologies, len(names))], ", ")
	if more := len(names) - mostTopologies; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
