// Package capacity computes the quota of one cluster's queues: nominal
// quotas, what may be borrowed and lent in nested cohorts, and what is in
// use. It computes as Kueue's scheduler does (kueue:
// pkg/cache/scheduler/resource_node.go; docs/reference/scheduling.md#quota),
// from objects, without requests to a cluster.
package capacity

import (
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// FlavorResource is a resource in a flavor. Quota is per FlavorResource.
type FlavorResource struct{ Flavor, Resource string }

// Quota is how much a queue or cohort has of its own, how much more it may
// borrow, and how much of its own it may lend. Nil means no limit.
type Quota struct {
	Nominal            Amount
	Borrowing, Lending *Amount
}

// Tree has the ClusterQueues of a cluster and their cohorts.
type Tree struct {
	queues, cohorts map[string]*Node
}

// Node is a ClusterQueue or a cohort.
type Node struct {
	Name string
	// Queue is the ClusterQueue, nil for a cohort. Cohort is the object of the
	// cohort, nil if only its members name it.
	Queue    *kueue.ClusterQueue
	Cohort   *kueue.Cohort
	Parent   *Node
	Children []*Node
	// Claims are the Workloads of a ClusterQueue that hold quota. Pending are
	// the Workloads that wait for it, in order. Line are the Pending ones that
	// Kueue has in the queue: it leaves out those with a stopped LocalQueue or
	// a gated admission.
	Claims, Pending, Line []*kueue.Claim

	// order has the keys of the quotas in the order of the spec.
	order    []FlavorResource
	quotas   map[FlavorResource]Quota
	reserved map[FlavorResource]Amount
	subtrees map[FlavorResource]Amount
	used     map[FlavorResource]Amount
}

// Sources are the objects that a Tree is made of.
type Sources struct {
	Queues  []*kueue.ClusterQueue
	Cohorts []*kueue.Cohort
	Locals  []*kueue.LocalQueue
	// Claims are all Workloads of the cluster that hold quota or wait for it.
	// If they are unknown, HasClaims is false, and the status of ClusterQueues
	// is used.
	Claims    []*kueue.Claim
	HasClaims bool
}

// New returns the tree of the sources.
func New(s Sources) *Tree {
	t := &Tree{queues: map[string]*Node{}, cohorts: map[string]*Node{}}
	for _, c := range s.Cohorts {
		n := t.cohort(c.Name)
		n.Cohort = c
		n.setQuotas(c.Groups())
	}
	for _, c := range s.Cohorts {
		if c.Spec.ParentName != "" {
			t.cohorts[c.Name].joins(t.cohort(c.Spec.ParentName))
		}
	}
	for _, q := range s.Queues {
		n := newNode(q.Name)
		n.Queue = q
		n.setQuotas(q.Groups())
		if q.Cohort() != "" {
			n.joins(t.cohort(q.Cohort()))
		}
		t.queues[q.Name] = n
	}
	t.setClaims(s)
	return t
}

func newNode(name string) *Node {
	return &Node{
		Name: name, quotas: map[FlavorResource]Quota{}, reserved: map[FlavorResource]Amount{},
		subtrees: map[FlavorResource]Amount{}, used: map[FlavorResource]Amount{},
	}
}

// cohort returns the cohort with a name. It needs no object.
func (t *Tree) cohort(name string) *Node {
	if t.cohorts[name] == nil {
		t.cohorts[name] = newNode(name)
	}
	return t.cohorts[name]
}

func (n *Node) joins(parent *Node) {
	n.Parent = parent
	parent.Children = append(parent.Children, n)
}

func (n *Node) setQuotas(groups []kueue.ResourceGroup) {
	for i := range groups {
		for _, f := range groups[i].Flavors {
			for _, r := range f.Resources {
				q := Quota{Nominal: AmountOf(r.Name, r.NominalQuota)}
				if r.BorrowingLimit != nil {
					limit := AmountOf(r.Name, *r.BorrowingLimit)
					q.Borrowing = &limit
				}
				if r.LendingLimit != nil {
					limit := AmountOf(r.Name, *r.LendingLimit)
					q.Lending = &limit
				}
				fr := FlavorResource{f.Name, r.Name}
				if _, known := n.quotas[fr]; !known {
					n.order = append(n.order, fr)
				}
				n.quotas[fr] = q
			}
		}
	}
}

// setClaims assigns Workloads to their queues, and adds up what they hold.
func (t *Tree) setClaims(s Sources) {
	locals := map[[2]string]*kueue.LocalQueue{}
	for _, l := range s.Locals {
		locals[[2]string{l.Namespace, l.Name}] = l
	}
	for _, c := range s.Claims {
		if c.ClusterQueue == "" {
			local := locals[[2]string{c.Namespace, c.LocalQueue}]
			if local == nil {
				continue
			}
			if n := t.queues[local.Spec.ClusterQueue]; n != nil {
				n.Pending = append(n.Pending, c)
				if c.IsQueuedIn(local) {
					n.Line = append(n.Line, c)
				}
			}
			continue
		}
		n := t.queues[c.ClusterQueue]
		if n == nil {
			continue
		}
		n.Claims = append(n.Claims, c)
		for _, h := range c.Holds {
			fr := FlavorResource{h.Flavor, h.Resource}
			n.reserved[fr] = n.reserved[fr].Plus(AmountOf(h.Resource, h.Quantity))
		}
	}
	for _, n := range t.queues {
		for _, waiting := range [][]*kueue.Claim{n.Pending, n.Line} {
			slices.SortFunc(waiting, func(a, b *kueue.Claim) int { return a.Rank.Compare(b.Rank) })
		}
		if !s.HasClaims {
			n.trustStatus()
		}
	}
}

// trustStatus sets the used quota from the status of the ClusterQueue.
func (n *Node) trustStatus() {
	n.reserved = map[FlavorResource]Amount{}
	for _, f := range n.Queue.Status.FlavorsReservation {
		for _, r := range f.Resources {
			n.reserved[FlavorResource{f.Name, r.Name}] = AmountOf(r.Name, r.Total)
		}
	}
}

// Queue returns a ClusterQueue, nil if there is none with that name.
func (t *Tree) Queue(name string) *Node { return t.queues[name] }

// Queues returns all ClusterQueues, sorted by name.
func (t *Tree) Queues() []*Node { return sorted(t.queues) }

// Cohorts returns all cohorts, sorted by name, including those without an
// object.
func (t *Tree) Cohorts() []*Node { return sorted(t.cohorts) }

func sorted(nodes map[string]*Node) []*Node {
	all := make([]*Node, 0, len(nodes))
	for _, n := range nodes {
		all = append(all, n)
	}
	slices.SortFunc(all, func(a, b *Node) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Sharers returns the ClusterQueues that share quota with a ClusterQueue, sorted by name: itself, and those
// of its cohorts. Kueue admits nothing to queues below a loop of cohorts, so these share with no other.
func (t *Tree) Sharers(queue *Node) []*Node {
	above, isLoop := queue.Path()
	if len(above) == 0 || isLoop {
		return []*Node{queue}
	}
	root := above[len(above)-1]
	return slices.DeleteFunc(t.Queues(), func(n *Node) bool {
		path, _ := n.Path()
		return !slices.Contains(path, root)
	})
}

// Cycle returns the names of the cohorts above a node that form a cycle, each the child of the next one; nil if
// none do.
func (n *Node) Cycle() (names []string) {
	path, isLoop := n.Path()
	if !isLoop {
		return nil
	}
	first := path[len(path)-1].Parent
	for _, cohort := range path[slices.Index(path, first):] {
		names = append(names, cohort.Name)
	}
	return names
}

// Path returns the cohorts above a node, nearest first. isLoop is whether one
// of them is its own ancestor: Kueue admits nothing to the queues of such
// cohorts.
func (n *Node) Path() (path []*Node, isLoop bool) {
	for p := n.Parent; p != nil; p = p.Parent {
		if slices.Contains(path, p) {
			return path, true
		}
		path = append(path, p)
	}
	return path, false
}
