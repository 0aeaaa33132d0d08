package kueue

import (
	"cmp"
	"regexp"
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
	Requeued      = "Requeued"
	Finished      = "Finished"
	PodsReady     = "PodsReady"
	PodsScheduled = "PodsScheduled"
	// BlockedOnPreemptionGates is true while a Workload may not preempt others yet.
	BlockedOnPreemptionGates = "BlockedOnPreemptionGates"
)

// PodsReadyTimeout is the reason of Evicted if the Pods were not ready within waitForPodsReady.timeout of the Kueue that
// evicted the Workload. MultiKueue does not copy it from a worker: it sets its AdmissionCheck to Retry, so that the manager
// evicts with the reason AdmissionCheck (kueue: pkg/controller/core/workload_controller.go;
// pkg/controller/admissionchecks/multikueue/workload.go).
const PodsReadyTimeout = "PodsReadyTimeout"

// DelayedTopology is the reason why a Workload with quota is not admitted yet
// (kueue: apis/kueue/v1beta2/workload_types.go).
const DelayedTopology = "PendingDelayedTopologyRequests"

// The reasons of QuotaReserved=False that Kueue writes since 0.19 with the
// feature gate UnadmittedWorkloadsObservability, which is on by default
// (kueue: workload_types.go). Otherwise Kueue writes Pending, Waiting or
// Inadmissible, and only the message explains the wait. Workload.Waiting
// reads them.
const (
	WaitingForQuota   = "WaitingForQuota"
	TopologyFailed    = "TopologyPlacementFailed"
	ExceedsMaxQuota   = "ExceedsMaxQuota"
	NoMatchingFlavor  = "NoMatchingFlavor"
	QueueSuspended    = "Suspended"
	Misconfigured     = "Misconfigured"
	PendingEvaluation = "PendingEvaluation"
	Inadmissible      = "Inadmissible"
	// From 0.20 on.
	UnresolvedDevices = "DRAResourcesUnresolved"
	PreemptedFirst    = "WaitingForPreemptedWorkloads"
	PodsReadyFirst    = "WaitingForPodsReady"
	AdmissionGated    = "AdmissionGated"
	OnHold            = "OnHold"
)

// HoldAndDrain is the stopPolicy of a queue that also evicts the Workloads that it has admitted.
const HoldAndDrain = "HoldAndDrain"

// IsStopped reports whether a stopPolicy stops its queue.
func IsStopped(policy string) bool { return policy != "" && policy != "None" }

// Outage is why a queue admits nothing.
type Outage struct {
	// StopPolicy is its stopPolicy, "" if that does not stop it.
	StopPolicy string
	// Inactive is its condition Active if that is False, otherwise nil. It lags behind StopPolicy.
	Inactive *metav1.Condition
}

// Outage returns why the ClusterQueue admits nothing, nil if it is in service or Kueue has not reported.
// Kueue then also preempts none of its Workloads (kueue: pkg/cache/scheduler/snapshot.go).
func (q *ClusterQueue) Outage() *Outage { return outage(q.Spec.StopPolicy, q.Status.Conditions) }

// Outage returns why the LocalQueue submits nothing, nil if it is in service or Kueue has not reported.
func (q *LocalQueue) Outage() *Outage { return outage(q.Spec.StopPolicy, q.Status.Conditions) }

func outage(stopPolicy string, conditions []metav1.Condition) *Outage {
	var o Outage
	if IsStopped(stopPolicy) {
		o.StopPolicy = stopPolicy
	}
	if active := meta.FindStatusCondition(conditions, Active); active != nil && active.Status == metav1.ConditionFalse {
		o.Inactive = active
	}
	if o == (Outage{}) {
		return nil
	}
	return &o
}

// Why returns what Kueue says about the outage, "" if it has not reported it.
func (o *Outage) Why() string {
	if o.Inactive == nil {
		return ""
	}
	return cmp.Or(o.Inactive.Message, o.Inactive.Reason)
}

// Condition returns the condition of a Workload with a type, nil if it has
// none.
func (w *Workload) Condition(conditionType string) *metav1.Condition {
	return meta.FindStatusCondition(w.Status.Conditions, conditionType)
}

// Is reports whether a condition of a Workload is true.
func (w *Workload) Is(conditionType string) bool {
	return meta.IsStatusConditionTrue(w.Status.Conditions, conditionType)
}

// Stop returns the condition that says why Kueue last stopped a Workload, nil if it never did: the
// deactivation that it has announced, or the eviction. Kueue keeps the announcement of a Workload that had
// been evicted before, and the eviction of one that has quota again, then with the status False.
func (w *Workload) Stop() *metav1.Condition {
	if w.Is(DeactivationTarget) {
		return w.Condition(DeactivationTarget)
	}
	return w.Condition(Evicted)
}

// HadPods reports whether an evicted Workload may have had Pods at its eviction: Kueue had admitted it until then.
// Kueue releases the quota of such a Workload when its Pods are gone (kueue:
// pkg/controller/jobframework/reconciler.go).
func (w *Workload) HadPods() bool {
	admitted, evicted := w.Condition(Admitted), w.Condition(Evicted)
	if admitted == nil || evicted == nil {
		return false
	}
	return w.Is(Admitted) || !admitted.LastTransitionTime.Before(&evicted.LastTransitionTime)
}

// IsActive reports whether a Workload has not been deactivated.
func (w *Workload) IsActive() bool { return w.Spec.Active == nil || *w.Spec.Active }

// requestInFault matches the request at the beginning of a message of client-go.
var requestInFault = regexp.MustCompile(`^(failed to get server groups: )?Get "[^"]*": (dial tcp \S+: (connect: )?)?`)

// Fault returns why a manager cannot use a MultiKueueCluster, in one line: the message of its
// condition Active, without the request, the parts that change at each attempt, and Go's types.
func Fault(active *metav1.Condition) string {
	message, _, _ := strings.Cut(active.Message, "; connection attempts:")
	message = strings.TrimPrefix(message, "load client config failed: ")
	message, _, _ = strings.Cut(message, "; json parse error:")
	message = requestInFault.ReplaceAllString(message, "")
	return strings.Join(strings.Fields(cmp.Or(message, active.Reason)), " ")
}
