package kueue

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Condition types.
const (
	Active        = "Active"
	QuotaReserved = "QuotaReserved"
	Admitted      = "Admitted"
	Evicted       = "Evicted"
	Finished      = "Finished"
	PodsReady     = "PodsReady"
	PodsScheduled = "PodsScheduled"
)

// DelayedTopology is the reason for which a Workload that has quota is not admitted so far
// (kueue: apis/kueue/v1beta2/workload_types.go).
const DelayedTopology = "PendingDelayedTopologyRequests"

// The reasons of QuotaReserved=False that Kueue gives since 0.19, where
// UnadmittedWorkloadsObservability is on (kueue: workload_types.go). Before, and
// where it is off, it says Pending or Inadmissible, and only the message tells.
const (
	WaitingForQuota   = "WaitingForQuota"
	TopologyFailed    = "TopologyPlacementFailed"
	ExceedsMaxQuota   = "ExceedsMaxQuota"
	NoMatchingFlavor  = "NoMatchingFlavor"
	QueueSuspended    = "Suspended"
	Misconfigured     = "Misconfigured"
	PendingEvaluation = "PendingEvaluation"
	PendingLegacy     = "Pending"
	Inadmissible      = "Inadmissible"
	// From 0.20 on.
	UnresolvedDevices = "DRAResourcesUnresolved"
	PreemptedFirst    = "WaitingForPreemptedWorkloads"
	PodsReadyFirst    = "WaitingForPodsReady"
	AdmissionGated    = "AdmissionGated"
	OnHold            = "OnHold"
)

// IsShortOfQuota says whether a reason and a message of QuotaReserved=False mean want of
// quota, as with the blocked head of a queue. What is wrong with its queue, or holds it by
// itself, blocks nobody.
func IsShortOfQuota(reason, message string) bool {
	switch reason {
	case WaitingForQuota, ExceedsMaxQuota, NoMatchingFlavor, TopologyFailed, PreemptedFirst:
		return true
	case PendingLegacy:
		// Before Kueue 0.19.
		return strings.Contains(message, "couldn't assign flavors")
	}
	return false
}

// IsStopped says whether a stopPolicy stops its queue.
func IsStopped(policy string) bool { return policy != "" && policy != "None" }

// Condition finds a condition of a Workload by its type; nil if it has none.
func (w *Workload) Condition(conditionType string) *metav1.Condition {
	return meta.FindStatusCondition(w.Status.Conditions, conditionType)
}

// Is says whether a condition of a Workload is true.
func (w *Workload) Is(conditionType string) bool {
	return meta.IsStatusConditionTrue(w.Status.Conditions, conditionType)
}

// IsActive says whether nobody has deactivated a Workload.
func (w *Workload) IsActive() bool { return w.Spec.Active == nil || *w.Spec.Active }
