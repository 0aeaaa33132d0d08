package queues

import (
	"cmp"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/capacity"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/kueue"
)

// Locals is a row for each LocalQueue of the namespaces that are looked at, and each quota
// of the ClusterQueue that it leads to. What may be looked at of a ClusterQueue differs:
// of one that may not be read, its LocalQueue tells what it uses.
func Locals(v *inspect.Inventory) []inspect.QueueQuota {
	return each(v, func(c *cluster) []inspect.QueueQuota {
		var rows []inspect.QueueQuota
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

func (c *cluster) localRows(q *kueue.LocalQueue) []inspect.QueueQuota {
	base := c.row(inspect.KindLocalQueue, q.Name)
	base.Namespace, base.ClusterQueue, base.Problem = q.Namespace, q.Spec.ClusterQueue, problemOf(q.Status.Conditions)
	n := c.tree.Queue(q.Spec.ClusterQueue)
	if n == nil {
		return c.ownAccount(q, base)
	}
	base.Cohorts = cohortsOf(n)
	if base.Problem == "" {
		base.Problem = problemOf(n.Queue.Status.Conditions)
	}
	rows := c.quotaRows(n, base, q)
	if c.hasClaims() {
		return rows
	}
	// What the others of its ClusterQueue use is not told by that.
	for i := range rows {
		rows[i].Used = reservedBy(q, rows[i].Flavor, rows[i].Resource)
	}
	return rows
}

// ownAccount is what a LocalQueue itself says, where its ClusterQueue is not known.
func (c *cluster) ownAccount(q *kueue.LocalQueue, base inspect.QueueQuota) []inspect.QueueQuota {
	var rows []inspect.QueueQuota
	for _, flavor := range q.Status.FlavorsReservation {
		for _, r := range flavor.Resources {
			row := base
			row.Flavor, row.Resource = flavor.Name, r.Name
			row.Used = reservedBy(q, row.Flavor, row.Resource)
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		rows = append(rows, base)
	}
	return rows
}

// reservedBy is what a LocalQueue says that its Workloads hold, nil if it says nothing.
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
