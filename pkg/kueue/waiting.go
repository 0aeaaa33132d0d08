package kueue

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/lru"
)

// Waiting reads why a Workload does not run, from its spec and the conditions and checks in
// its status. It is the only place that reads them for this.
//
// What ends a wait first decides: an end, then a deactivation or rejection, then the lack
// of quota, then checks. Of a Workload without quota, the condition QuotaReserved is newer
// than Evicted, so Evicted counts only if QuotaReserved says nothing of its own (kueue:
// pkg/controller/core/workload_controller.go, pkg/scheduler/scheduler.go).
func (w *Workload) Waiting() Wait {
	wait := w.waiting()
	if wait.Reason == ReasonBackoff {
		wait.Requeue = w.Status.Requeue
	}
	if len(wait.Checks) > 0 && wait.Reason != ReasonCheckRejected {
		wait.answer = w.Answer(wait.Checks[0]).String()
	}
	wait.Partial = slices.ContainsFunc(w.Spec.PodSets, func(p PodSet) bool { return p.MinCount != nil })
	wait.Lacks = w.withSelector(wait.Lacks)
	return wait
}

// withSelector adds the node selector to lacks of a Workload with one podset, since Kueue's message lacks it.
func (w *Workload) withSelector(lacks []Lack) []Lack {
	if len(w.Spec.PodSets) != 1 || !Lacking(lacks, ReasonFlavorLabels) {
		return lacks
	}
	lacks = slices.Clone(lacks)
	for i := range lacks {
		if lacks[i].Reason == ReasonFlavorLabels {
			lacks[i].NodeSelector = w.Spec.PodSets[0].Template.Spec.NodeSelector
		}
	}
	return lacks
}

func (w *Workload) waiting() Wait {
	if wait, ok := w.besidesQuota(); ok {
		return wait
	}
	return w.forQuota()
}

// besidesQuota reads what decides instead of QuotaReserved=False; ok is false if nothing does.
func (w *Workload) besidesQuota() (wait Wait, ok bool) {
	if w.Is(Finished) {
		return waitBy(ReasonFinished, w.Condition(Finished)), true
	}
	rejected := w.checksIn(CheckRejected)
	switch target := w.Condition(DeactivationTarget); {
	case len(rejected) > 0:
		wait := waitBy(ReasonCheckRejected, w.Condition(Evicted))
		wait.Message, wait.Checks, wait.Since = rejected[0].Message, rejected, rejected[0].LastTransitionTime.Time
		return wait, true
	case target != nil && target.Status == metav1.ConditionTrue:
		return waitBy(deactivationBy(target.Reason), target), true
	case !w.IsActive():
		return w.deactivated(), true
	case !w.Is(QuotaReserved):
		return w.withoutQuota()
	case w.Is(Evicted):
		// It holds quota until its Pods are gone.
		return w.evicted(), true
	}
	return w.withQuota(), true
}

// DeactivationTarget is the condition by which Kueue announces that it sets spec.active to
// false, with the cause as its reason. Kueue removes it then, except from a Workload that
// had been evicted before (kueue: workload_controller.go).
const DeactivationTarget = "DeactivationTarget"

// deactivationBy returns the reason for a cause in DeactivationTarget, or
// after DeactivatedDueTo.
func deactivationBy(cause string) WaitReason {
	switch cause {
	case "":
		return ReasonDeactivated
	case "AdmissionCheck":
		return ReasonCheckRejected
	case string(ReasonTimedOut), string(ReasonRequeueLimit), string(ReasonEvictedOnManager):
		return WaitReason(cause)
	}
	return ReasonDeactivatedByKueue
}

// deactivated reads why spec.active is false. The condition names the cause
// unless a person deactivated the Workload.
func (w *Workload) deactivated() Wait {
	const prefix, byKueue = "Deactivated", "DeactivatedDueTo"
	for _, conditionType := range []string{Evicted, Requeued, QuotaReserved} {
		c := w.Condition(conditionType)
		if c == nil || !strings.HasPrefix(c.Reason, prefix) {
			continue
		}
		wait := waitBy(deactivationBy(strings.TrimPrefix(strings.TrimPrefix(c.Reason, byKueue), prefix)), c)
		if wait.Reason == ReasonCheckRejected {
			wait.Checks = slices.DeleteFunc(w.checksIn(CheckPending), func(s CheckState) bool { return !strings.HasSuffix(s.Message, "Previously: "+CheckRejected) })
		}
		return wait
	}
	// Kueue has not reacted yet.
	return Wait{Reason: ReasonDeactivated}
}

// evicted reads why a Workload lost its quota, or is about to.
func (w *Workload) evicted() Wait {
	c := w.Condition(Evicted)
	wait := waitBy(ReasonEvicted, c)
	switch c.Reason {
	case preempted:
		wait.Reason = ReasonPreempted
	case "ClusterQueueStopped":
		wait.Reason = ReasonClusterQueueInactive
	case "LocalQueueStopped":
		wait.Reason = ReasonLocalQueueStopped
	case PodsReadyTimeout:
		wait.Reason, wait.unready = ReasonBackoff, true
	case "AdmissionCheck":
		wait.Reason, wait.Checks = ReasonCheckRetry, w.checksIn(CheckRetry)
		if len(wait.Checks) == 0 {
			wait.Reason = ReasonBackoff
		}
	}
	return wait
}

// preempted is the reason of Evicted if another Workload took the quota.
const preempted = "Preempted"

// withoutQuota reads an eviction or a closed gate that decides why a Workload has no quota; ok is false if
// QuotaReserved does.
func (w *Workload) withoutQuota() (wait Wait, ok bool) {
	gate := w.Condition(BlockedOnPreemptionGates)
	isGated := gate != nil && gate.Status == metav1.ConditionTrue
	if w.Condition(QuotaReserved) == nil || !w.Is(Evicted) && !isGated {
		return wait, false
	}
	wait = w.forQuota()
	switch wait.Reason {
	case ReasonNotEvaluated, ReasonUnknown:
		if !w.Is(Evicted) {
			break
		}
		if !w.Is(Requeued) || w.Condition(Evicted).Reason == preempted {
			return w.evicted(), true
		}
		// The cause of the eviction has ended: the Workload is in the queue
		// again.
		wait.Reason = ReasonNotEvaluated
	case ReasonAdmissionGated:
		// The gate may be MultiKueue's.
	default:
		return wait, false
	}
	if isGated {
		return waitBy(ReasonPreemptionGated, gate), true
	}
	return wait, true
}

// forQuota reads why a Workload has no quota from QuotaReserved=False.
func (w *Workload) forQuota() Wait {
	quota := w.Condition(QuotaReserved)
	if quota == nil {
		return Wait{Reason: ReasonNotEvaluated, Since: w.CreationTimestamp.Time}
	}
	wait := quotaWait(quota.Reason, quota.Message)
	wait.Since, wait.Condition = quota.LastTransitionTime.Time, quota
	return wait
}

// withQuota reads why a Workload with quota is not admitted.
func (w *Workload) withQuota() Wait {
	if w.Is(Admitted) {
		return waitBy(ReasonAdmitted, w.Condition(Admitted))
	}
	for _, state := range []struct {
		state  string
		reason WaitReason
	}{{CheckRetry, ReasonCheckRetry}, {CheckPending, ReasonCheckPending}} {
		if checks := w.checksIn(state.state); len(checks) > 0 {
			wait := waitBy(state.reason, w.Condition(Admitted))
			wait.Checks, wait.Message, wait.Since = checks, checks[0].Message, checks[0].LastTransitionTime.Time
			return wait
		}
	}
	if c := w.Condition(Admitted); c != nil && c.Reason == DelayedTopology {
		return waitBy(ReasonTopologyPending, c)
	}
	return waitBy(ReasonNotEvaluated, w.Condition(QuotaReserved))
}

// checksIn returns the AdmissionChecks of a Workload in a state.
func (w *Workload) checksIn(state string) []CheckState {
	var found []CheckState
	for _, c := range w.Status.AdmissionChecks {
		if c.State == state {
			found = append(found, c)
		}
	}
	return found
}

// waitBy returns a wait that a condition shows, which may be nil.
func waitBy(reason WaitReason, c *metav1.Condition) Wait {
	if c == nil {
		return Wait{Reason: reason}
	}
	return Wait{Reason: reason, Since: c.LastTransitionTime.Time, Message: c.Message, Condition: c}
}

// Waiting reads why a claim has no quota, as Workload.Waiting does. A claim with quota is Admitted: what else
// it waits for is not kept.
func (c *Claim) Waiting() Wait {
	switch {
	case c.ClusterQueue != "":
		return Wait{Reason: ReasonAdmitted, Since: c.Since}
	case c.BesidesQuota != nil:
		return *c.BesidesQuota
	case c.Reason == "" && c.Message == "":
		return Wait{Reason: ReasonNotEvaluated, Since: c.CreatedAt}
	}
	return quotaWait(c.Reason, c.Message)
}

// SharesQueue reports whether a claim is of a LocalQueue.
func (c *Claim) SharesQueue(namespace, localQueue string) bool {
	return c.Namespace == namespace && c.LocalQueue == localQueue
}

// IsQueuedIn reports whether Kueue keeps a claim without quota in the queue
// of the ClusterQueue that its LocalQueue names.
func (c *Claim) IsQueuedIn(q *LocalQueue) bool { return q.keeps(c.Waiting().Reason) }

// IsQueuedIn is Claim.IsQueuedIn for an active, unfinished Workload without quota.
func (w *Workload) IsQueuedIn(q *LocalQueue) bool { return q.keeps(w.Waiting().Reason) }

// keeps reports whether Kueue keeps what waits for a reason in the queue of a LocalQueue (kueue:
// pkg/cache/queue/manager.go; pkg/workload, IsAdmissible).
func (q *LocalQueue) keeps(reason WaitReason) bool {
	return !IsStopped(q.Spec.StopPolicy) && reason != ReasonAdmissionGated && reason != ReasonOnHold
}

// quotaWaits are the latest results of readQuotaWait, by quotaWords: where thousands of Workloads wait, few
// have a message of their own, and each is read several times.
//
//nolint:gochecknoglobals // It is a cache with its own lock.
var quotaWaits = lru.New(1 << 10)

// quotaWords are the reason and message of a condition QuotaReserved.
type quotaWords struct{ reason, message string }

// quotaWait reads the reason and message of QuotaReserved=False. Callers must not change the slices of the
// result, which others share.
func quotaWait(reason, message string) Wait {
	words := quotaWords{reason, message}
	if known, ok := quotaWaits.Get(words); ok {
		if wait, ok := known.(Wait); ok {
			return wait
		}
	}
	wait := readQuotaWait(reason, message)
	quotaWaits.Add(words, wait)
	return wait
}

// readQuotaWait reads the reason and message of QuotaReserved=False. Since 0.19 the reason
// decides, and the message gives the amounts. Otherwise the message decides.
func readQuotaWait(reason, message string) Wait {
	wait := Wait{Reason: ReasonUnknown, Message: message, Lacks: Lacks(message)}
	queueReason, queue := queueFault(message)
	wait.Queue = queue
	switch reason {
	case WaitingForQuota:
		wait.Reason = ReasonQuotaInUse
	case ExceedsMaxQuota:
		wait.Reason = ReasonOverLimit
	case TopologyFailed:
		wait.Reason = ReasonNoTopologyDomain
	case NoMatchingFlavor:
		wait.Reason = reasonOfLacks(message, flavorReasons())
		if wait.Reason == "" {
			wait.Reason = ReasonNoMatchingFlavor
		}
	case PreemptedFirst:
		wait.Reason = ReasonPreempting
	case PodsReadyFirst:
		wait.Reason = ReasonPodsNotReady
	case AdmissionGated:
		wait.Reason = ReasonAdmissionGated
	case OnHold:
		wait.Reason = ReasonOnHold
	case PendingEvaluation:
		wait.Reason = ReasonNotEvaluated
	case UnresolvedDevices:
		wait.Reason = ReasonDevicesUnresolved
	case deactivatedReason:
		wait.Reason = ReasonDeactivated
	default:
		wait.Reason = reasonOfMessage(reason, message, queueReason)
	}
	return wait
}

// deactivatedReason is the reason of QuotaReserved=False once spec.active is false.
const deactivatedReason = "Deactivated"

// reasonOfMessage reads a message whose reason does not decide: messages
// about queues, and all messages of Kueue before 0.19.
func reasonOfMessage(reason, message string, queueReason WaitReason) WaitReason {
	if queueReason != "" {
		return queueReason
	}
	for _, p := range phrases() {
		if strings.Contains(message, p.part) {
			return p.reason
		}
	}
	if found := reasonOfLacks(message, severities()); found != "" {
		return found
	}
	switch reason {
	case QueueSuspended:
		return ReasonClusterQueueInactive
	case Misconfigured:
		return ReasonMisconfigured
	case Inadmissible:
		return ReasonInadmissible
	}
	return ReasonUnknown
}
