package queues

import (
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/capacity"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Shortfall is a resource of which the queue that a manager's LocalQueue leads to has more
// than any queue of a worker behind it, so that it gives quota to what can run nowhere.
type Shortfall struct {
	Queue    *kueue.ClusterQueue
	Resource string
	// Nominal is what the manager's queue has, in all flavors, and Most what the largest of
	// the workers' queues has: a Job runs on one worker. Total is what they have together.
	Nominal, Most, Total capacity.Amount
	// Clusters are the workers, and Behind their queues, as context and name.
	Clusters, Behind []string
	// IsUncovered is whether no worker's queue has any quota of it.
	IsUncovered bool
}

// Finder finds shortfalls in one inventory.
type Finder struct {
	inventory *inspect.Inventory
	known     map[*inspect.Facts]*cluster
}

// NewFinder makes a Finder.
func NewFinder(v *inspect.Inventory) *Finder {
	return &Finder{inventory: v, known: map[*inspect.Facts]*cluster{}}
}

// Shortfalls are those of a LocalQueue of a manager. There is none where not all is known:
// the queues of all its workers, and what these could borrow.
func (s *Finder) Shortfalls(manager *inspect.Facts, namespace, name string) []Shortfall {
	c := clusterOf(s.inventory, manager, s.known)
	if c == nil || c.facts.Gaps[inspect.PartQueues] != nil {
		return nil
	}
	local := c.facts.Kueue.LocalQueueNamed(namespace, name)
	if local == nil || c.tree.Queue(local.Spec.ClusterQueue) == nil {
		return nil
	}
	n := c.tree.Queue(local.Spec.ClusterQueue)
	all := Shortfall{Queue: n.Queue, Clusters: c.clustersBehind(n.Queue), IsUncovered: true}
	var there []*capacity.Node
	for _, cluster := range all.Clusters {
		worker := c.worker(cluster)
		if worker == nil || worker.facts.Gaps[inspect.PartQueues] != nil {
			return nil
		}
		for _, q := range worker.behind([]*kueue.LocalQueue{local}, n.Name) {
			if q.Parent != nil || len(q.Resources()) == 0 {
				// It may have more than it says.
				return nil
			}
			there, all.Behind = append(there, q), append(all.Behind, worker.facts.Context+"/"+q.Name)
		}
	}
	if len(there) == 0 {
		return nil
	}
	return short(n, there, &all)
}

// short are the resources of which a queue has more than each of those behind it.
func short(n *capacity.Node, there []*capacity.Node, all *Shortfall) []Shortfall {
	var found []Shortfall
	for _, resource := range resourcesOf(n) {
		one := *all
		one.Resource, one.Nominal = resource, nominalOf(n, resource)
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

// resourcesOf are what a queue has quota of, in whatever flavor.
func resourcesOf(n *capacity.Node) []string {
	var names []string
	for _, fr := range n.Resources() {
		if !slices.Contains(names, fr.Resource) {
			names = append(names, fr.Resource)
		}
	}
	return names
}

// nominalOf is what a queue has of a resource in all flavors.
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
