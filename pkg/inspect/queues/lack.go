package queues

import (
	"maps"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/capacity"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Lack returns the resource of which a worker's queue has less than a manager has given to a
// Workload: in total or, otherwise, free now. It is nil if the queue has enough of all. known is
// false if the queue, its use, or what it may borrow is unknown. All flavors count together, so a
// Workload without a lack may still not fit.
func (s *Finder) Lack(manager *inspect.Facts, cluster string, w *kueue.Workload) (lack *kueue.Lack, known bool) {
	worker, n := s.queueOf(manager, cluster, w)
	if n == nil || n.Parent != nil || len(n.Resources()) == 0 {
		return nil, false
	}
	requested := requestedBy(w)
	for _, reason := range []kueue.WaitReason{kueue.ReasonOverLimit, kueue.ReasonQuotaInUse} {
		if reason == kueue.ReasonQuotaInUse && !worker.knowsUse(n) {
			return nil, false
		}
		for _, resource := range slices.Sorted(maps.Keys(requested)) {
			l := lackOf(n, resource, requested[resource])
			if l != nil && l.Reason == reason {
				return l, true
			}
		}
	}
	return nil, true
}

// queueOf returns the ClusterQueue of a worker that a manager's Workload with quota would wait in, nil
// if it is unknown.
func (s *Finder) queueOf(manager *inspect.Facts, name string, w *kueue.Workload) (*cluster, *capacity.Node) {
	c := clusterOf(s.inventory, manager, s.known)
	if c == nil || w.Status.Admission == nil {
		return nil, nil
	}
	worker := c.worker(name)
	if worker == nil || worker.facts == manager || worker.facts.Gaps[inspect.PartQueues] != nil {
		return nil, nil
	}
	n := worker.queueOf(w.Namespace, w.Spec.QueueName)
	return worker, n
}

// queueOf returns the ClusterQueue of a LocalQueue, nil if it does not exist or was not read.
func (c *cluster) queueOf(namespace, local string) *capacity.Node {
	q := c.facts.LookupAll().Route(namespace, local).Cluster.Object
	if q == nil {
		return nil
	}
	return c.tree.Queue(q.Name)
}

// requestedBy returns what a Workload got on its cluster, by resource. Its copy on a worker requests as much.
func requestedBy(w *kueue.Workload) map[string]capacity.Amount {
	all := map[string]capacity.Amount{}
	for name, quantity := range w.Status.Admission.Given() {
		all[string(name)] = capacity.AmountOf(string(name), quantity)
	}
	return all
}

// lackOf returns how much of a resource a queue lacks, nil if it has enough or does not cover it.
// Kueue on a worker may ignore resources that its queue does not cover.
func lackOf(n *capacity.Node, resource string, requested capacity.Amount) *kueue.Lack {
	if !slices.Contains(resourcesOf(n), resource) {
		return nil
	}
	most, free := nominalOf(n, resource), capacity.Amount(0)
	var flavors []string
	for _, fr := range n.Resources() {
		if fr.Resource == resource {
			free, flavors = free.Plus(n.Free(fr)), append(flavors, fr.Flavor)
		}
	}
	l := &kueue.Lack{Resource: resource, Requested: requested.Text(resource), Free: free.Text(resource), Limit: most.Text(resource)}
	if len(flavors) == 1 {
		l.Flavor = flavors[0]
	}
	switch {
	case requested > most:
		l.Reason = kueue.ReasonOverLimit
	case requested > free:
		l.Reason = kueue.ReasonQuotaInUse
	default:
		return nil
	}
	return l
}
