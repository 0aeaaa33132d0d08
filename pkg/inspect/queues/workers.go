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
// with these names count. Queues that admit nothing do not.
func (c *cluster) workers(n *capacity.Node, resource string) *WorkersQuota {
	names := c.clustersBehind(n.Queue)
	if len(names) == 0 {
		return nil
	}
	w := &WorkersQuota{Clusters: []string{}, Inactive: []string{}, Unknown: []string{}}
	var nominal, used capacity.Amount
	isKnown := true
	var counted []*cluster
	for _, name := range names {
		worker := c.worker(name)
		if worker == nil {
			w.Unknown = append(w.Unknown, name)
			continue
		}
		if slices.ContainsFunc(counted, worker.isSame) {
			continue
		}
		counted = append(counted, worker)
		queues := worker.behind(c.locals, n.Name)
		active := slices.DeleteFunc(slices.Clone(queues), func(r workerQueue) bool { return !r.isActive })
		if len(queues) > 0 && len(active) == 0 {
			w.Inactive = append(w.Inactive, name)
			continue
		}
		w.Clusters = append(w.Clusters, name)
		for _, r := range active {
			there := r.node
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

// isSame reports whether two clusters are one, with two names or contexts. Its quota counts once.
func (c *cluster) isSame(o *cluster) bool {
	return c == o || c.facts.ClusterUID != "" && c.facts.ClusterUID == o.facts.ClusterUID
}

// workerQueue is a ClusterQueue of a worker, and whether it admits Workloads through any of the LocalQueues
// that mirrors are created in.
type workerQueue struct {
	node     *capacity.Node
	isActive bool
}

// behind returns the ClusterQueues of a worker whose LocalQueues have the
// same namespaces and names as the LocalQueues of a manager's queue.
func (c *cluster) behind(managers []*kueue.LocalQueue, queue string) []workerQueue {
	var queues []workerQueue
	for _, m := range managers {
		if m.Spec.ClusterQueue != queue {
			continue
		}
		for _, q := range c.locals {
			n := c.tree.Queue(q.Spec.ClusterQueue)
			if q.Namespace != m.Namespace || q.Name != m.Name || n == nil {
				continue
			}
			isActive := q.Outage() == nil && n.Queue.Outage() == nil
			if i := slices.IndexFunc(queues, func(r workerQueue) bool { return r.node == n }); i >= 0 {
				queues[i].isActive = queues[i].isActive || isActive
			} else {
				queues = append(queues, workerQueue{n, isActive})
			}
		}
	}
	return queues
}
