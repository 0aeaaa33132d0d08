package placement

import (
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/capacity"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// mayPreempt reports whether the queue's policy allows preempting a Workload for a requested amount
// (kueue: pkg/scheduler/preemption; docs/reference/scheduling.md#preemption).
func (s *site) mayPreempt(n *capacity.Node, c *kueue.Claim, fr capacity.FlavorResource, requested capacity.Amount) bool {
	policy := &s.queue.Queue.Spec.Preemption
	isLower := c.Rank.Priority < s.rank().Priority
	quota, _ := s.queue.Quota(fr)
	isAbove := requested > quota.Nominal
	if n == s.queue {
		return s.mayPreemptWithin(c) && (!isAbove || s.preemptsAboveNominal(fr, requested))
	}
	if n.Borrowed(fr) == 0 || kueue.IsStopped(n.Queue.Spec.StopPolicy) {
		return false
	}
	isAllowed := policy.ReclaimWithinCohort == kueue.AnyPriority || policy.ReclaimWithinCohort == kueue.LowerPriority && isLower
	return isAllowed && (!isAbove || s.mayReclaim(n, fr, requested) || isLower && policy.BorrowsFrom(c.Rank.Priority))
}

// mayPreemptWithin reports whether the policy allows preempting a Workload of the same queue.
func (s *site) mayPreemptWithin(c *kueue.Claim) bool {
	mine, within := s.rank(), s.queue.Queue.Spec.Preemption.WithinClusterQueue
	isLower := c.Rank.Priority < mine.Priority
	isNewer := c.Rank.Priority == mine.Priority && c.Rank.At.After(mine.At)
	return within == kueue.LowerPriority && isLower || within == kueue.LowerOrNewer && (isLower || isNewer)
}

// preemptsAboveNominal reports whether Kueue preempts at all for a request above the nominal quota
// (kueue: pkg/scheduler/flavorassigner, fitsResourceQuota).
func (s *site) preemptsAboveNominal(fr capacity.FlavorResource, requested capacity.Amount) bool {
	policy := &s.queue.Queue.Spec.Preemption
	return policy.Borrows() || s.queue.ReclaimsFor(fr, requested) != nil || s.sharesFairly()
}

// mayReclaim reports whether a request above the nominal quota may take quota of another queue,
// whatever the priorities: a smaller cohort has enough for it, or shares decide.
func (s *site) mayReclaim(n *capacity.Node, fr capacity.FlavorResource, requested capacity.Amount) bool {
	cohort := s.queue.ReclaimsFor(fr, requested)
	above, _ := n.Path()
	return cohort != nil && !slices.Contains(above, cohort) || s.sharesFairly()
}

// sharesFairly reports whether Kueue preempts by fair shares of the cohort. It then publishes the share
// of each queue.
func (s *site) sharesFairly() bool {
	q := s.queue.Queue
	return q.Status.FairSharing != nil && q.Spec.Preemption.ReclaimWithinCohort != "" && q.Spec.Preemption.ReclaimWithinCohort != kueue.NeverPreempt
}

// preempts reports whether the Workloads that may be preempted for a need hold enough.
func (s *site) preempts(fr capacity.FlavorResource, r need) bool {
	var total capacity.Amount
	for _, h := range s.holders(fr, r.requested) {
		if h.Preemptible {
			total = total.Plus(amountOf(h))
		}
	}
	now, _ := r.lacks()
	return total >= now
}

func (s *site) couldPreempt(a *assigner, result *assignment) bool {
	return result.verdict == inspect.Waits && result.worst != nil && a.canPreempt(result.worst)
}
