// Package capacity knows how much room the queues of one cluster have: quotas, what may
// be borrowed and lent in cohorts of cohorts, and what is in use. It reckons as Kueue's
// scheduler does (kueue: pkg/cache/scheduler/resource_node.go; docs/reference/scheduling.md#quota),
// from objects, and asks nobody.
package capacity

import (
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// FlavorResource is a resource in a flavor, which is what quota is of.
type FlavorResource struct{ Flavor, Resource string }

// Quota is how much a queue or cohort has of its own, how much more it may borrow, and
// how much of its own it may lend; nil is without a limit.
type Quota struct {
	Nominal            Amount
	Borrowing, Lending *Amount
}

// Tree is the ClusterQueues of a cluster and the cohorts that they are in.
type Tree struct {
	queues, cohorts map[string]*Node
}

// Node is a ClusterQueue or a cohort.
type Node struct {
	Name string
	// Queue is the ClusterQueue, nil for a cohort; Cohort is the object of that, nil
	// where it is only named.
	Queue    *kueue.ClusterQueue
	Cohort   *kueue.Cohort
	Parent   *Node
	Children []*Node
	// Claims are the Workloads of a ClusterQueue that hold quota, Pending those that wait
	// for it in the order of their turn.
	Claims, Pending []*kueue.Claim

	// order are the quotas' keys as they are listed.
	order    []FlavorResource
	quotas   map[FlavorResource]Quota
	reserved map[FlavorResource]Amount
	subtree  map[FlavorResource]Amount
	used     map[FlavorResource]Amount
}

// Sources are what a Tree is made of.
type Sources struct {
	Queues  []*kueue.ClusterQueue
	Cohorts []*kueue.Cohort
	Locals  []*kueue.LocalQueue
	// Claims are all Workloads of the cluster that hold quota or wait for it. If they
	// are not known, HasClaims is false, and what ClusterQueues say of themselves counts.
	Claims    []*kueue.Claim
	HasClaims bool
}

// New makes the tree.
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
		subtree: map[FlavorResource]Amount{}, used: map[FlavorResource]Amount{},
	}
}

// cohort is the cohort of a name, which needs no object.
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

// setClaims puts the Workloads to their queues, and what they hold.
func (t *Tree) setClaims(s Sources) {
	leadsTo := map[[2]string]string{}
	for _, l := range s.Locals {
		leadsTo[[2]string{l.Namespace, l.Name}] = l.Spec.ClusterQueue
	}
	for _, c := range s.Claims {
		if c.ClusterQueue == "" {
			if n := t.queues[leadsTo[[2]string{c.Namespace, c.LocalQueue}]]; n != nil {
				n.Pending = append(n.Pending, c)
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
		slices.SortFunc(n.Pending, func(a, b *kueue.Claim) int { return a.Turn.Compare(b.Turn) })
		if !s.HasClaims {
			n.trustStatus()
		}
	}
}

// trustStatus takes for used what a ClusterQueue says is.
func (n *Node) trustStatus() {
	n.reserved = map[FlavorResource]Amount{}
	for _, f := range n.Queue.Status.FlavorsReservation {
		for _, r := range f.Resources {
			n.reserved[FlavorResource{f.Name, r.Name}] = AmountOf(r.Name, r.Total)
		}
	}
}

// Queue is a ClusterQueue, nil if there is none of that name.
func (t *Tree) Queue(name string) *Node { return t.queues[name] }

// Queues are all ClusterQueues, by name.
func (t *Tree) Queues() []*Node { return sorted(t.queues) }

// Cohorts are all cohorts, by name, those that are only named too.
func (t *Tree) Cohorts() []*Node { return sorted(t.cohorts) }

func sorted(nodes map[string]*Node) []*Node {
	all := make([]*Node, 0, len(nodes))
	for _, n := range nodes {
		all = append(all, n)
	}
	slices.SortFunc(all, func(a, b *Node) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Path are the cohorts above a node, the nearest first. isLoop is whether one of them
// is its own ancestor: Kueue admits nothing to the queues of such cohorts.
func (n *Node) Path() (path []*Node, isLoop bool) {
	for p := n.Parent; p != nil; p = p.Parent {
		if slices.Contains(path, p) {
			return path, true
		}
		path = append(path, p)
	}
	return path, false
}
