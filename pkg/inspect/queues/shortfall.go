package queues

import (
	"fmt"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/capacity"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Shortfall is a resource of which a manager's ClusterQueue has more than any
// queue of a worker behind it. The manager gives quota to Jobs that can run
// nowhere.
type Shortfall struct {
	Queue    *kueue.ClusterQueue
	Resource string
	// Nominal is what the manager's queue has, in all flavors. Most is what the
	// largest of the workers' queues has, since a Job runs on one worker. Total
	// is what the workers' queues have together.
	Nominal, Most, Total capacity.Amount
	// Flavors are the parts of Nominal: "FLAVOR: QUOTA", in the order of the spec.
	Flavors []string
	// Clusters are the workers. Behind names their queues: "ClusterQueue NAME on CONTEXT".
	Clusters, Behind []string
	// IsUncovered is whether no worker's queue has any quota of the resource.
	IsUncovered bool
}

// Finder finds shortfalls in one inventory.
type Finder struct {
	inventory *inspect.Inventory
	known     map[*inspect.Facts]*cluster
}

// NewFinder returns a Finder for an inventory.
func NewFinder(v *inspect.Inventory) *Finder {
	return &Finder{inventory: v, known: map[*inspect.Facts]*cluster{}}
}

// Shortfalls returns the shortfalls of a LocalQueue of a manager. It returns
// none if something is unknown: the queues of any worker, or what they could
// borrow. A worker without the LocalQueue or its ClusterQueue may get any
// quota, and other findings report it. A stopped queue counts, as it does for
// Kueue (kueue: pkg/controller/admissionchecks/multikueue/clusterqueue.go): it
// may be resumed, and its quota remains.
func (s *Finder) Shortfalls(manager *inspect.Facts, namespace, name string) []Shortfall {
	c := clusterOf(s.inventory, manager, s.known)
	if c == nil || c.facts.Gaps[inspect.PartQueues] != nil {
		return nil
	}
	local, _ := c.facts.LookupAll().LocalQueue(namespace, name)
	n := c.queueOf(namespace, name)
	if n == nil {
		return nil
	}
	all := Shortfall{Queue: n.Queue, IsUncovered: true}
	var there []*capacity.Node
	var counted []*cluster
	for _, name := range c.clustersBehind(n.Queue) {
		worker := c.worker(name)
		if worker == nil || worker.facts.Gaps[inspect.PartQueues] != nil {
			return nil
		}
		if slices.ContainsFunc(counted, worker.isSame) {
			continue
		}
		counted, all.Clusters = append(counted, worker), append(all.Clusters, name)
		behind := worker.behind([]*kueue.LocalQueue{local}, n.Name)
		if len(behind) == 0 {
			return nil
		}
		for _, r := range behind {
			q := r.node
			if q.Parent != nil || len(q.Resources()) == 0 {
				// It may have more than its own quota.
				return nil
			}
			there, all.Behind = append(there, q), append(all.Behind, fmt.Sprintf("ClusterQueue %s on %s", q.Name, worker.facts.Context))
		}
	}
	if len(there) == 0 {
		return nil
	}
	return short(n, there, &all)
}

// IsInCohort reports whether a queue of a worker behind a LocalQueue of a manager is in a cohort, so that
// Shortfalls does not know its quota.
func (s *Finder) IsInCohort(manager *inspect.Facts, local *kueue.LocalQueue) bool {
	c := clusterOf(s.inventory, manager, s.known)
	if c == nil {
		return false
	}
	n := c.queueOf(local.Namespace, local.Name)
	if n == nil {
		return false
	}
	for _, name := range c.clustersBehind(n.Queue) {
		worker := c.worker(name)
		if worker != nil && slices.ContainsFunc(worker.behind([]*kueue.LocalQueue{local}, n.Name), func(q workerQueue) bool { return q.node.Parent != nil }) {
			return true
		}
	}
	return false
}

// short returns the resources of which a queue has more than each queue
// behind it.
func short(n *capacity.Node, there []*capacity.Node, all *Shortfall) []Shortfall {
	var found []Shortfall
	for _, resource := range resourcesOf(n) {
		one := *all
		one.Resource, one.Nominal, one.Flavors = resource, nominalOf(n, resource), flavorsOf(n, resource)
		for _, q := range there {
			one.Most, one.Total = max(one.Most, nominalOf(q, resource)), one.Total.Plus(nominalOf(q, resource))
			one.IsUncovered = one.IsUncovered && !slices.Contains(resourcesOf(q), resource)
		}
		if one.Nominal > one.Most {
			found = append(found, one)
		}
	}
	return found
}

// resourcesOf returns the resources that a queue has quota of, in any flavor.
func resourcesOf(n *capacity.Node) []string {
	var names []string
	for _, fr := range n.Resources() {
		if !slices.Contains(names, fr.Resource) {
			names = append(names, fr.Resource)
		}
	}
	return names
}

// nominalOf returns what a queue has of a resource in all flavors.
func nominalOf(n *capacity.Node, resource string) capacity.Amount {
	var total capacity.Amount
	for _, fr := range n.Resources() {
		if fr.Resource == resource {
			q, _ := n.Quota(fr)
			total = total.Plus(q.Nominal)
		}
	}
	return total
}

// flavorsOf returns what a queue has of a resource in each flavor.
func flavorsOf(n *capacity.Node, resource string) []string {
	var parts []string
	for _, fr := range n.Resources() {
		if fr.Resource == resource {
			q, _ := n.Quota(fr)
			parts = append(parts, fr.Flavor+": "+q.Nominal.Text(resource))
		}
	}
	return parts
}
