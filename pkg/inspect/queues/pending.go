package queues

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/capacity"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Pending returns one row for each Workload that waits for quota in the
// namespaces that were read, in the order of its ClusterQueue. Workloads that
// Kueue does not have in a queue come last.
func Pending(v *inspect.Inventory) []PendingJob {
	owners := ownersOf(v)
	all := []PendingJob{}
	for _, f := range v.Clusters {
		c := clusterOf(v, f, map[*inspect.Facts]*cluster{})
		if c == nil {
			continue
		}
		l := &line{
			cluster: c, owners: owners, isWhole: c.hasClaims() && c.capacity.Gaps[inspect.PartQueues] == nil,
			locals: map[[2]string]*kueue.LocalQueue{}, places: map[*kueue.Claim]int{},
		}
		rows := l.rows()
		slices.SortStableFunc(rows, byLine)
		all = append(all, rows...)
	}
	return all
}

// owner is the Job that a Workload was made for.
type owner struct{ kind, name string }

// ownersOf returns the Jobs of Workloads, by namespace and name. The copy of
// a Workload on a worker has the same name as on the manager, and has no Job
// before it is admitted.
func ownersOf(v *inspect.Inventory) map[[2]string]owner {
	owners := map[[2]string]owner{}
	for _, f := range v.Clusters {
		if f.Kueue == nil || f.Kueue.Capacity == nil {
			continue
		}
		for _, c := range slices.Concat(f.Kueue.Capacity.Claims, f.Kueue.Capacity.ClaimsWithin) {
			if c.Owner != "" {
				owners[[2]string{c.Namespace, c.Name}] = owner{c.Kind, c.Owner}
			}
		}
	}
	return owners
}

// line has the waiting Workloads of one cluster.
type line struct {
	*cluster
	owners map[[2]string]owner
	// isWhole is whether all waiting Workloads and their queues are known.
	isWhole bool
	locals  map[[2]string]*kueue.LocalQueue
	places  map[*kueue.Claim]int
}

func (l *line) rows() []PendingJob {
	for _, q := range l.cluster.locals {
		l.locals[[2]string{q.Namespace, q.Name}] = q
	}
	for _, n := range l.tree.Queues() {
		if !n.IsOrdered() {
			continue
		}
		for i, c := range n.Line {
			l.places[c] = i + 1
		}
	}
	claims := l.capacity.Claims
	if !l.hasClaims() {
		claims = l.capacity.ClaimsWithin
	}
	var rows []PendingJob
	for _, c := range claims {
		if c.ClusterQueue == "" && (l.facts.Namespace == "" || c.Namespace == l.facts.Namespace) {
			rows = append(rows, l.row(c))
		}
	}
	return rows
}

func (l *line) row(c *kueue.Claim) PendingJob {
	wait := c.Waiting()
	row := PendingJob{
		Context: l.facts.Context, ClusterUID: l.facts.ClusterUID, Namespace: c.Namespace, Workload: c.Name, Kind: c.Kind, Name: c.Owner,
		LocalQueue: c.LocalQueue, Priority: c.Rank.Priority, QueuedAt: metav1.NewTime(c.Rank.At), CreatedAt: metav1.NewTime(c.CreatedAt),
		Requests: requested(c), Reason: wait.Reason, Message: wait.Message,
	}
	if row.Name == "" && c.Origin != "" {
		o := l.owners[[2]string{c.Namespace, c.Name}]
		row.Kind, row.Name = o.kind, o.name
	}
	local := l.locals[[2]string{c.Namespace, c.LocalQueue}]
	if local == nil {
		// The LocalQueue may exist if not all were read.
		row.Queued = l.capacity.Gaps[inspect.PartQueues] != nil
		return row
	}
	row.Queued, row.ClusterQueue = c.IsQueuedIn(local), local.Spec.ClusterQueue
	n := l.tree.Queue(row.ClusterQueue)
	if n == nil {
		return row
	}
	row.Strategy = cmp.Or(n.Queue.Spec.QueueingStrategy, kueue.BestEffortFIFO)
	if place := l.places[c]; l.isWhole && place > 0 {
		row.Place, row.Of = &place, new(len(n.Line))
		row.StartsBy = boundOf(n, place, wait.Reason)
	}
	return row
}

// boundOf returns when the first Workload of a line starts at the latest, nil
// if unknown. It is known only if Kueue itself says that the Workload waits
// for quota in use and for nothing else.
func boundOf(n *capacity.Node, place int, reason kueue.WaitReason) *metav1.Time {
	by, ok := n.LastEnd()
	if !ok || place > 1 || reason != kueue.ReasonQuotaInUse {
		return nil
	}
	return &metav1.Time{Time: by}
}

// requested returns what all Pods of a Workload request together, nil if
// unknown.
func requested(c *kueue.Claim) map[string]string {
	if c.Requests == nil {
		return nil
	}
	total := map[string]capacity.Amount{}
	for _, set := range c.Requests {
		for name, quantity := range set.Resources {
			total[string(name)] = total[string(name)].Plus(capacity.AmountOf(string(name), quantity))
		}
	}
	requests := map[string]string{}
	for name, amount := range total {
		requests[name] = amount.Text(name)
	}
	return requests
}

// byLine orders the waiting Workloads of a cluster: by ClusterQueue, then
// those in the queue first, then by their order there.
func byLine(a, b PendingJob) int {
	rank := func(j PendingJob) int {
		switch {
		case !j.Queued:
			return 1 << 30
		case j.Place != nil:
			return *j.Place
		}
		return 0
	}
	order := func(j PendingJob) kueue.Rank { return kueue.Rank{Priority: j.Priority, At: j.QueuedAt.Time} }
	return cmp.Or(cmp.Compare(a.ClusterQueue, b.ClusterQueue), cmp.Compare(rank(a), rank(b)), order(a).Compare(order(b)),
		cmp.Compare(a.Namespace+"/"+a.Workload, b.Namespace+"/"+b.Workload))
}
