package view

import (
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/podfit"
)

// CordonedNodes returns the cordoned nodes of a cluster, as far as its nodes were read.
func (v *View) CordonedNodes(context string) []string {
	f, ok := v.Facts(context)
	if !ok || f.Environment == nil {
		return nil
	}
	var names []string
	for _, n := range f.Environment.Nodes {
		if n.IsCordoned() {
			names = append(names, n.Name)
		}
	}
	return names
}

// HasNodeWith reports whether a node of a cluster has all of the labels, such as "a=b". known is false if its
// nodes were not read.
func (v *View) HasNodeWith(context string, labels []string) (has, known bool) {
	f, ok := v.Facts(context)
	if !ok || f.Environment == nil || f.Environment.Nodes == nil || f.Environment.NodesErr != nil {
		return false, false
	}
	return slices.ContainsFunc(f.Environment.Nodes, func(n *podfit.Node) bool {
		return !slices.ContainsFunc(labels, func(label string) bool {
			key, value, _ := strings.Cut(label, "=")
			has, isSet := n.Labels[key]
			return !isSet || has != value
		})
	}), true
}

// FlavorsOf returns the ResourceFlavors that the Pods of a mirror got, as far as its Workload was
// read. A flavor that was not read has a name only.
func (v *View) FlavorsOf(mirror *inspect.Job) []*kueue.ResourceFlavor {
	f, ok := v.Facts(mirror.Context)
	if !ok || f.Kueue == nil {
		return nil
	}
	w := f.Workload(mirror.Namespace, mirror.Prebuilt())
	if w == nil || w.Status.Admission == nil {
		return nil
	}
	var flavors []*kueue.ResourceFlavor
	for _, name := range w.Status.Admission.FlavorNames() {
		flavor := &kueue.ResourceFlavor{}
		flavor.Name = name
		if c := f.Kueue.Capacity; c != nil && c.Flavor(name) != nil {
			flavor = c.Flavor(name)
		}
		flavors = append(flavors, flavor)
	}
	return flavors
}
