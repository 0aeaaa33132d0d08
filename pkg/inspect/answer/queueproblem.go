package answer

import (
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// isAboutQueue reports whether a finding is about a queue that holds Jobs on workers.
func isAboutQueue(f *inspect.Finding) bool {
	return slices.Contains([]string{"JM026", "JM027", "JM028"}, f.Code)
}

// fitsNoQueue reports whether a Job fits nowhere, whatever the state of the queues: the placements
// have a reason that would remain.
func (q *Question) fitsNoQueue(a *Answer) bool {
	if a.State != inspect.StateBlocked || len(q.Trace.Placements) == 0 {
		return false
	}
	return !slices.ContainsFunc(q.Trace.Placements, func(p inspect.Placement) bool {
		return !p.Manager && p.Reason != inspect.OverLimit && p.Reason != inspect.NoSuchResource && p.Reason != inspect.FlavorMismatch
	})
}

// isRefuted reports whether the placements show that a finding is not the reason of an answer, or the
// answer has its object and its fix already.
func (q *Question) isRefuted(f *inspect.Finding, a *Answer) bool {
	if isAboutConnection(f) {
		return a.unusable != "" || a.isInQueue()
	}
	return isAboutQueue(f) && q.fitsNoQueue(a)
}

// isInQueue reports whether a Job waits until others release quota.
func (a *Answer) isInQueue() bool {
	return a.Reason == inspect.ReasonQuotaInUse || a.Reason == inspect.ReasonBehindInQueue
}
