package answer

import (
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

// IsOrphan reports whether a code is about a mirror that is no longer needed.
func IsOrphan(code string) bool {
	return slices.Contains([]string{"JM053", "JM057", "JM058", "JM059", "JM060", "JM061", "JM106"}, code)
}

// neverMirrored reports whether a code is about a Job that its worker has admitted, and whose mirror
// cannot be created there.
func neverMirrored(code string) bool { return code == "JM034" || code == mirrorRefused }

// mirrorRefused is the code of Jobs whose mirror the API server of a worker may have rejected.
const mirrorRefused = "JM035"

// neverRuns reports whether a finding is an error about a Job that waits, so that it holds its quota, or its
// place in a queue, until a person changes something. A controller may still solve a young error by itself.
func neverRuns(f *inspect.Finding) bool {
	return isAboutWait(f.Code) && f.Severity == inspect.Error && !isTooEarly(f)
}

// isAboutWait reports whether a code is about a Job that waits for quota or for a worker.
func isAboutWait(code string) bool {
	return slices.Contains([]string{
		neverQueued, "JM020", "JM021", "JM022", "JM023", "JM024", "JM025", "JM026", "JM027", "JM028", view.NeverAdmitted, "JM030", "JM031", "JM033", heldOtherwise,
	}, code)
}

// IsAboutOthers reports whether a code may be about what other Jobs wait for: a Job that holds quota for nothing
// or blocks a queue, a controller that is behind, or a worker that its manager cannot use.
func IsAboutOthers(code string) bool {
	return slices.Contains(view.ConnectionCodes(), code) || code == behind || IsOrphan(code) || neverMirrored(code) || code == podsMissing || isAboutWait(code)
}

// podsMissing is the code of Pods that do not start or cannot be created.
const podsMissing = "JM049"

// partlyUnusable is the code of an AdmissionCheck some of whose workers cannot be used.
const partlyUnusable = "JM011"

// workersUnread is the code of a Job that waits for workers that were not read.
const workersUnread = "JM135"

// IsAboutQuota reports whether a code is about quota. Placements have more
// details then.
func IsAboutQuota(code string) bool {
	return slices.Contains([]string{neverQueued, view.NeverAdmitted, view.BehindOthers}, code)
}

// neverQueued is the code of a Job that gets no quota on its management cluster.
const neverQueued = "JM019"

// heldOtherwise is the code of a Workload that waits for something else than its queue and quota.
const heldOtherwise = "JM116"

// isAdvised reports whether placements add to a finding: the reason, the fixes, or what the Job holds.
func isAdvised(f *inspect.Finding) bool {
	return showsCost(f.Code) || f.Code == behind || f.Code == podsMissing && strings.Contains(f.Message, withoutNode) || mayGetQuota(f)
}

// mayGetQuota reports whether a finding about one Job that waits for workers that were not read says that it also waits for
// quota, on a worker that was read.
func mayGetQuota(f *inspect.Finding) bool {
	return f.Code == workersUnread && len(f.Jobs) == 1 && len(f.Fixes) > 0 && strings.HasPrefix(f.Fixes[0].Text, untilReleased)
}

// untilReleased is the first fix of findings that a Job waits for quota, too, before it is known who holds that.
const untilReleased = "wait until other Workloads release quota"

// withoutNode is what findings about unschedulable Pods say.
const withoutNode = " finds no node for "

// isAboutRoom reports whether a code is about quotas, LimitRanges, or queues on workers.
func isAboutRoom(code string) bool {
	return IsAboutQuota(code) || code == heldOtherwise || isAboutQueue(code)
}

// showsCost reports whether a finding with a code shows what its Job holds, if no worker can run the Job.
func showsCost(code string) bool { return isAboutRoom(code) || neverMirrored(code) }

// HasQuotaFixes reports whether the fixes of a code depend on quotas: on the amounts, on LimitRanges, or on
// the ResourceFlavors that an inactive ClusterQueue lacks.
func HasQuotaFixes(code string) bool { return isAboutRoom(code) || code == "JM128" }

// The codes about an unknown owner, which have their own reasons.
const (
	unknownOwner  = "JM014"
	mistypedOwner = "JM102"
)

// mirrorGone is the code of a Job whose mirror certainly no longer exists.
const mirrorGone = "JM105"

// unattended is the code of a Job whose status no dispatcher copies.
const unattended = "JM201"

// rejectedLeftovers is the code of a Job that MultiKueue rejected, and whose copies remain on workers.
const rejectedLeftovers = "JM058"

// changedJob is the code of a Job that was changed in a way that Kueue cannot follow.
const changedJob = "JM125"

// labelRemoved is the code of a mirror that has lost the label by which MultiKueue knows it.
const labelRemoved = "JM136"

// limitPassed is the code of a limit that has passed, and on which no controller has acted.
const limitPassed = "JM140"

// clocksApart is the code of clocks that differ. A Job also starts with a wrong clock, and stays where it is after that is
// set, so it explains no state.
const clocksApart = "JM113"

// ignoredByOwner is the code of a Job that its owner has not picked up.
const ignoredByOwner = "JM101"

// addPassedLimit adds to the answer for a Job that has ended on which limit no controller has acted.
func (q *Question) addPassedLimit(a *Answer) {
	for i := range q.Trace.Findings {
		if f := &q.Trace.Findings[i]; f.Code == limitPassed && q.isAboutPair(f) {
			q.addAside(a, f)
		}
	}
}

// addAside reports whether a finding is not the reason of an answer, which names a better one. It adds what the finding
// says besides.
func (q *Question) addAside(a *Answer, f *inspect.Finding) bool {
	switch {
	case f.Code == unattended && !a.isExplainedBy(f):
		// The fixes continue the dispatch.
		a.Message = strings.TrimSpace(a.Message + " No dispatcher copies its status.")
	case f.Code == ignoredByOwner && q.isNeverDispatched():
		// The answer says why no cluster can take it.
	case f.Code == limitPassed && a.State.IsFinished():
		// How the Job ended says more. The fix is about what the controller does not do.
		_, fault, _ := strings.Cut(f.Message, ", but ")
		a.Message = strings.TrimSpace(a.Message + " " + sentence(fault))
	case f.Code == rejectedLeftovers && a.Reason == inspect.ReasonAdmissionCheck:
		// The rejection explains the Job, with its reason. The finding is about what remains.
		a.Message = strings.TrimSpace(a.Message + " Its copies remain on the workers.")
	default:
		return false
	}
	return true
}
