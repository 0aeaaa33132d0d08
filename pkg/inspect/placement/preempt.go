package placement

import (
	"cmp"
	"maps"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/capacity"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// preemption finds out which Workloads Kueue preempts for requests (kueue: pkg/scheduler/preemption;
// docs/reference/scheduling.md#preemption).
type preemption struct {
	site     *site
	requests capacity.Requests
	// short are the requests for which quota in use must be released.
	short []capacity.FlavorResource
	// candidates are the Workloads that the policy allows preempting, in Kueue's order.
	candidates []candidate
}

// candidate is a Workload that may be preempted.
type candidate struct {
	queue *capacity.Node
	claim *kueue.Claim
	// common is the lowest cohort above the ClusterQueues of both; nil in the same ClusterQueue.
	common *capacity.Node
	right  right
}

// right is why a request may preempt a candidate.
type right int

const (
	// reclaimsCohort: a node below the common cohort has enough quota for the request.
	reclaimsCohort right = iota
	// whileBorrowing: borrowWithinCohort allows it.
	whileBorrowing
	// withoutBorrowing: the request may preempt it only if it does not borrow then.
	withoutBorrowing
	// withinQueue: it is in the same ClusterQueue.
	withinQueue
)

// preemption returns the possible preemption for requests.
func (s *site) preemption(requests capacity.Requests, short ...capacity.FlavorResource) *preemption {
	p := &preemption{site: s, requests: requests, short: short}
	covering := s.queue.Covering(requests)
	for _, n := range s.sharers() {
		common, isPossible := p.common(n)
		if !isPossible {
			continue
		}
		for _, c := range n.Claims {
			if r, ok := p.rightTo(n, c, common, covering); ok {
				p.candidates = append(p.candidates, candidate{queue: n, claim: c, common: common, right: r})
			}
		}
	}
	slices.SortFunc(p.candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.order(), b.order()), cmp.Compare(a.claim.Rank.Priority, b.claim.Rank.Priority),
			b.claim.Since.Compare(a.claim.Since), cmp.Compare(a.claim.UID, b.claim.UID))
	})
	return p
}

// order is the order of candidates by group. Those that are evicted already come first.
func (c *candidate) order() int {
	const groups = 3
	group := 0
	switch c.right {
	case reclaimsCohort:
	case whileBorrowing, withoutBorrowing:
		group = 1
	case withinQueue:
		group = groups - 1
	}
	if !c.claim.Evicted {
		group += groups
	}
	return group
}

// common returns the lowest cohort above both ClusterQueues. It reports whether Workloads of the other one
// may be preempted at all: the policy names them, and it is in service and, with the cohorts below the common
// one, above its own quota.
func (p *preemption) common(n *capacity.Node) (common *capacity.Node, isPossible bool) {
	s := p.site
	if n == s.queue {
		return nil, isSet(s.queue.Queue.Spec.Preemption.WithinClusterQueue)
	}
	mine, _ := s.queue.Path()
	others, _ := n.Path()
	at := slices.IndexFunc(others, func(c *capacity.Node) bool { return slices.Contains(mine, c) })
	if at < 0 || !isSet(s.queue.Queue.Spec.Preemption.ReclaimWithinCohort) || n.Queue.Outage() != nil {
		return nil, false
	}
	return others[at], p.isAbove(n, others[at])
}

// isSet reports whether a policy allows any preemption.
func isSet(policy string) bool { return policy != "" && policy != kueue.NeverPreempt }

// isAbove reports whether a ClusterQueue, and each cohort above it up to the common one, uses more than its
// own quota.
func (p *preemption) isAbove(n, common *capacity.Node) bool {
	for at := n; at != nil && at != common; at = at.Parent {
		if !slices.ContainsFunc(p.short, func(fr capacity.FlavorResource) bool { return at.Borrowed(fr) > 0 }) {
			return false
		}
	}
	return true
}

// rightTo reports whether and why the policy allows preempting a Workload.
func (p *preemption) rightTo(n *capacity.Node, c *kueue.Claim, common, covering *capacity.Node) (right, bool) {
	s := p.site
	policy := &s.queue.Queue.Spec.Preemption
	isLower := c.Rank.Priority < s.rank().Priority
	switch {
	case !slices.ContainsFunc(p.short, func(fr capacity.FlavorResource) bool { return capacity.HeldBy(c, fr) > 0 }):
		return 0, false
	case n == s.queue:
		return withinQueue, s.mayPreemptWithin(c)
	case policy.ReclaimWithinCohort != kueue.AnyPriority && (policy.ReclaimWithinCohort != kueue.LowerPriority || !isLower):
		return 0, false
	case s.isBelow(covering, common):
		return reclaimsCohort, true
	case isLower && policy.BorrowsFrom(c.Rank.Priority):
		return whileBorrowing, true
	}
	return withoutBorrowing, true
}

// isBelow reports whether the node that has enough quota for the requests is below a cohort.
func (s *site) isBelow(covering, cohort *capacity.Node) bool {
	path, _ := s.queue.Path()
	return covering != nil && (covering == s.queue || slices.Index(path, covering) < slices.Index(path, cohort))
}

// mayPreemptWithin reports whether the policy allows preempting a Workload of the same queue.
func (s *site) mayPreemptWithin(c *kueue.Claim) bool {
	mine, within := s.rank(), s.queue.Queue.Spec.Preemption.WithinClusterQueue
	isLower := c.Rank.Priority < mine.Priority
	isNewer := c.Rank.Priority == mine.Priority && c.Rank.At.After(mine.At)
	return within == kueue.LowerPriority && isLower || within == kueue.LowerOrNewer && (isLower || isNewer)
}

// sharesFairly reports whether Kueue preempts by fair shares of the cohort. It then publishes the share
// of each queue.
func (s *site) sharesFairly() bool {
	q := s.queue.Queue
	return q.Status.FairSharing != nil && isSet(q.Spec.Preemption.ReclaimWithinCohort)
}

// attempts returns whether the request may borrow in each of Kueue's attempts. Shares, which are not
// computed, decide between candidates if sharing is fair.
func (p *preemption) attempts() []bool {
	s := p.site
	has := func(of ...right) bool {
		return slices.ContainsFunc(p.candidates, func(c candidate) bool { return slices.Contains(of, c.right) })
	}
	isForbidden := !s.queue.Queue.Spec.Preemption.Borrows()
	usesAll := slices.ContainsFunc(p.short, func(fr capacity.FlavorResource) bool {
		quota, _ := s.queue.Quota(fr)
		return s.queue.Used(fr) >= quota.Nominal
	})
	switch {
	case s.sharesFairly(), !has(reclaimsCohort, whileBorrowing, withoutBorrowing), isForbidden && usesAll:
		return []bool{true}
	case isForbidden && !has(reclaimsCohort):
		return []bool{false, true}
	}
	return []bool{true, false}
}

// isCandidate reports whether a Workload may be preempted in an attempt, after others were.
func (p *preemption) isCandidate(c *candidate, borrows bool) bool {
	if c.right == withinQueue {
		return true
	}
	isBarred := borrows && c.right == withoutBorrowing && !p.site.sharesFairly()
	return !isBarred && p.isAbove(c.queue, c.common)
}

// fits reports whether there is enough quota for the requests.
func (p *preemption) fits(borrows bool) bool {
	queue := p.site.queue
	for fr, requested := range p.requests {
		quota, _ := queue.Quota(fr)
		if requested > queue.Free(fr) || !borrows && queue.Used(fr).Plus(requested) > quota.Nominal {
			return false
		}
	}
	return true
}

// victims are Workloads that Kueue preempts.
type victims struct {
	// from has the Workloads that were considered.
	from map[*kueue.Claim]bool
	// rating is how Kueue rates a flavor that needs this preemption.
	rating rating
}

// find returns what Kueue preempts in the first attempt that frees enough. If none does, it returns all
// candidates, with a rating without victims.
func (p *preemption) find() victims {
	all := map[*kueue.Claim]bool{}
	for _, borrows := range p.attempts() {
		from := map[*kueue.Claim]bool{}
		for i := range p.candidates {
			if c := &p.candidates[i]; p.isCandidate(c, borrows) {
				from[c.claim] = true
			}
		}
		if r := p.try(borrows); r.mode != noVictims {
			return victims{from: from, rating: r}
		}
		maps.Copy(all, from)
	}
	return victims{from: all, rating: rating{mode: noVictims, level: p.level()}}
}

// try releases candidates until the requests fit, spares those that need not be released, and restores
// everything.
func (p *preemption) try(borrows bool) rating {
	var released []*candidate
	isEnough := false
	for i := 0; i < len(p.candidates) && !isEnough; i++ {
		if c := &p.candidates[i]; p.isCandidate(c, borrows) {
			c.queue.Release(c.claim)
			released = append(released, c)
			isEnough = p.fits(borrows)
		}
	}
	result := rating{mode: noVictims}
	if isEnough {
		released = p.spare(released, borrows)
		result = rating{mode: reclaims, level: p.level()}
	}
	for _, c := range released {
		if c.right == withinQueue && isEnough {
			result.mode = preempts
		}
		c.queue.Restore(c.claim)
	}
	return result
}

// spare restores the released candidates that need not be preempted, and returns the others.
func (p *preemption) spare(released []*candidate, borrows bool) []*candidate {
	for i := len(released) - 2; i >= 0; i-- { //nolint:mnd // The last one is needed.
		c := released[i]
		c.queue.Restore(c.claim)
		if p.fits(borrows) {
			released = slices.Delete(released, i, i+1)
		} else {
			c.queue.Release(c.claim)
		}
	}
	return released
}

// level returns from how far the quota for the short requests comes.
func (p *preemption) level() int {
	level := 0
	for _, fr := range p.short {
		level = max(level, p.site.queue.BorrowingLevel(fr, p.requests[fr]))
	}
	return level
}

// rate rates a flavor by a resource that it lacks now.
func (s *site) rate(fr capacity.FlavorResource, requested capacity.Amount) rating {
	if !s.mayPreemptFor(fr, requested) {
		return rating{mode: noFit, level: s.queue.BorrowingLevel(fr, requested)}
	}
	return s.preemption(capacity.Requests{fr: requested}, fr).find().rating
}

// mayPreemptFor reports whether Kueue looks for victims for a request at all (kueue:
// pkg/scheduler/flavorassigner, fitsResourceQuota).
func (s *site) mayPreemptFor(fr capacity.FlavorResource, requested capacity.Amount) bool {
	quota, _ := s.queue.Quota(fr)
	covering := s.queue.Covering(capacity.Requests{fr: requested})
	return requested <= quota.Nominal || covering != nil && covering.Parent != nil || s.queue.Queue.Spec.Preemption.Borrows() || s.sharesFairly()
}

// victims returns what Kueue preempts for a request that waits: for all its Pods and resources together.
func (s *site) victims(result *assignment) victims {
	requests := capacity.Requests{}
	var short []capacity.FlavorResource
	for i := range result.tries {
		t := &result.tries[i]
		if !t.chosen {
			continue
		}
		if t.rating.mode == noFit || t.isMisjudged() {
			return victims{}
		}
		for _, r := range t.needs {
			fr := capacity.FlavorResource{Flavor: t.flavor, Resource: r.resource}
			requests[fr] = r.requested
			if now, _ := r.lacks(); now > 0 && !slices.Contains(short, fr) {
				short = append(short, fr)
			}
		}
	}
	return s.preemption(requests, short...).find()
}

// isSettled reports whether Kueue tries no smaller size of a request: it starts it, preempts Workloads for
// it, or misjudges it.
func (s *site) isSettled(result *assignment) bool {
	isMisjudged := slices.ContainsFunc(result.tries, func(t try) bool { return t.chosen && t.isMisjudged() })
	return result.verdict == inspect.Fits || result.verdict == inspect.Waits && (isMisjudged || s.victims(result).rating.canPreempt())
}

// isMisjudged reports whether Kueue takes a flavor as fitting although a resource is short, because it
// rates another resource, which it has to borrow, as worse. It then neither starts nor preempts anything.
func (t *try) isMisjudged() bool { return t.verdict == inspect.Waits && t.rating.mode == fitsNow }

// isMisordered reports whether a request that waits does not fit even if nothing else uses quota: its
// podsets would then get other flavors than now, and take each other's quota. It is false if not all
// Workloads that use quota were read.
func (s *site) isMisordered(a *assigner, result *assignment, all []podSetDemand) bool {
	if len(all) == 1 || s.capacity.Gaps[inspect.PartClaims] != nil || s.victims(result).rating.canPreempt() {
		return false
	}
	alone := *a
	alone.preempts = func(capacity.FlavorResource, capacity.Amount) rating { return rating{mode: noVictims} }
	s.eachClaim((*capacity.Node).Release)
	verdict := alone.assign(all).verdict
	s.eachClaim((*capacity.Node).Restore)
	return verdict == inspect.Never || verdict == inspect.Waits
}

// eachClaim does something with all Workloads that hold quota of the cohort.
func (s *site) eachClaim(do func(*capacity.Node, *kueue.Claim)) {
	for _, n := range s.sharers() {
		for _, c := range n.Claims {
			do(n, c)
		}
	}
}
