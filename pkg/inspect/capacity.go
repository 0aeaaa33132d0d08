package inspect

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/capacity"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Capacity is what tells how much room the queues of a cluster have. All of it is of
// the whole cluster: a cohort goes beyond namespaces.
type Capacity struct {
	ClusterQueues []*kueue.ClusterQueue
	LocalQueues   []*kueue.LocalQueue
	Cohorts       []*kueue.Cohort
	Flavors       []*kueue.ResourceFlavor
	// Claims are the Workloads that hold quota or wait for it.
	Claims []*kueue.Claim
	// ClaimsWithin are those of one namespace, Within, where all may not be listed; Within is
	// "" where nobody asked for them or might not list them either.
	ClaimsWithin []*kueue.Claim
	Within       string
	// Workloads are all those of the namespaces that were asked for, whole: they came with
	// the others, and need not be asked for again.
	Workloads []*kueue.Workload
	// LimitRanges are those of the namespaces that were asked for, and Namespaces these
	// themselves, nil for one that is not there.
	LimitRanges []*corev1.LimitRange
	Namespaces  map[string]*Namespace
	// Templates are the pods of those Workloads that were asked for, by their uids.
	Templates map[types.UID]*kueue.PodTemplates
	// Gaps are the parts that could not be read, and why.
	Gaps map[Part]error

	// asked are the namespaces, and places where Workloads of other ones are, by uid.
	Asked  sets.Set[string]
	Places map[string]types.NamespacedName
}

// WorkloadsOf are all Workloads of a namespace; ok is false where not all of it were
// read.
func (c *Capacity) WorkloadsOf(namespace string) (found []*kueue.Workload, ok bool) {
	if c == nil || c.Gaps[PartClaims] != nil || !c.Asked.Has(namespace) {
		return nil, false
	}
	for _, w := range c.Workloads {
		if w.Namespace == namespace {
			found = append(found, w)
		}
	}
	return found, true
}

// ForgetClaims lets go of what Workloads hold and wait for, of which there may be very many:
// once it is known where something could run, nobody asks any more.
func (v *Inventory) ForgetClaims() {
	for _, f := range v.Clusters {
		if f.Kueue != nil && f.Kueue.Capacity != nil {
			f.Kueue.Capacity.Claims, f.Kueue.Capacity.ClaimsWithin = nil, nil
		}
	}
}

// Tree is the model of the quotas. What could not be read is not in it: see Gaps.
func (c *Capacity) Tree() *capacity.Tree {
	return capacity.New(capacity.Sources{
		Queues: c.ClusterQueues, Cohorts: c.Cohorts, Locals: c.LocalQueues,
		Claims: c.Claims, HasClaims: c.Gaps[PartClaims] == nil,
	})
}

// with is what was read of a cluster through either of two contexts: of each part, what
// is without a gap.
func (c *Capacity) with(o *Capacity) *Capacity {
	if c == nil || o == nil {
		if c == nil {
			return o
		}
		return c
	}
	one := *c
	one.Gaps = maps.Clone(c.Gaps)
	one.Templates = union(c.Templates, o.Templates)
	for part, take := range map[Part]func(){
		PartClusterQueues: func() { one.ClusterQueues = o.ClusterQueues },
		PartQueues:        func() { one.LocalQueues = o.LocalQueues },
		PartCohorts:       func() { one.Cohorts = o.Cohorts },
		PartFlavors:       func() { one.Flavors = o.Flavors },
		PartClaims:        func() { one.Claims, one.Workloads, one.Asked, one.Places = o.Claims, o.Workloads, o.Asked, o.Places },
		PartLimitRanges:   func() { one.LimitRanges = o.LimitRanges },
		PartNamespaces:    func() { one.Namespaces = o.Namespaces },
	} {
		if one.Gaps[part] != nil && o.Gaps[part] == nil {
			delete(one.Gaps, part)
			take()
		}
	}
	return &one
}

// Topology returns the only topology that flavors name, "" if there is none or several, or if the
// flavors were not read.
func (c *Capacity) Topology() string {
	if c == nil {
		return ""
	}
	only := ""
	for _, f := range c.Flavors {
		switch name := f.Spec.TopologyName; {
		case name == "" || name == only:
		case only != "":
			return ""
		default:
			only = name
		}
	}
	return only
}

// Flavor is a ResourceFlavor by its name, nil if there is none.
func (c *Capacity) Flavor(name string) *kueue.ResourceFlavor {
	return named(c.Flavors, name, func(f *kueue.ResourceFlavor) string { return f.Name })
}

// AddGap notes that a part could not be read. Of several reasons one stays, as Facts has
// it.
func (c *Capacity) AddGap(part Part, err error) {
	if err = fmt.Errorf("%s could not be read: %w", part, err); comesFirst(err, c.Gaps[part]) {
		c.Gaps[part] = err
	}
}
