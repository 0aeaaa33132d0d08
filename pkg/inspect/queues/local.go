package queues

import (
	"cmp"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/capacity"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Locals returns one row for each LocalQueue in the namespaces that were
// read, and each quota of its ClusterQueue. If the user may not read the
// ClusterQueue, the rows show what the LocalQueue uses.
func Locals(v *inspect.Inventory) []QueueQuota {
	return each(v, func(c *cluster) []QueueQuota {
		var rows []QueueQuota
		locals := slices.DeleteFunc(slices.Clone(c.locals), func(q *kueue.LocalQueue) bool {
			return c.facts.Namespace != "" && q.Namespace != c.facts.Namespace
		})
		slices.SortFunc(locals, func(a, b *kueue.LocalQueue) int {
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
		})
		for _, q := range locals {
			rows = append(rows, c.localRows(q)...)
		}
		return rows
	})
}

func (c *cluster) localRows(q *kueue.LocalQueue) []QueueQuota {
	base := c.row(KindLocalQueue, q.Name)
	base.Namespace, base.ClusterQueue, base.Problem = q.Namespace, q.Spec.ClusterQueue, problemOf(q.Outage())
	rows := c.ownRows(q, base)
	if n := c.tree.Queue(q.Spec.ClusterQueue); n != nil {
		base.Cohorts = cohortsOf(n)
		if base.Problem == "" {
			base.Problem = problemOf(n.Queue.Outage())
		}
		rows = c.quotaRows(n, base)
	}
	through := c.through(q)
	for i := range rows {
		row := &rows[i]
		// These rows do not show what other LocalQueues use of the
		// ClusterQueue.
		row.Borrowed, row.Workers, row.Used = nil, nil, through.used(row.Flavor, row.Resource)
		if !row.HasMore && row.Resource != "" {
			row.Pending = through.pending(row.Resource)
		}
	}
	return rows
}

// ownRows returns rows for the quotas in use through a LocalQueue whose
// ClusterQueue is unknown.
func (c *cluster) ownRows(q *kueue.LocalQueue, base QueueQuota) []QueueQuota {
	var rows []QueueQuota
	seen := map[string]bool{}
	for _, fr := range c.through(q).quotas() {
		row := base
		row.Flavor, row.Resource, row.HasMore = fr.Flavor, fr.Resource, seen[fr.Resource]
		seen[fr.Resource] = true
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		rows = append(rows, base)
	}
	return rows
}

// passage is the use of a LocalQueue: according to its Workloads or, if these
// are unknown, according to its status.
type passage struct {
	queue   *kueue.LocalQueue
	isKnown bool
	claims  []*kueue.Claim
}

func (c *cluster) through(q *kueue.LocalQueue) passage {
	p := passage{queue: q, isKnown: c.hasClaims()}
	all := c.capacity.Claims
	if !p.isKnown && c.capacity.Within == q.Namespace {
		p.isKnown, all = true, c.capacity.ClaimsWithin
	}
	for _, claim := range all {
		if p.isKnown && claim.Namespace == q.Namespace && claim.LocalQueue == q.Name {
			p.claims = append(p.claims, claim)
		}
	}
	return p
}

// quotas returns the quotas in use, and the resources that are only waited
// for, without a flavor.
func (p passage) quotas() []capacity.FlavorResource {
	var all []capacity.FlavorResource
	add := func(fr capacity.FlavorResource) {
		if !slices.Contains(all, fr) {
			all = append(all, fr)
		}
	}
	for _, f := range p.queue.Status.FlavorsReservation {
		for _, r := range f.Resources {
			add(capacity.FlavorResource{Flavor: f.Name, Resource: r.Name})
		}
	}
	for _, claim := range p.claims {
		for _, h := range claim.Holds {
			add(capacity.FlavorResource{Flavor: h.Flavor, Resource: h.Resource})
		}
	}
	for _, claim := range p.claims {
		for _, set := range claim.Requests {
			for name := range set.Resources {
				isNamed := slices.ContainsFunc(all, func(fr capacity.FlavorResource) bool { return fr.Resource == string(name) })
				if !isNamed {
					add(capacity.FlavorResource{Resource: string(name)})
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b capacity.FlavorResource) int {
		return cmp.Or(cmp.Compare(a.Flavor, b.Flavor), cmp.Compare(a.Resource, b.Resource))
	})
	return all
}

// used returns what its Workloads hold of a quota, nil if unknown.
func (p passage) used(flavor, resource string) *string {
	if resource == "" {
		return nil
	}
	if !p.isKnown {
		return reservedBy(p.queue, flavor, resource)
	}
	var total capacity.Amount
	for _, claim := range p.claims {
		total = total.Plus(capacity.HeldBy(claim, capacity.FlavorResource{Flavor: flavor, Resource: resource}))
	}
	return text(total, resource)
}

// pending returns how much of a resource its waiting Workloads request, nil
// if unknown.
func (p passage) pending(resource string) *string {
	if !p.isKnown {
		return nil
	}
	return totalRequested(slices.DeleteFunc(slices.Clone(p.claims), func(c *kueue.Claim) bool { return c.ClusterQueue != "" }), resource)
}

// reservedBy returns what the Workloads of a LocalQueue hold according to its
// status, nil if that has nothing.
func reservedBy(q *kueue.LocalQueue, flavor, resource string) *string {
	for _, f := range q.Status.FlavorsReservation {
		for _, r := range f.Resources {
			if f.Name == flavor && r.Name == resource {
				return text(capacity.AmountOf(resource, r.Total), resource)
			}
		}
	}
	return nil
}
