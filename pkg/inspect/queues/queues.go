// Package queues reports what queues have, use and are asked to give, over
// all clusters of an inventory that read.Queues has read. It is pure.
package queues

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/capacity"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// List returns one row for each ClusterQueue, flavor and resource of all
// clusters. The members of a cohort follow its rows.
func List(v *inspect.Inventory) []QueueQuota {
	return each(v, func(c *cluster) []QueueQuota {
		var rows []QueueQuota
		seen := map[*capacity.Node]bool{}
		cohorts := c.tree.Cohorts()
		for _, n := range cohorts {
			if n.Parent == nil {
				rows = append(rows, c.below(n, seen)...)
			}
		}
		// Cohorts that are their own ancestors have no root.
		for _, n := range cohorts {
			rows = append(rows, c.below(n, seen)...)
		}
		for _, n := range c.tree.Queues() {
			rows = append(rows, c.below(n, seen)...)
		}
		return rows
	})
}

// each returns the rows of all clusters that have queues.
func each(v *inspect.Inventory, rows func(*cluster) []QueueQuota) []QueueQuota {
	all := []QueueQuota{}
	known := map[*inspect.Facts]*cluster{}
	for _, f := range v.Clusters {
		if c := clusterOf(v, f, known); c != nil {
			all = append(all, rows(c)...)
		}
	}
	return all
}

// cluster is a cluster whose queues are listed.
type cluster struct {
	inventory *inspect.Inventory
	// known has the clusters that were already prepared.
	known    map[*inspect.Facts]*cluster
	facts    *inspect.Facts
	capacity *inspect.Capacity
	tree     *capacity.Tree
	// locals and queues are all that were read, in a list or by name.
	locals []*kueue.LocalQueue
	queues []*kueue.ClusterQueue
}

// clusterOf returns a cluster with its queues, nil if they are unknown. If
// its quota was not requested, the status of its queues is used.
func clusterOf(v *inspect.Inventory, f *inspect.Facts, known map[*inspect.Facts]*cluster) *cluster {
	if c := known[f]; c != nil || f == nil || f.Err != nil || f.Kueue == nil {
		return c
	}
	k := f.Kueue
	c := &cluster{inventory: v, known: known, facts: f, capacity: k.Capacity}
	if c.capacity == nil {
		c.capacity = &inspect.Capacity{Gaps: map[inspect.Part]error{inspect.PartClaims: inspect.ErrNotRequested, inspect.PartCohorts: inspect.ErrNotRequested}}
	}
	known[f] = c
	c.locals = unique(slices.Concat(c.capacity.LocalQueues, k.LocalQueues), func(q *kueue.LocalQueue) string { return q.Namespace + "/" + q.Name })
	c.queues = unique(slices.Concat(c.capacity.ClusterQueues, k.ClusterQueues), func(q *kueue.ClusterQueue) string { return q.Name })
	c.tree = capacity.New(capacity.Sources{
		Queues: c.queues, Cohorts: c.capacity.Cohorts, Locals: c.locals,
		Claims: c.capacity.Claims, HasClaims: c.hasClaims(),
	})
	return c
}

// unique removes objects that were read twice.
func unique[T any](all []T, name func(T) string) []T {
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(o T) bool {
		is := seen[name(o)]
		seen[name(o)] = true
		return is
	})
}

// hasClaims reports whether all Workloads are known.
func (c *cluster) hasClaims() bool { return c.capacity.Gaps[inspect.PartClaims] == nil }

func (c *cluster) row(kind QueueKind, name string) QueueQuota {
	return QueueQuota{Context: c.facts.Context, ClusterUID: c.facts.ClusterUID, Kind: kind, Name: name, Cohorts: []string{}}
}

// below returns the rows of a queue, or of a cohort and its members.
func (c *cluster) below(n *capacity.Node, seen map[*capacity.Node]bool) []QueueQuota {
	if seen[n] {
		return nil
	}
	seen[n] = true
	if n.Queue != nil {
		return c.queueRows(n)
	}
	rows := c.cohortRows(n)
	for _, isCohort := range []bool{false, true} {
		for _, child := range sortedByName(n.Children) {
			if (child.Queue == nil) == isCohort {
				rows = append(rows, c.below(child, seen)...)
			}
		}
	}
	return rows
}

// queueRows returns the rows of a ClusterQueue. One without quota has one row
// too.
func (c *cluster) queueRows(n *capacity.Node) []QueueQuota {
	base := c.row(KindClusterQueue, n.Name)
	base.Cohorts, base.Problem = cohortsOf(n), problemOf(n.Queue.Outage())
	return c.quotaRows(n, base)
}

// quotaRows returns one row for each quota of a ClusterQueue.
func (c *cluster) quotaRows(n *capacity.Node, base QueueQuota) []QueueQuota {
	quotas := n.Resources()
	if len(quotas) == 0 {
		return []QueueQuota{base}
	}
	var rows []QueueQuota
	seen := map[string]bool{}
	for _, fr := range quotas {
		row := base
		row.Flavor, row.Resource = fr.Flavor, fr.Resource
		own, _ := n.Quota(fr)
		row.Nominal = text(own.Nominal, fr.Resource)
		if c.knowsUse(n) {
			row.Used, row.Borrowed = text(n.Used(fr), fr.Resource), text(n.Borrowed(fr), fr.Resource)
		}
		if c.knowsFree(n) {
			row.Free = text(n.Free(fr), fr.Resource)
			if row.Problem != "" {
				// A queue that is not active gives nothing.
				row.Free = text(0, fr.Resource)
			}
		}
		if row.HasMore = seen[fr.Resource]; !row.HasMore {
			seen[fr.Resource] = true
			row.Pending = c.pending([]*capacity.Node{n}, fr.Resource)
			row.Workers = c.workers(n, fr.Resource)
		}
		rows = append(rows, row)
	}
	return rows
}

// cohortRows returns rows for what a cohort and its members have together.
func (c *cluster) cohortRows(n *capacity.Node) []QueueQuota {
	members := membersOf(n, map[*capacity.Node]bool{})
	var quotas []capacity.FlavorResource
	for _, m := range members {
		for _, fr := range m.Resources() {
			if !slices.Contains(quotas, fr) {
				quotas = append(quotas, fr)
			}
		}
	}
	var rows []QueueQuota
	for _, fr := range quotas {
		row := c.row(KindCohort, n.Name)
		row.Cohorts = cohortsOf(n)
		if _, isLoop := n.Path(); isLoop {
			row.Problem = "it is its own ancestor, and Kueue admits nothing to its queues"
		}
		row.Flavor, row.Resource, row.HasMore = fr.Flavor, fr.Resource, true
		isWhole := c.capacity.Gaps[inspect.PartClusterQueues] == nil && c.capacity.Gaps[inspect.PartCohorts] == nil
		c.fill(&row, members, func(*capacity.Node) []capacity.FlavorResource { return []capacity.FlavorResource{fr} }, isWhole)
		row.Free = nil
		if free, isKnown := c.largestFit(members, func(o capacity.FlavorResource) bool { return o == fr }); isKnown && isWhole {
			row.Free = text(free, fr.Resource)
		}
		rows = append(rows, row)
	}
	return rows
}

// fillSum adds up a resource over all ClusterQueues, and the cohorts' own
// quota.
func (c *cluster) fillSum(row *QueueQuota) {
	ofResource := func(n *capacity.Node) []capacity.FlavorResource {
		return slices.DeleteFunc(slices.Clone(n.Resources()), func(fr capacity.FlavorResource) bool { return fr.Resource != row.Resource })
	}
	c.fill(row, slices.Concat(c.tree.Queues(), c.tree.Cohorts()), ofResource, c.capacity.Gaps[inspect.PartCohorts] == nil || len(c.tree.Cohorts()) == 0)
	row.Pending = c.pending(c.tree.Queues(), row.Resource)
}

// fill adds up what queues and cohorts have of some resources, and how much
// of it is in use. isKnown is whether nodes are complete.
func (c *cluster) fill(row *QueueQuota, nodes []*capacity.Node, of func(*capacity.Node) []capacity.FlavorResource, isKnown bool) {
	var nominal, used capacity.Amount
	for _, n := range nodes {
		for _, fr := range of(n) {
			q, _ := n.Quota(fr)
			nominal = nominal.Plus(q.Nominal)
			if n.Queue != nil {
				used = used.Plus(n.Used(fr))
				isKnown = isKnown && c.knowsUse(n)
			}
		}
	}
	row.Nominal = text(nominal, row.Resource)
	if isKnown {
		row.Used, row.Free = text(used, row.Resource), text(max(0, nominal.Minus(used)), row.Resource)
	}
}

// largestFit returns the largest request of a resource that fits now into one of the ClusterQueues among nodes,
// with what it may borrow. A queue that is out of service gives nothing.
func (c *cluster) largestFit(nodes []*capacity.Node, isWanted func(capacity.FlavorResource) bool) (largest capacity.Amount, isKnown bool) {
	for _, n := range nodes {
		switch {
		case n.Queue == nil:
			continue
		case !c.knowsFree(n):
			return 0, false
		}
		for _, fr := range n.Resources() {
			if isWanted(fr) && n.Queue.Outage() == nil {
				largest = max(largest, n.Free(fr))
			}
		}
	}
	return largest, true
}

// knowsUse reports whether it is known what a ClusterQueue has given: from
// its Workloads or, if these are unknown, from its status.
func (c *cluster) knowsUse(n *capacity.Node) bool {
	return c.hasClaims() || len(n.Queue.Status.FlavorsReservation) > 0
}

// knowsFree reports whether it is known what a ClusterQueue could give. That
// depends on the other members of its cohorts.
func (c *cluster) knowsFree(n *capacity.Node) bool {
	if n.Parent == nil {
		return c.knowsUse(n)
	}
	if c.capacity.Gaps[inspect.PartClusterQueues] != nil || c.capacity.Gaps[inspect.PartCohorts] != nil {
		return false
	}
	path, _ := n.Path()
	for _, m := range membersOf(path[len(path)-1], map[*capacity.Node]bool{}) {
		if m.Queue != nil && !c.knowsUse(m) {
			return false
		}
	}
	return true
}

// pending returns how much of a resource is waited for in queues, nil if not
// all Workloads and LocalQueues are known. A waiting Workload names only its
// LocalQueue.
func (c *cluster) pending(nodes []*capacity.Node, resource string) *string {
	if !c.hasClaims() || c.capacity.Gaps[inspect.PartQueues] != nil {
		return nil
	}
	var waiting []*kueue.Claim
	for _, n := range nodes {
		waiting = append(waiting, n.Pending...)
	}
	return totalRequested(waiting, resource)
}

// totalRequested returns how much of a resource Workloads request, nil if unknown for
// one of them.
func totalRequested(waiting []*kueue.Claim, resource string) *string {
	var total capacity.Amount
	for _, claim := range waiting {
		if claim.Requests == nil {
			return nil
		}
		for _, set := range claim.Requests {
			if quantity, asks := set.Resources[corev1.ResourceName(resource)]; asks {
				total = total.Plus(capacity.AmountOf(resource, quantity))
			}
		}
	}
	return text(total, resource)
}

// cohortsOf returns the names of the cohorts above, nearest first.
func cohortsOf(n *capacity.Node) []string {
	path, _ := n.Path()
	names := []string{}
	for _, p := range path {
		names = append(names, p.Name)
	}
	return names
}

// membersOf returns a cohort and all nodes below it.
func membersOf(n *capacity.Node, seen map[*capacity.Node]bool) []*capacity.Node {
	if seen[n] {
		return nil
	}
	seen[n] = true
	all := []*capacity.Node{n}
	for _, child := range sortedByName(n.Children) {
		all = append(all, membersOf(child, seen)...)
	}
	return all
}

func sortedByName(nodes []*capacity.Node) []*capacity.Node {
	return slices.SortedFunc(slices.Values(nodes), func(a, b *capacity.Node) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
}

// problemOf returns why a queue admits nothing, "" if nothing says so: according to its status or, before
// Kueue has updated that, to its stopPolicy.
func problemOf(outage *kueue.Outage) string {
	if outage == nil {
		return ""
	}
	return "not active: " + cmp.Or(outage.Why(), "stopPolicy is "+outage.StopPolicy)
}

func text(a capacity.Amount, resource string) *string { return new(a.Text(resource)) }
