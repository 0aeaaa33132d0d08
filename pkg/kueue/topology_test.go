package kueue_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestFixTopology checks that the fix for a flavor without a topology names the Topology
// if there is no choice, and that it sets node labels if the flavor has none.
func TestFixTopology(t *testing.T) {
	const patch = "kubectl --context w1 patch resourceflavors.kueue.x-k8s.io od --type merge -p "
	flavor := func(name, topology string, labels map[string]string) *kueue.ResourceFlavor {
		f := &kueue.ResourceFlavor{}
		f.Name, f.Spec.TopologyName, f.Spec.NodeLabels = name, topology, labels
		return f
	}
	labels := map[string]string{"pool": "od"}
	labelled := flavor("od", "", labels)
	for _, tt := range []struct {
		name    string
		all     string
		flavors []*kueue.ResourceFlavor
		unread  bool
		want    string
	}{
		{
			name: "nothing read", unread: true,
			want: "give ResourceFlavor od on w1 a topology (cannot be undone, affects all Jobs of the flavor). Replace TOPOLOGY with a Topology of w1: " + patch + `'{"spec":{"topologyName":"TOPOLOGY"}}'`,
		},
		{
			name: "other flavors share one", unread: true, flavors: []*kueue.ResourceFlavor{labelled, flavor("a", "racks", labels), flavor("b", "racks", labels)},
			want: "set the topology of ResourceFlavor od on w1 to racks, which the other flavors there have (cannot be undone, affects all Jobs of the flavor): " + patch + `'{"spec":{"topologyName":"racks"}}'`,
		},
		{
			name: "other flavors differ", unread: true, flavors: []*kueue.ResourceFlavor{labelled, flavor("a", "racks", labels), flavor("b", "zones", labels)},
			want: "give ResourceFlavor od on w1 a topology (cannot be undone, affects all Jobs of the flavor). Replace TOPOLOGY with a Topology of w1: " + patch + `'{"spec":{"topologyName":"TOPOLOGY"}}'`,
		},
		{
			name: "another flavor names one that does not exist", all: "zones", flavors: []*kueue.ResourceFlavor{labelled, flavor("a", "racks", labels)},
			want: "set the topology of ResourceFlavor od on w1 to zones, the only Topology there (cannot be undone, affects all Jobs of the flavor): " + patch + `'{"spec":{"topologyName":"zones"}}'`,
		},
		{
			name: "one", all: "racks", flavors: []*kueue.ResourceFlavor{labelled},
			want: "set the topology of ResourceFlavor od on w1 to racks, the only Topology there (cannot be undone, affects all Jobs of the flavor): " + patch + `'{"spec":{"topologyName":"racks"}}'`,
		},
		{
			name: "several", all: "zones racks", flavors: []*kueue.ResourceFlavor{labelled},
			want: "give ResourceFlavor od on w1 a topology (cannot be undone, affects all Jobs of the flavor). Replace TOPOLOGY with a Topology of w1 (racks, zones): " + patch + `'{"spec":{"topologyName":"TOPOLOGY"}}'`,
		},
		{
			name: "many", all: "a b c d e f g", flavors: []*kueue.ResourceFlavor{labelled},
			want: "give ResourceFlavor od on w1 a topology (cannot be undone, affects all Jobs of the flavor). Replace TOPOLOGY with a Topology of w1 (a, b, c, d, e and 2 more): " + patch + `'{"spec":{"topologyName":"TOPOLOGY"}}'`,
		},
		{
			name: "none", flavors: []*kueue.ResourceFlavor{labelled},
			want: "create a Topology on w1, which has none, and give it to ResourceFlavor od (cannot be undone, affects all Jobs of the flavor). Replace TOPOLOGY with its name: " + patch + `'{"spec":{"topologyName":"TOPOLOGY"}}'`,
		},
		{
			name: "a flavor without node labels, nothing else read", unread: true, flavors: []*kueue.ResourceFlavor{flavor("od", "", nil)},
			want: "give ResourceFlavor od on w1 a topology (cannot be undone, affects all Jobs of the flavor). Replace TOPOLOGY with a Topology of w1, and LABEL and VALUE with a label of the flavor's nodes: " + patch + `'{"spec":{"nodeLabels":{"LABEL":"VALUE"},"topologyName":"TOPOLOGY"}}'`,
		},
		{
			name: "a flavor without node labels", all: "racks", flavors: []*kueue.ResourceFlavor{flavor("od", "", nil)},
			want: "set the topology of ResourceFlavor od on w1 to racks, the only Topology there (cannot be undone, affects all Jobs of the flavor). Replace LABEL and VALUE with a label of the flavor's nodes: " + patch + `'{"spec":{"nodeLabels":{"LABEL":"VALUE"},"topologyName":"racks"}}'`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			known := kueue.Topologies{IsRead: !tt.unread, Flavors: tt.flavors}
			for _, name := range strings.Fields(tt.all) {
				topology := &kueue.Topology{}
				topology.Name = name
				known.All = append(known.All, topology)
			}
			w := kueue.Wait{Reason: kueue.ReasonNoTopology, Lacks: []kueue.Lack{{Reason: kueue.ReasonNoTopology, Flavor: "od"}}}
			first, second, _ := strings.Cut(fixesOf(&w, kueue.FixTarget{Context: "w1", Topologies: known}), "\n")
			assert.Equal(t, first, "remove annotation kueue.x-k8s.io/podset-*-topology from the Pod template, then delete the Job, and create it again")
			assert.Equal(t, second, tt.want)
		})
	}
}
