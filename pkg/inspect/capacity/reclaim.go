package capacity

import (
	"maps"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Requests are amounts by flavor and resource.
type Requests map[FlavorResource]Amount

// Covering returns the lowest node, of a ClusterQueue and the cohorts above it, whose own quota is
// enough for requests in addition to what is used; nil if there is none. Kueue may reclaim quota for them
// from outside of that node (kueue: pkg/scheduler/preemption/classical).
func (n *Node) Covering(requests Requests) *Node {
	path, isLoop := n.Path()
	if isLoop {
		return nil
	}
	left := maps.Clone(requests)
	for _, at := range append([]*Node{n}, path...) {
		isEnough := true
		for fr, requested := range left {
			isEnough = isEnough && at.Used(fr).Plus(requested) <= at.subtree(fr)
			left[fr] = max(0, requested.Minus(at.unused(fr)))
		}
		if isEnough {
			return at
		}
	}
	return nil
}

// BorrowingLevel returns from how far a ClusterQueue gets the quota for a request: 0 if it has enough of
// its own, otherwise the height of the lowest cohort that has enough.
func (n *Node) BorrowingLevel(fr FlavorResource, requested Amount) int {
	source := n.Covering(Requests{fr: requested})
	if source == nil {
		source = n
		if path, _ := n.Path(); len(path) > 0 {
			source = path[len(path)-1]
		}
	}
	return source.height()
}

// height returns how many levels a node has below it.
func (n *Node) height() int {
	height := 0
	for _, c := range n.Children {
		height = max(height, c.height()+1)
	}
	return height
}

// unused returns how much of its local quota a node does not use.
func (n *Node) unused(fr FlavorResource) Amount { return max(0, n.local(fr).Minus(n.Used(fr))) }

// Release subtracts what a Workload of a ClusterQueue holds from what is used.
func (n *Node) Release(c *kueue.Claim) {
	for _, h := range c.Holds {
		n.use(FlavorResource{h.Flavor, h.Resource}, -AmountOf(h.Resource, h.Quantity))
	}
}

// Restore adds what Release has subtracted.
func (n *Node) Restore(c *kueue.Claim) {
	for _, h := range c.Holds {
		n.use(FlavorResource{h.Flavor, h.Resource}, AmountOf(h.Resource, h.Quantity))
	}
}

// use changes what is used of a node and, as far as it is not local quota, of the cohorts above it.
func (n *Node) use(fr FlavorResource, more Amount) {
	before := n.shared(fr)
	if n.Parent != nil {
		// It is computed from its children, so before they change.
		n.Parent.Used(fr)
	}
	if n.Queue != nil {
		n.reserved[fr] = n.reserved[fr].Plus(more)
	} else {
		n.used[fr] = n.Used(fr).Plus(more)
	}
	if shared := n.shared(fr).Minus(before); n.Parent != nil && shared != 0 {
		n.Parent.use(fr, shared)
	}
}

// shared returns how much of the quota in its cohort a node uses.
func (n *Node) shared(fr FlavorResource) Amount { return max(0, n.Used(fr).Minus(n.local(fr))) }
