package answer

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// later returns the answer for a Job that may run later on some clusters. Its reason is that of the
// cluster that can run it soonest.
func (q *Question) later(waits []inspect.Placement) Answer {
	slices.SortStableFunc(waits, func(x, y inspect.Placement) int {
		return cmp.Or(order(&x)-order(&y), compare(shortage(&x), shortage(&y)))
	})
	first := &waits[0]
	a := Answer{State: inspect.StateWaiting, Reason: reasonBy(first), Message: q.needs(first)}
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

// unconnected describes a cluster that its manager cannot use.
func (q *Question) unconnected(p *inspect.Placement) string {
	switch {
	case hasFree(p):
		return Sentence(fmt.Sprintf("Fits on %s (%s %s free), but %s", placeName(p), p.Free, p.Resource, p.Message))
	case p.Needs != "":
		return Sentence(fmt.Sprintf("Could run on %s, but %s", placeName(p), p.Message))
	}
	return Sentence(placeName(p) + ": " + lower(p.Message))
}

// connectionFixes returns how to connect a cluster: the fixes of the finding about it or, without
// one, where to look.
func (q *Question) connectionFixes(p *inspect.Placement) []command.Fix {
	for i := range q.Trace.Findings {
		if f := &q.Trace.Findings[i]; isAboutConnection(f) && f.Name == p.Cluster && len(f.Fixes) > 0 {
			return slices.Clone(f.Fixes)
		}
	}
	return q.changes([]inspect.Placement{*p})
}

// isAboutConnection reports whether a finding is about a MultiKueueCluster that its manager cannot
// use.
func isAboutConnection(f *inspect.Finding) bool {
	return slices.Contains([]string{"JM001", "JM002", "JM003", "JM004", "JM005", "JM006", "JM007", "JM010"}, f.Code)
}

// isRefuted reports whether the placements show that a finding is not the reason of an answer, or the
// answer has its object and its fix already.
func (q *Question) isRefuted(f *inspect.Finding, a *Answer) bool {
	if isAboutConnection(f) {
		return a.unusable != "" || a.waitsForQuota()
	}
	return isAboutQueue(f) && q.fitsNoQueue(a)
}

// waitsForQuota reports whether a Job waits until others release quota.
func (a *Answer) waitsForQuota() bool {
	return a.Reason == inspect.ReasonQuotaInUse || a.Reason == inspect.ReasonBehindInQueue
}
