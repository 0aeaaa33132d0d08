package capacity

import (
	"slices"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Resources returns what a node has quota of, in the order of its spec.
func (n *Node) Resources() []FlavorResource { return n.order }

// Quota returns what a node has of its own. ok is false if its spec has no
// such quota, so a ClusterQueue does not give any.
func (n *Node) Quota(fr FlavorResource) (q Quota, ok bool) {
	q, ok = n.quotas[fr]
	return q, ok
}

// subtree returns what a node has of its own, and what the nodes below it
// lend.
func (n *Node) subtree(fr FlavorResource) Amount { return n.subtreeOf(fr, map[*Node]bool{}) }

func (n *Node) subtreeOf(fr FlavorResource, seen map[*Node]bool) Amount {
	if known, ok := n.subtrees[fr]; ok {
		return known
	}
	total := n.quotas[fr].Nominal
	seen[n] = true
	for _, c := range n.Children {
		if !seen[c] {
			all := c.subtreeOf(fr, seen)
			total = total.Plus(all.Minus(c.localOf(fr, all)))
		}
	}
	n.subtrees[fr] = total
	return total
}

// local returns the part of a node's quota that is never lent.
func (n *Node) local(fr FlavorResource) Amount { return n.localOf(fr, n.subtree(fr)) }

func (n *Node) localOf(fr FlavorResource, subtree Amount) Amount {
	lending := n.quotas[fr].Lending
	if n.Parent == nil || lending == nil {
		return 0
	}
	return max(0, subtree.Minus(*lending))
}

// Used returns what the Workloads of a ClusterQueue hold. For a cohort, it
// returns how much of the quota that its members share is used.
func (n *Node) Used(fr FlavorResource) Amount { return n.usedOf(fr, map[*Node]bool{}) }

func (n *Node) usedOf(fr FlavorResource, seen map[*Node]bool) Amount {
	if n.Queue != nil {
		return n.reserved[fr]
	}
	if known, ok := n.used[fr]; ok {
		return known
	}
	var total Amount
	seen[n] = true
	for _, c := range n.Children {
		if !seen[c] {
			total = total.Plus(max(0, c.usedOf(fr, seen).Minus(c.local(fr))))
		}
	}
	n.used[fr] = total
	return total
}

// Borrowed returns the part of Used that exceeds the node's subtree.
func (n *Node) Borrowed(fr FlavorResource) Amount {
	if n.Parent == nil {
		return 0
	}
	return max(0, n.Used(fr).Minus(n.subtree(fr)))
}

// Free returns how much more a ClusterQueue can give now, including what it
// may borrow. It is never negative.
func (n *Node) Free(fr FlavorResource) Amount {
	if _, isLoop := n.Path(); isLoop {
		return 0
	}
	return max(0, n.available(fr))
}

// Excess returns how much more is used than a ClusterQueue could give, as after its quota was lowered.
// It has to be released before anything is free.
func (n *Node) Excess(fr FlavorResource) Amount {
	if _, isLoop := n.Path(); isLoop {
		return 0
	}
	return max(0, -n.available(fr))
}

func (n *Node) available(fr FlavorResource) Amount {
	if n.Parent == nil {
		return n.subtree(fr).Minus(n.Used(fr))
	}
	local, used := n.local(fr), n.Used(fr)
	shared := n.Parent.available(fr)
	if limit := n.quotas[fr].Borrowing; limit != nil {
		own := n.subtree(fr).Minus(local).Minus(max(0, used.Minus(local)))
		shared = min(shared, own.Plus(*limit))
	}
	return max(0, local.Minus(used)).Plus(shared)
}

// Maximum returns what a ClusterQueue could give if no other queue used
// anything.
func (n *Node) Maximum(fr FlavorResource) Amount {
	if _, isLoop := n.Path(); isLoop {
		return 0
	}
	return n.most(fr)
}

func (n *Node) most(fr FlavorResource) Amount {
	if n.Parent == nil {
		return n.subtree(fr)
	}
	total := n.local(fr).Plus(n.Parent.most(fr))
	if limit := n.quotas[fr].Borrowing; limit != nil {
		total = min(total, n.subtree(fr).Plus(*limit))
	}
	return total
}

// IsOrdered reports whether the order of the Line is known: Kueue may order by the usage of LocalQueues first,
// which it keeps in memory. Within one LocalQueue, priority and age decide.
func (n *Node) IsOrdered() bool {
	return len(n.Line) == 0 || n.IsOrderedWith(n.Line[0].Namespace, n.Line[0].LocalQueue)
}

// IsOrderedWith reports the same for the Line with one more Workload, of a LocalQueue.
func (n *Node) IsOrderedWith(namespace, localQueue string) bool {
	return !n.Queue.OrdersByUsage() || !slices.ContainsFunc(n.Line, func(c *kueue.Claim) bool { return !c.SharesQueue(namespace, localQueue) })
}

// LastEnd returns when the last Workload that a ClusterQueue has admitted
// ends at the latest. The first waiting Workload starts then at the latest,
// if it fits at all. ok is false if nothing limits that time, or if the first
// one may start later: a later Job may pass it, a cohort may take the freed
// quota, an AdmissionCheck must answer too, or the order of the queue changes
// with usage.
func (n *Node) LastEnd() (by time.Time, ok bool) {
	isAlone := n.Parent == nil && n.Queue.Cohort() == "" && !n.Queue.OrdersByUsage()
	if n.Queue.Spec.QueueingStrategy != kueue.StrictFIFO || !isAlone || len(n.Claims) == 0 || n.Queue.Outage() != nil || len(n.Queue.Checks()) > 0 {
		return by, false
	}
	if slices.ContainsFunc(n.Claims, func(c *kueue.Claim) bool { return c.EndsBy.IsZero() }) {
		return by, false
	}
	last := slices.MaxFunc(n.Claims, func(a, b *kueue.Claim) int { return a.EndsBy.Compare(b.EndsBy) })
	return last.EndsBy, true
}
