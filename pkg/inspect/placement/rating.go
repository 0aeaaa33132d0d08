package placement

import (
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/capacity"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// rating is how Kueue compares flavors (kueue: pkg/scheduler/flavorassigner).
type rating struct {
	mode mode
	// level is from how far the quota comes: 0 from the ClusterQueue itself.
	level int
}

// mode is what must happen before a flavor can be used, the worst first.
type mode int

const (
	// noFit: Kueue does not look for victims.
	noFit mode = iota
	// noVictims: Kueue finds no victims that free enough.
	noVictims
	// preempts: it preempts Workloads of the same ClusterQueue.
	preempts
	// reclaims: it preempts Workloads of other ClusterQueues only.
	reclaims
	// fitsNow: there is enough free quota.
	fitsNow
)

func (r rating) canPreempt() bool { return r.mode == preempts || r.mode == reclaims }

// isViable reports whether Kueue can use the flavor without waiting for others to end.
func (r rating) isViable() bool { return r.canPreempt() || r.mode == fitsNow }

// isBetter reports whether Kueue prefers a rating to another one.
func (a *assigner) isBetter(r, than rating) bool {
	switch {
	case r.mode == noFit || than.mode == noFit:
		return r.mode != noFit
	case r.isViable() != than.isViable() && !a.isOld:
		return r.isViable()
	case r.level == than.level:
		return r.mode > than.mode
	case r.mode == than.mode, a.queue.Queue.Spec.Fungibility.PrefersPreemption():
		return r.level < than.level
	}
	return r.mode > than.mode
}

// ends reports whether Kueue tries no other flavor after one with this rating.
func (r rating) ends(f *kueue.FlavorFungibility) bool {
	return r.isViable() && (r.mode == fitsNow || f.StopsAtPreemption()) && (r.level == 0 || f.StopsAtBorrowing())
}

// rate returns the rating of a flavor by its worst resource, as if the flavor suited.
func (a *assigner) rate(t *try) rating {
	worst := rating{mode: fitsNow}
	for _, r := range t.needs {
		fr := capacity.FlavorResource{Flavor: t.flavor, Resource: r.resource}
		one := rating{mode: noFit}
		switch {
		case r.requested <= r.free:
			one = rating{mode: fitsNow, level: a.queue.BorrowingLevel(fr, r.requested)}
		case r.requested <= r.most:
			one = a.preempts(fr, r.requested)
		}
		if a.isBetter(worst, one) {
			worst = one
		}
	}
	return worst
}

// ends reports whether Kueue tries no other flavor after this one. If it is unknown whether the flavor
// suits, and Kueue would preempt in it, the result is unknown too.
func (a *assigner) ends(t *try) bool {
	isPossible := t.verdict == inspect.Unknown && t.rating.canPreempt() || t.verdict == inspect.Fits || t.verdict == inspect.Waits
	return isPossible && t.rating.ends(&a.queue.Queue.Spec.Fungibility)
}

// better reports whether a flavor is preferable to an earlier one. One that may fit is preferred to one
// that must wait, unless Kueue prefers to preempt.
func (a *assigner) better(t, than *try) bool {
	isCertain := t.verdict != inspect.Unknown && than.verdict != inspect.Unknown
	switch {
	case t.verdict == inspect.Never || than.verdict == inspect.Never:
		return than.verdict == inspect.Never && t.verdict != inspect.Never
	case isCertain:
		return a.isBetter(t.rating, than.rating)
	case t.verdict == inspect.Unknown && than.verdict == inspect.Fits:
		return t.rating.canPreempt() && a.isBetter(t.rating, than.rating)
	case t.verdict == inspect.Fits:
		return !than.rating.canPreempt() || a.isBetter(t.rating, than.rating)
	}
	order := []inspect.Verdict{inspect.Unknown, inspect.Waits}
	return slices.Index(order, t.verdict) < slices.Index(order, than.verdict)
}
