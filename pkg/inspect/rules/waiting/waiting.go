// Package waiting has the rules about Jobs that wait for a worker.
package waiting

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Rules returns JM019 to JM033, JM115, JM116 and JM135.
func Rules() []view.Rule {
	return []view.Rule{
		heldOnManager(), otherCheckPending(), noNominations(), admissionNotRecorded(), nominatedUnreachable(),
		namespaceMissing(), copyRefused(), localQueueMissing(), clusterQueueUnusable(), namespaceExcluded(),
		noQuotaOnWorkers(), workersCheckPending(), kueueDownOnWorker(), nominatedInPart(), preemptionGated(),
		waitsBehind(), waitsOtherwise(), workersUnread(),
	}
}

func noQuotaOnWorkers() view.Rule {
	return view.Rule{
		Code: view.NeverAdmitted, Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets,
			inspect.PartQueues, inspect.PartEvents,
		},
		Covers: []string{view.BehindOthers, "JM133", "JM134"},
		Detect: detectNoQuota,
	}
}

// detectNoQuota reports a submission if every worker that it can be offered to has refused it for
// quota. If the MultiKueueConfig could not be read, the workers that it was offered to must suffice.
func detectNoQuota(v *view.View) {
	all := reservations{}
	waiters := waiters(v)
	for i := range waiters {
		w := &waiters[i]
		isUnread := !v.CanRead(w.Manager, inspect.PartChecks, inspect.PartConfigs)
		if isOffered := w.wasOfferedToAll(v) || isUnread && w.wasOfferedToNominated(); !isOffered {
			// Other workers may have free quota: JM032.
			continue
		}
		j := w.Job()
		held := quotaWaits(v, w)
		if held == nil || len(v.Missed(w.Submission)) > 0 {
			// The finding about the connection to a missed worker explains the Job.
			continue
		}
		s := view.Sighting{Object: view.Of(j), Since: w.since, Jobs: []*inspect.Job{j}}
		// One worker that may have quota later is enough.
		soonest := slices.MinFunc(held, func(a, b heldCopy) int { return cmp.Compare(a.permanence(), b.permanence()) })
		best := &soonest.wait
		if best.Reason == kueue.ReasonQuotaInUse {
			describeQuotaWaitOnWorkers(v, &s, w, held, all)
		} else {
			addQuota(v, &s, held)
			s.Severity, s.Message = cannotTake(held, &soonest, isUnread)
		}
		if isUnread {
			if s.Severity == inspect.Error {
				s.Severity = inspect.Warning
			}
			s.Evidence = append(s.Evidence, fmt.Sprintf("%s: AdmissionChecks or MultiKueueConfigs could not be read: there may be other workers", w.Manager.Context))
		}
		v.Report(s)
	}
}

// quotaWaits returns the copies of a submission with the reasons for which each waits for
// quota, nil if one of them does not.
func quotaWaits(v *view.View, w *waiter) []heldCopy {
	var held []heldCopy
	for _, o := range w.offers {
		if o.Workload == nil {
			return nil
		}
		wait, ok := tooLarge(v, w, o)
		if !ok {
			wait, ok = view.HoldOf(o.Workload)
		}
		if !ok || !wait.IsForQuota() {
			if o.Workload, wait, ok = equalHold(v, o); !ok {
				return nil
			}
		}
		if wait.Reason == kueue.ReasonPreempting {
			return nil
		}
		held = append(held, heldCopy{o, wait, advice.FixTargetOf(v, o.Worker, o.Workload, &wait, "").ClusterQueue})
	}
	return held
}

// tooLarge returns the wait of a copy in a queue that is stopped or inactive, or excludes its namespace, and
// whose quota is too small: to open the queue does not help.
func tooLarge(v *view.View, w *waiter, o view.Copy) (kueue.Wait, bool) {
	wait, held := view.HoldOf(o.Workload)
	closed := []kueue.WaitReason{kueue.ReasonClusterQueueInactive, kueue.ReasonLocalQueueStopped, kueue.ReasonNamespaceExcluded}
	if !held || !slices.Contains(closed, wait.Reason) {
		return wait, false
	}
	lack := v.IsTooLarge(w.Submission, o.Cluster)
	if lack == nil {
		return wait, false
	}
	wait.Reason, wait.Lacks, wait.Queue = kueue.ReasonOverLimit, []kueue.Lack{*lack}, ""
	return wait, true
}

// equalHold returns an equal Workload that never fits, with its wait: Kueue does not evaluate a
// copy with the same requests (docs/reference/scheduling.md#order).
func equalHold(v *view.View, o view.Copy) (*kueue.Workload, kueue.Wait, bool) {
	b, _ := blockerOf(v, o)
	if b == nil || b.IsHead {
		return nil, kueue.Wait{}, false
	}
	wait, ok := view.HoldOf(b.Workload)
	queue := advice.FixTargetOf(v, o.Worker, b.Workload, &wait, "").ClusterQueue
	return b.Workload, wait, ok && wait.IsPermanentIn(queue)
}

// permanence returns 0 for a wait that can pass, 2 for one that ends only
// by a change, otherwise 1.
func (h *heldCopy) permanence() int {
	switch {
	case h.wait.IsTransient():
		return 0
	case h.wait.IsPermanentIn(h.queue):
		return 2
	}
	return 1
}

// cannotTake describes why no worker takes a submission, given the wait that ends soonest. isUnread is
// whether there may be workers that it was not offered to.
func cannotTake(held []heldCopy, soonest *heldCopy, isUnread bool) (inspect.Severity, string) {
	best, which := &soonest.wait, ""
	if isUnread {
		which = " that it was offered to"
	}
	severity, text := inspect.Error, "fits on no worker"+which
	if !best.IsPermanentIn(soonest.queue) {
		severity, text = inspect.Warning, "no worker"+which+" admits it now"
	}
	isForFlavor := !slices.ContainsFunc(held, func(h heldCopy) bool { return !h.wait.IsForFlavor() })
	switch {
	case isForFlavor:
		text = "no flavor on the workers" + which + " fits its Pods"
	case best.Reason == kueue.ReasonNoTopologyDomain:
		text = "no topology domain on the workers" + which + " fits its Pods"
	}
	if why := lackTexts(lacksOn(held)); why != "" {
		return severity, text + ": " + why
	}
	if best.Reason == kueue.ReasonOverLimit {
		text = "needs more than the limit of every worker" + which
	}
	return severity, text
}

// addQuota adds how the copies of a submission wait for quota, and the
// remedy.
func addQuota(v *view.View, s *view.Sighting, held []heldCopy) {
	waits := make([]kueue.ClusterWait, len(held))
	for i := range held {
		h := &held[i]
		s.Evidence = append(s.Evidence, quote.WorkloadCondition(h.Worker, h.Workload, h.wait.Condition))
		target := s.Jobs[0].FixTarget(advice.FixTargetOf(v, h.Worker, h.Workload, &h.wait, ""))
		waits[i] = kueue.ClusterWait{Wait: h.wait, Target: target}
	}
	s.Remedy = command.Alternatives(kueue.Fixes(waits))
}
