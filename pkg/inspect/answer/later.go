package answer

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

// later returns the answer for a Job that may run later on some clusters. Its reason is that of the
// cluster that can run it soonest: one where orphans hold the lacking quota, because their fix comes
// first.
func (q *Question) later(waits []inspect.Placement) Answer {
	slices.SortStableFunc(waits, func(x, y inspect.Placement) int {
		return cmp.Or(order(&x)-order(&y), q.heldBy(&x)-q.heldBy(&y), cmp.Compare(leastChange(&x), leastChange(&y)))
	})
	first := &waits[0]
	a := Answer{State: inspect.StateWaiting, Reason: reasonBy(first), Message: q.needs(first), preemption: q.preemptionAt(first)}
	connected := slices.DeleteFunc(slices.Clone(waits), func(p inspect.Placement) bool { return isUnconnected(&p) })
	if isUnconnected(first) {
		a.unusable, a.Fixes = first.Cluster, q.connectionFixes(first)
		if len(connected) == 0 {
			a.State = inspect.StateBlocked
		}
	}
	a.Fixes = append(a.Fixes, q.fixesFor(connected)...)
	return a
}

// withSetup adds to the answer for a Job that waits which other clusters could get it if their queues,
// namespaces or MultiKueueClusters were set up. A change that starts the Job comes before waiting for other Jobs.
func (q *Question) withSetup(a Answer, never []inspect.Placement) Answer {
	never = slices.DeleteFunc(slices.Clone(never), func(p inspect.Placement) bool {
		return !slices.Contains([]inspect.PlacementReason{
			inspect.NotConnected, inspect.QueueMissing, inspect.QueueStopped, inspect.QueueInactive, inspect.NamespaceMissing,
			inspect.NamespaceNotSelected,
		}, p.Reason)
	})
	if len(never) == 0 {
		return a
	}
	var starting, others []inspect.Placement
	for _, p := range never {
		if slices.ContainsFunc(p.Changes, func(c inspect.PlacementChange) bool { return c.Starts }) {
			starting = append(starting, p)
		} else {
			others = append(others, p)
		}
	}
	first := min(1, len(a.Fixes))
	starts := q.changes(starting)
	for i := range starts {
		starts[i].Text += ", where the Job fits now"
	}
	a.Fixes = slices.Concat(starts, a.Fixes[:first], q.changes(others), a.Fixes[first:])
	return a
}

// leastChange returns the smallest change after which a cluster can run a Job, as a part of its request, and thus
// comparable between resources: that of its fixes, whose order is the same, or what it lacks.
func leastChange(p *inspect.Placement) float64 {
	if least := p.LeastChange(); !isUnconnected(p) && !math.IsInf(least, 1) {
		return least
	}
	needs, lack := quantity(p.Needs), shortage(p)
	if needs.IsZero() {
		return 0
	}
	return lack.AsApproximateFloat64() / needs.AsApproximateFloat64()
}

// isUnconnected reports whether a cluster could run a Job, and only its manager cannot use it.
func isUnconnected(p *inspect.Placement) bool {
	return p.Reason == inspect.NotConnected && p.Verdict == inspect.Waits
}

// hasFree reports whether a cluster has enough free quota, as far as its placement shows.
func hasFree(p *inspect.Placement) bool {
	zero := quantity("0")
	return p.Needs != "" && p.Free != "" && compare(shortage(p), zero) <= 0
}

// order ranks clusters on which a Job waits: a connection away from its start, in a queue, or both.
func order(p *inspect.Placement) int {
	switch {
	case !isUnconnected(p):
		return 1
	case hasFree(p):
		return 0
	}
	return 2
}

// heldBy ranks clusters by who holds the quota that a Job lacks: 0 if orphans hold enough of it.
func (q *Question) heldBy(p *inspect.Placement) int {
	held := quantity("0")
	for i := range p.Holders {
		if h := &p.Holders[i]; q.isOrphan(p.Context, h) {
			held.Add(quantity(h.Amount))
		}
	}
	if held.IsZero() || compare(held, shortage(p)) < 0 {
		return 1
	}
	return 0
}

// unconnected describes a cluster that its manager cannot use.
func (q *Question) unconnected(p *inspect.Placement) string {
	switch {
	case hasFree(p):
		return sentence(fmt.Sprintf("Fits on %s (%s %s free), but %s", placeName(p), p.Free, p.Resource, p.Message))
	case p.Needs != "":
		return sentence(fmt.Sprintf("Could run on %s, but %s", placeName(p), p.Message))
	}
	return sentence(placeName(p)+": "+lower(p.Message), placeName(p))
}

// connectionFixes returns how to connect a cluster: the fixes of the finding about it or, without
// one, where to look. Other managers may call other clusters the same.
func (q *Question) connectionFixes(p *inspect.Placement) []command.Fix {
	manager := q.managerOf(p)
	for _, f := range slices.Concat(q.Trace.Findings, q.Findings) {
		if isAboutConnection(&f) && f.Name == p.Cluster && f.Context == manager && len(f.Fixes) > 0 {
			return slices.Clone(f.Fixes)
		}
	}
	return q.changes([]inspect.Placement{*p})
}

// managerOf returns the context of the manager of a worker: that of the origin or, for a Job that is not submitted, the last
// manager before the worker in the trace. It is "" if unknown.
func (q *Question) managerOf(p *inspect.Placement) (context string) {
	if q.Pair.Origin != nil {
		return q.Pair.Origin.Context
	}
	for i := range q.Trace.Placements {
		switch at := &q.Trace.Placements[i]; {
		case at.Manager:
			context = at.Context
		case at.Cluster == p.Cluster && at.Context == p.Context && at.Message == p.Message:
			return context
		}
	}
	return ""
}

// isAboutConnection reports whether a finding is about a MultiKueueCluster that its manager cannot
// use.
func isAboutConnection(f *inspect.Finding) bool {
	return slices.Contains(view.ConnectionCodes(), f.Code)
}

// isRefuted reports whether the placements show that a finding is not the reason of an answer, or the
// answer has its object and its fix already.
func (q *Question) isRefuted(f *inspect.Finding, a *Answer) bool {
	if isAboutConnection(f) {
		return a.unusable != "" || a.waitsForQuota()
	}
	if f.Code == partlyUnusable {
		return slices.ContainsFunc(q.Trace.Placements, func(p inspect.Placement) bool { return p.Reason == inspect.NotConnected })
	}
	if f.Code == behind {
		// The Job fits nowhere, whatever the controller does.
		return a.State == inspect.StateBlocked && q.isReasonOfRequests(a.State, a.Reason)
	}
	if a.coversAll && f.Code == neverQueued {
		return true
	}
	return isAboutQueue(f.Code) && (a.coversAll || q.fitsNoQueue(a))
}

// mayRunElsewhere reports whether a cluster may still run a waiting Job. A warning is then about
// another cluster.
func (q *Question) mayRunElsewhere(a *Answer) bool {
	if a.State != inspect.StateWaiting {
		return false
	}
	return a.waitsForQuota() || a.unusable != "" || placement.Gate(q.Trace.Placements) == nil && slices.ContainsFunc(q.Trace.Placements, func(p inspect.Placement) bool {
		return !p.Manager && p.Verdict == inspect.Fits
	})
}

// isAboutQueue reports whether a code is about a queue that holds Jobs on workers.
func isAboutQueue(code string) bool {
	return slices.Contains([]string{"JM026", "JM027", "JM028"}, code)
}

// fitsNoQueue reports whether a Job fits nowhere, whatever the state of the queues: the placements
// have a reason that would remain.
func (q *Question) fitsNoQueue(a *Answer) bool {
	return a.State == inspect.StateBlocked && q.exceedsAll()
}

// exceedsAll reports whether a Job exceeds the limits of all workers, or suits no flavor there.
func (q *Question) exceedsAll() bool {
	isWorker := func(p inspect.Placement) bool { return !p.Manager }
	return slices.ContainsFunc(q.Trace.Placements, isWorker) && !slices.ContainsFunc(q.Trace.Placements, func(p inspect.Placement) bool {
		return !p.Manager && p.Reason != inspect.OverLimit && p.Reason != inspect.NoSuchResource && p.Reason != inspect.FlavorMismatch
	})
}

// waitsForQuota reports whether a Job waits until others release quota.
func (a *Answer) waitsForQuota() bool {
	return a.Reason == inspect.ReasonQuotaInUse || a.Reason == inspect.ReasonBehindInQueue
}
