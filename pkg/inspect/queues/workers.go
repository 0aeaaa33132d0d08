package queues

import (
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/capacity"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// workers returns the quota of a resource behind a manager's queue, nil if
// the queue gives to no other cluster. MultiKueue creates a mirror in the
// LocalQueue with the same namespace and name, so the queues of the workers
// with these names count.
func (c *cluster) workers(n *capacity.Node, resource string) *WorkersQuota {
	names := c.clustersBehind(n.Queue)
	if len(names) == 0 {
		return nil
	}
	w := &WorkersQuota{Clusters: []string{}, Unknown: []string{}}
	var nominal, used capacity.Amount
	isKnown := true
	for _, name := range names {
		worker := c.worker(name)
		if worker == nil {
			w.Unknown = append(w.Unknown, name)
			continue
		}
		w.Clusters = append(w.Clusters, name)
		for _, there := range worker.behind(c.locals, n.Name) {
			for _, fr := range there.Resources() {
				if fr.Resource == resource {
					q, _ := there.Quota(fr)
					nominal, used = nominal.Plus(q.Nominal), used.Plus(there.Used(fr))
				}
			}
			isKnown = isKnown && worker.knowsUse(there)
		}
	}
	w.Nominal = nominal.Text(resource)
	if isKnown {
		w.Used = text(used, resource)
	}
	return w
}

// clustersBehind returns the MultiKueueClusters that the checks of a queue
// point to, sorted.
func (c *cluster) clustersBehind(q *kueue.ClusterQueue) []string {
	names := c.facts.Kueue.ClustersBehind(q.Checks())
	slices.Sort(names)
	return slices.Compact(names)
}

// worker returns a MultiKueueCluster, nil if its queues could not be read.
func (c *cluster) worker(name string) *cluster {
	w := clusterOf(c.inventory, c.inventory.Facts(c.inventory.ContextOf(c.facts, name)), c.known)
	if w == nil || w.capacity.Gaps[inspect.PartClusterQueues] != nil || w.capacity.Gaps[inspect.PartQueues] != nil {
		return nil
	}
	return w
}

// behind returns the ClusterQueues of a worker whose LocalQueues have the
// same namespaces and names as the LocalQueues of a manager's queue.
func (c *cluster) behind(managers []*kueue.LocalQueue, queue string) []*capacity.Node {
	var nodes []*capacity.Node
	for _, m := range managers {
		if m.Spec.ClusterQueue != queue {
			continue
		}
		for _, q := range c.locals {
			n := c.tree.Queue(q.Spec.ClusterQueue)
			if q.Namespace == m.Namespace && q.Name == m.Name && n != nil && !slices.Contains(nodes, n) {
				nodes = append(nodes, n)
			}
		}
	}
	return nodes
}
