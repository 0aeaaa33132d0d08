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

// Selectors returns the labels that the Pods of a mirror require of their node, such as "a=b": own are the labels of
// the Job itself, added the labels that Kueue added for its flavors (kueue: pkg/podset/podset.go). known is false if nothing
// that was read shows which are which. origin is nil if it is unknown.
func (v *View) Selectors(origin, mirror *inspect.Job) (own, added []string, known bool) {
	if mirror.NodeSelector == "" && mirror.Row().IsJob() {
		return nil, nil, true
	}
	selector, known := v.ownSelector(origin, mirror)
	if !known {
		return nil, nil, false
	}
	inTemplate := strings.Split(selector, ",")
	for label := range strings.SplitSeq(mirror.NodeSelector, ",") {
		switch {
		case label == "":
		case slices.Contains(inTemplate, label):
			own = append(own, label)
		default:
			added = append(added, label)
		}
	}
	return own, added, true
}

// ownSelector returns the node selector that a Job had before Kueue added those of flavors to its mirror and, once it is
// admitted, to its origin: that of its Workload on the worker or on the manager. origin is nil if it is unknown.
func (v *View) ownSelector(origin, mirror *inspect.Job) (selector string, known bool) {
	w := v.workloadOf(mirror)
	if w == nil && origin != nil {
		if f, ok := v.Facts(origin.Context); ok {
			w = inspect.CurrentWorkload(v.inventory.WorkloadsOf(inspect.Pair{Origin: origin}, f))
		}
	}
	switch {
	case w != nil && len(w.Spec.PodSets) == 1:
		return w.Spec.PodSets[0].Template.Spec.NodeSelector, true
	case origin == nil || !origin.Row().IsJob():
		return "", false
	}
	// Kueue changes only a Job in a queue, when it starts it.
	hasNotStarted := origin.Suspended && origin.StartTime == nil
	return origin.NodeSelector, origin.Queue() == "" || hasNotStarted
}

// workloadOf returns the Workload with which a cluster's Kueue runs a mirror, nil if it was not read.
func (v *View) workloadOf(mirror *inspect.Job) *kueue.Workload {
	f, ok := v.Facts(mirror.Context)
	if !ok || f.Kueue == nil {
		return nil
	}
	if w := f.Workload(mirror.Namespace, mirror.Prebuilt()); w != nil {
		return w
	}
	made := v.inventory.WorkloadsOf(inspect.Pair{Origin: mirror}, f)
	i := slices.IndexFunc(made, func(w *kueue.Workload) bool { return w.Status.Admission != nil })
	if i < 0 {
		return nil
	}
	return made[i]
}

// FlavorsOf returns the ResourceFlavors that the Pods of a mirror got, as far as its Workload was
// read. A flavor that was not read has a name only.
func (v *View) FlavorsOf(mirror *inspect.Job) []*kueue.ResourceFlavor {
	w := v.workloadOf(mirror)
	if w == nil || w.Status.Admission == nil {
		return nil
	}
	f, _ := v.Facts(mirror.Context)
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
