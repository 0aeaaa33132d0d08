package answer

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/capacity"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// withCost adds to the answer about a Job that no cluster can run what the
// Job holds on the management cluster, which Jobs wait for that, and the
// command that releases it.
func (q *Question) withCost(manager *inspect.Facts, w *kueue.Workload, a Answer) Answer {
	a.Cost = costOf(manager, w)
	if a.Cost != nil {
		a.Cost.Release = q.deactivate(manager.Context, w, "to release it, deactivate the Workload")
	}
	return a
}

// costOf returns what a Workload holds on the management cluster and which
// Jobs wait for it, nil if it holds nothing.
func costOf(manager *inspect.Facts, w *kueue.Workload) *inspect.Cost {
	if !w.Is(kueue.QuotaReserved) || w.Status.Admission == nil || !w.IsActive() {
		return nil
	}
	held, total := usageOf(w)
	if len(total) == 0 {
		return nil
	}
	c := &inspect.Cost{Context: manager.Context, ClusterQueue: w.Status.Admission.ClusterQueue, Holds: map[string]string{}, Blocks: []string{}}
	for name, quantity := range total {
		c.Holds[name] = quantity.String()
	}
	quotas := manager.Kueue.Capacity
	if quotas == nil || quotas.Gaps[inspect.PartClaims] != nil || quotas.Gaps[inspect.PartClusterQueues] != nil || quotas.Gaps[inspect.PartQueues] != nil {
		return c
	}
	c.BlocksKnown = true
	tree := quotas.Tree()
	own := tree.Queue(c.ClusterQueue)
	if own == nil {
		return c
	}
	for _, n := range tree.Sharers(own) {
		for _, claim := range n.Pending {
			if claim.UID != string(w.UID) && waitsFor(claim, held) {
				c.Blocks = append(c.Blocks, claim.Namespace+"/"+cmp.Or(claim.Owner, claim.Name))
			}
		}
	}
	slices.Sort(c.Blocks)
	return c
}

// usageOf returns the flavors that a Workload holds, and the total of each resource.
func usageOf(w *kueue.Workload) (held map[capacity.FlavorResource]bool, total map[string]resource.Quantity) {
	held, total = map[capacity.FlavorResource]bool{}, map[string]resource.Quantity{}
	for _, h := range w.Holds() {
		if h.Quantity.IsZero() {
			continue
		}
		held[capacity.FlavorResource{Flavor: h.Flavor, Resource: h.Resource}] = true
		sum := total[h.Resource]
		sum.Add(h.Quantity)
		total[h.Resource] = sum
	}
	return held, total
}

// waitsFor reports whether a claim lacks quota that is held, according to
// Kueue.
func waitsFor(c *kueue.Claim, held map[capacity.FlavorResource]bool) bool {
	wait := c.Waiting()
	return wait.IsForQuota() && slices.ContainsFunc(wait.Lacks, func(l kueue.Lack) bool {
		return l.Reason == kueue.ReasonQuotaInUse && held[capacity.FlavorResource{Flavor: l.Flavor, Resource: l.Resource}]
	})
}

// ByCost sorts findings by severity. Within a severity, Jobs that can never
// run and block the most other Jobs come first.
func ByCost(findings []inspect.Finding) {
	blocks := func(f *inspect.Finding) int {
		if f.Cost == nil {
			return 0
		}
		return len(f.Cost.Blocks)
	}
	slices.SortStableFunc(findings, func(a, b inspect.Finding) int {
		return cmp.Or(a.Severity.Compare(b.Severity), cmp.Compare(blocks(&b), blocks(&a)))
	})
}
