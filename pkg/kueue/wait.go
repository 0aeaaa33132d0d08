package kueue

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WaitReason is why a Workload does not run, or that it does not wait. Each
// value has one meaning, whichever version of Kueue wrote the Workload.
type WaitReason string

// Reasons of Workloads that wait for nothing.
const (
	// ReasonAdmitted means that Kueue has admitted the Workload.
	ReasonAdmitted WaitReason = "Admitted"
	// ReasonFinished means that the Workload has finished.
	ReasonFinished WaitReason = "Finished"
)

// Reasons that can pass without intervention: other Workloads end, or a
// controller continues.
const (
	// ReasonNotEvaluated means that the scheduler has not judged the Workload yet.
	ReasonNotEvaluated WaitReason = "NotEvaluated"
	// ReasonQuotaInUse means that other Workloads use the quota.
	ReasonQuotaInUse WaitReason = "QuotaInUse"
	// ReasonPreempting means that Kueue is evicting others to free quota.
	ReasonPreempting WaitReason = "PreemptingOthers"
	// ReasonPodsNotReady means that Pods of admitted Workloads are not ready
	// (waitForPodsReady.blockAdmission).
	ReasonPodsNotReady WaitReason = "OtherPodsNotReady"
	// ReasonAdmissionGated means that the annotation admission-gated-by holds the Workload.
	ReasonAdmissionGated WaitReason = "AdmissionGated"
	// ReasonPreemptionGated means that MultiKueue does not let the Workload preempt others
	// yet (KEP-8303).
	ReasonPreemptionGated WaitReason = "PreemptionGated"
	// ReasonBackoff means that Kueue queues the evicted Workload again after a delay.
	ReasonBackoff WaitReason = "Backoff"
	// ReasonPreempted means that another Workload took the quota.
	ReasonPreempted WaitReason = "Preempted"
	// ReasonEvicted means that Kueue evicted the Workload for another reason.
	ReasonEvicted WaitReason = "Evicted"
	// ReasonCheckPending means that AdmissionChecks have not answered.
	ReasonCheckPending WaitReason = "AdmissionCheckPending"
	// ReasonCheckRetry means that an AdmissionCheck requests a later attempt.
	ReasonCheckRetry WaitReason = "AdmissionCheckRetry"
	// ReasonEvictedOnManager means that MultiKueue withdraws the Workload from a worker. It deletes this
	// copy when its Pods are gone, and may then create another one.
	ReasonEvictedOnManager WaitReason = "EvictedOnManagerCluster"
	// ReasonTopologyPending means that quota is reserved and domains are not assigned yet.
	ReasonTopologyPending WaitReason = "TopologyPending"
)

// ReasonNoTopologyDomain means that no topology domain has enough nodes. It
// ends when nodes change, by an autoscaler or a person.
const ReasonNoTopologyDomain WaitReason = "NoTopologyDomain"

// Reasons that end only if a user changes the Job, the quota, a queue or a
// flavor.
const (
	// ReasonOverLimit means that the Workload requests more than its ClusterQueue can ever give.
	ReasonOverLimit WaitReason = "OverLimit"
	// ReasonTaint means that the Pods do not tolerate a taint of a flavor.
	ReasonTaint WaitReason = "UntoleratedTaint"
	// ReasonFlavorLabels means that the labels of a flavor do not match the node selector or affinity of the Pods.
	ReasonFlavorLabels WaitReason = "FlavorLabelMismatch"
	// ReasonResourceNotCovered means that no flavor of the ClusterQueue has a requested resource.
	ReasonResourceNotCovered WaitReason = "ResourceNotCovered"
	// ReasonFlavorMissing means that a flavor of the ClusterQueue does not exist.
	ReasonFlavorMissing WaitReason = "FlavorMissing"
	// ReasonNoTopology means that the Pods request a topology and the flavor has none.
	ReasonNoTopology WaitReason = "FlavorWithoutTopology"
	// ReasonNoTopologyLevel means that the flavor's topology lacks the requested level.
	ReasonNoTopologyLevel WaitReason = "TopologyLevelMissing"
	// ReasonTopologyRequired means that the flavor takes only Pods that request a topology.
	ReasonTopologyRequired WaitReason = "TopologyRequestMissing"
	// ReasonNoMatchingFlavor means that Kueue rejects all flavors and names no known cause.
	ReasonNoMatchingFlavor WaitReason = "NoMatchingFlavor"
	// ReasonLocalQueueMissing means that the LocalQueue does not exist.
	ReasonLocalQueueMissing WaitReason = "LocalQueueMissing"
	// ReasonLocalQueueStopped means that the LocalQueue is stopped.
	ReasonLocalQueueStopped WaitReason = "LocalQueueStopped"
	// ReasonClusterQueueMissing means that the ClusterQueue does not exist.
	ReasonClusterQueueMissing WaitReason = "ClusterQueueMissing"
	// ReasonClusterQueueInactive means that the ClusterQueue is stopped, or lacks a flavor,
	// an AdmissionCheck or a topology.
	ReasonClusterQueueInactive WaitReason = "ClusterQueueInactive"
	// ReasonNamespaceExcluded means that the ClusterQueue does not select the namespace.
	ReasonNamespaceExcluded WaitReason = "NamespaceExcluded"
	// ReasonMisconfigured means that the Pods' resources are invalid or break a LimitRange.
	ReasonMisconfigured WaitReason = "Misconfigured"
	// ReasonDevicesUnresolved means that Kueue cannot count the devices of ResourceClaims.
	ReasonDevicesUnresolved WaitReason = "DevicesUnresolved"
	// ReasonOnHold means that the Job's own controller does not want it to run.
	ReasonOnHold WaitReason = "OnHold"
	// ReasonCheckRejected means that an AdmissionCheck has rejected the Workload.
	ReasonCheckRejected WaitReason = "AdmissionCheckRejected"
	// ReasonDeactivated means that a person set spec.active to false.
	ReasonDeactivated WaitReason = "Deactivated"
	// ReasonTimedOut means that the Workload ran for its maximum execution time.
	ReasonTimedOut WaitReason = "MaximumExecutionTimeExceeded"
	// ReasonRequeueLimit means that the Pods were not ready in time too often.
	ReasonRequeueLimit WaitReason = "RequeuingLimitExceeded"
	// ReasonDeactivatedByKueue means that Kueue deactivated the Workload for another cause.
	ReasonDeactivatedByKueue WaitReason = "DeactivatedByKueue"
)

// Reasons that only the message explains.
const (
	// ReasonInadmissible means that Kueue calls the Workload inadmissible, with
	// an unknown message.
	ReasonInadmissible WaitReason = "Inadmissible"
	// ReasonUnknown means that what Kueue reports has no known meaning.
	ReasonUnknown WaitReason = "Unknown"
)

// transientReasons returns the reasons that can pass without intervention.
func transientReasons() []WaitReason {
	return []WaitReason{
		ReasonNotEvaluated, ReasonQuotaInUse, ReasonPreempting, ReasonPodsNotReady, ReasonAdmissionGated, ReasonPreemptionGated,
		ReasonBackoff, ReasonPreempted, ReasonEvicted, ReasonCheckPending, ReasonCheckRetry, ReasonTopologyPending,
		ReasonEvictedOnManager,
	}
}

// flavorReasons returns the reasons why a flavor does not suit the Pods,
// whatever its quota. If several apply, the first is the easiest to fix.
func flavorReasons() []WaitReason {
	return []WaitReason{
		ReasonTaint, ReasonFlavorLabels, ReasonTopologyRequired, ReasonNoTopology, ReasonNoTopologyLevel, ReasonFlavorMissing,
		ReasonResourceNotCovered,
	}
}

// deactivations returns the reasons of Workloads whose spec.active is false, or about to be.
func deactivations() []WaitReason {
	return []WaitReason{ReasonDeactivated, ReasonTimedOut, ReasonRequeueLimit, ReasonEvictedOnManager, ReasonDeactivatedByKueue}
}

// permanentReasons returns the reasons that end only if a user changes something.
func permanentReasons() []WaitReason {
	return slices.Concat(flavorReasons(), []WaitReason{
		ReasonDeactivated, ReasonTimedOut, ReasonRequeueLimit, ReasonDeactivatedByKueue,
		ReasonOverLimit, ReasonNoMatchingFlavor, ReasonLocalQueueMissing, ReasonLocalQueueStopped, ReasonClusterQueueMissing,
		ReasonClusterQueueInactive, ReasonNamespaceExcluded, ReasonMisconfigured, ReasonDevicesUnresolved, ReasonOnHold, ReasonCheckRejected,
	})
}

// WaitReasons returns all reasons.
func WaitReasons() []WaitReason {
	return slices.Concat([]WaitReason{ReasonAdmitted, ReasonFinished}, transientReasons(), []WaitReason{ReasonNoTopologyDomain}, permanentReasons(),
		[]WaitReason{ReasonInadmissible, ReasonUnknown})
}

// Wait is why a Workload does not run on its cluster.
type Wait struct {
	Reason WaitReason `json:"reason"`
	// Since is when the reason began: the last transition of Condition, or the
	// creation of a Workload without conditions. It is zero if unknown.
	Since time.Time `json:"since"`
	// Message is Kueue's own text, "" if it wrote none.
	Message string `json:"message"`
	// Lacks are what flavors and queues lack for the Workload, as far as the message says.
	Lacks []Lack `json:"lacks"`
	// Queue is the name of the LocalQueue or ClusterQueue in the message, "" without one.
	Queue string `json:"queue"`
	// Checks are the AdmissionChecks that are not ready, for the reasons about them.
	Checks []CheckState `json:"checks"`
	// answer is what the first of Checks last said, for ReasonCheckPending and ReasonCheckRetry.
	answer string
	// Condition is what Reason was read from, nil if Kueue wrote no condition.
	Condition *metav1.Condition `json:"-"`
	// Partial is true if the Workload may start with fewer Pods. Kueue's message is about
	// all Pods, so an amount in it does not prove that the Workload never fits.
	Partial bool `json:"partial"`
	// unready is whether Kueue evicted the Workload because its Pods were not ready in time, for ReasonBackoff.
	unready bool
	// Requeue is when Kueue queues the Workload again, for ReasonBackoff; nil if that is unknown.
	Requeue *RequeueState `json:"-"`
}

// RequeueState is when Kueue queues an evicted Workload again.
type RequeueState struct {
	// Count is how often its Pods were not ready in time.
	Count *int32 `json:"count,omitempty"`
	// At is the end of the backoff.
	At *metav1.Time `json:"requeueAt,omitempty"`
}

// IsWaiting reports whether the Workload waits for something.
func (w *Wait) IsWaiting() bool { return w.Reason != ReasonAdmitted && w.Reason != ReasonFinished }

// IsTransient reports whether the wait can end without intervention.
func (w *Wait) IsTransient() bool { return slices.Contains(transientReasons(), w.Reason) }

// IsPermanent reports whether the wait ends only if a user changes the Job, the
// quota, a queue or a flavor. It is false if that is uncertain.
func (w *Wait) IsPermanent() bool {
	if w.IsForQuota() && !w.IsForFlavor() && (w.Partial || slices.ContainsFunc(w.Lacks, func(l Lack) bool { return l.mayFitAlone() })) {
		return false
	}
	return slices.Contains(permanentReasons(), w.Reason)
}

// IsPermanentIn does the same for a known ClusterQueue; nil if unknown. If the
// ClusterQueue has a single flavor for a resource, all podsets share its
// quota.
func (w *Wait) IsPermanentIn(q *ClusterQueue) bool {
	return w.IsPermanent() || w.Reason == ReasonOverLimit && !w.Partial && q != nil &&
		!slices.ContainsFunc(w.Lacks, func(l Lack) bool { return l.mayFitAlone() && !q.hasOneFlavor(l.Resource) })
}

// Blocks reports whether a Workload without quota blocks those behind it in a StrictFIFO queue: Kueue has it
// there, and retries it until it starts. That includes a Workload that violates a LimitRange, and a preempted
// one. Kueue keeps others out of the queue, such as those in a backoff, or passes them, such as those whose
// namespace the ClusterQueue excludes (kueue: pkg/cache/queue/cluster_queue.go, RequeueIfNotPresent and
// backoffWaitingTimeExpired; docs/reference/scheduling.md#order).
func (w *Wait) Blocks() bool {
	switch w.Reason {
	case ReasonNotEvaluated, ReasonPreempted, ReasonPreemptionGated:
		return true
	case ReasonMisconfigured:
		// Without a message, its queue may be at fault.
		return w.Message != ""
	default:
		return w.IsForQuota()
	}
}

// IsForQuota reports whether no flavor of the ClusterQueue takes the
// Workload, now or ever. It is false for a Workload with a faulty queue or its own hold.
func (w *Wait) IsForQuota() bool {
	switch w.Reason {
	case ReasonQuotaInUse, ReasonPreempting, ReasonOverLimit, ReasonNoTopologyDomain:
		return true
	case ReasonUnknown:
		return strings.Contains(w.Message, podSetPrefix)
	default:
		return w.IsForFlavor()
	}
}

// IsForFlavor reports whether the Pods suit no flavor, whatever its quota.
func (w *Wait) IsForFlavor() bool {
	return w.Reason == ReasonNoMatchingFlavor || slices.Contains(flavorReasons(), w.Reason)
}

// IsForQueue reports whether a queue is missing, stopped, or closed to the
// namespace.
func (w *Wait) IsForQueue() bool {
	switch w.Reason {
	case ReasonLocalQueueMissing, ReasonLocalQueueStopped, ReasonClusterQueueMissing, ReasonClusterQueueInactive, ReasonNamespaceExcluded:
		return true
	default:
		return false
	}
}

// isForCheck reports whether an AdmissionCheck is pending, or has rejected
// the Workload.
func (w *Wait) isForCheck() bool {
	return w.Reason == ReasonCheckPending || w.Reason == ReasonCheckRetry || w.Reason == ReasonCheckRejected
}

// IsDeactivation reports whether spec.active is false, or about to be.
func (w *Wait) IsDeactivation() bool { return slices.Contains(deactivations(), w.Reason) }

// IsEviction reports whether Kueue took the quota back, and may give it again without intervention.
func (w *Wait) IsEviction() bool {
	return w.Reason == ReasonBackoff || w.Reason == ReasonPreempted || w.Reason == ReasonEvicted
}

// Has reports whether one of the lacks has one of the reasons.
func (w *Wait) Has(reasons ...WaitReason) bool { return Lacking(w.Lacks, reasons...) }

// Text describes the wait in words that follow the name of the Job, "" if it
// waits for nothing. It quotes Kueue's message only if that adds facts.
func (w *Wait) Text() string {
	if len(w.Lacks) > 0 && w.IsForQuota() {
		messages := make([]string, len(w.Lacks))
		for i := range w.Lacks {
			messages[i] = w.Lacks[i].Message()
		}
		return strings.Join(messages, "; ")
	}
	text := reasonTexts()[w.Reason]
	switch {
	case w.IsForQueue() && w.Queue != "":
		return fmt.Sprintf(queueTexts()[w.Reason], w.Queue)
	case w.isForCheck():
		return w.checkText(text)
	case w.IsUnready():
		return "evicted because its Pods were not ready in time; " + w.EndText()
	case w.HasKnownEnd():
		return w.EndText()
	case w.Message != "" && !strings.HasPrefix(w.Message, bypassPrefix) && slices.Contains(quotedReasons(), w.Reason):
		return w.quote(text)
	}
	return text
}

// HasKnownEnd reports whether it is known when Kueue queues the Workload again. Text says when.
func (w *Wait) HasKnownEnd() bool { return w.Requeue != nil && w.Requeue.At != nil }

// IsUnready reports whether Kueue queues the Workload again after it evicted it because its Pods were not ready in time.
func (w *Wait) IsUnready() bool { return w.unready }

// EndText describes when Kueue queues the Workload again, without the cause of its eviction.
func (w *Wait) EndText() string {
	if !w.HasKnownEnd() {
		return reasonTexts()[ReasonBackoff]
	}
	text := fmt.Sprintf("waits until %s, when Kueue queues it again", w.Requeue.At.UTC().Format("2006-01-02 15:04:05Z"))
	if n := w.Requeue.Count; n != nil {
		text += fmt.Sprintf(" (eviction %d)", *n)
	}
	return text
}

// quote adds Kueue's message to the text of a reason.
func (w *Wait) quote(text string) string {
	if gate := gateClause(w.Message); gate != "" && w.Reason == ReasonAdmissionGated {
		return gate
	}
	clause := messageClause(w.Reason, w.Message)
	if clause == "" {
		return text
	}
	return strings.TrimPrefix(text+": "+clause, ": ")
}

// bypassPrefix is the beginning of a message that says only that an equal
// Workload waits for the same reason (kueue: workload_controller.go;
// docs/reference/scheduling.md#messages).
const bypassPrefix = "Bypassed scheduling evaluation"

// quotedReasons returns the reasons for which the text quotes Kueue's message, unless lacks were
// read from it.
func quotedReasons() []WaitReason {
	return []WaitReason{
		ReasonAdmissionGated, ReasonMisconfigured, ReasonDevicesUnresolved, ReasonOnHold, ReasonDeactivatedByKueue, ReasonInadmissible,
		ReasonUnknown, ReasonEvicted, ReasonQuotaInUse, ReasonOverLimit, ReasonNoMatchingFlavor, ReasonNoTopologyDomain,
	}
}

// reasonTexts returns a description of each reason that needs no further facts.
func reasonTexts() map[WaitReason]string {
	return map[WaitReason]string{
		ReasonNotEvaluated: "Kueue has not evaluated it yet", ReasonQuotaInUse: "waits for quota that others use",
		ReasonPreempting: "waits until Kueue has preempted others", ReasonPodsNotReady: "waits until the Pods of admitted Workloads are ready",
		ReasonAdmissionGated: "admission is gated", ReasonPreemptionGated: "waits for permission to preempt others",
		ReasonBackoff: "waits until Kueue queues it again", ReasonPreempted: "preempted by another Workload", ReasonEvicted: "evicted",
		ReasonCheckPending: unanswered, ReasonCheckRetry: retries, ReasonCheckRejected: rejects,
		ReasonTopologyPending: "waits for its topology assignment", ReasonNoTopologyDomain: "no topology domain fits its Pods",
		ReasonOverLimit: "needs more than the limit", ReasonNoMatchingFlavor: "no flavor matches its Pods",
		ReasonLocalQueueMissing: "its LocalQueue does not exist", ReasonLocalQueueStopped: "its LocalQueue is stopped",
		ReasonClusterQueueMissing: "its ClusterQueue does not exist", ReasonClusterQueueInactive: "its ClusterQueue is inactive",
		ReasonNamespaceExcluded: "its ClusterQueue does not select its namespace", ReasonMisconfigured: "invalid resource requests",
		ReasonDevicesUnresolved: "Kueue cannot count its devices", ReasonOnHold: "its own controller holds it",
		ReasonDeactivated: "a user deactivated its Workload", ReasonTimedOut: "stopped at its maximum execution time (kueue.x-k8s.io/max-exec-time-seconds)",
		ReasonRequeueLimit: "its Pods were not ready in time too often", ReasonEvictedOnManager: "MultiKueue withdrew it",
		ReasonDeactivatedByKueue: "Kueue deactivated its Workload", ReasonInadmissible: "Kueue cannot queue it",
	}
}

// queueTexts returns descriptions that name the queue.
func queueTexts() map[WaitReason]string {
	return map[WaitReason]string{
		ReasonLocalQueueMissing: "LocalQueue %s does not exist", ReasonLocalQueueStopped: "LocalQueue %s is inactive",
		ReasonClusterQueueMissing: "ClusterQueue %s does not exist", ReasonClusterQueueInactive: "ClusterQueue %s is inactive",
	}
}
