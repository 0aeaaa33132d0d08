// Package kueue knows the part of the kueue.x-k8s.io API that is needed to
// follow a Job through MultiKueue: the fields that show where a Workload is
// and why it waits. It reads v1beta2, and v1beta1 if a cluster serves only
// that. The types below have the fields of both
// (docs/reference/multikueue.md#api-versions; kueue: apis/kueue/v1beta2,
// apis/kueue/v1beta1).
package kueue

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// Group is the API group.
const Group = delegation.KueueGroup

// ProvisioningController is the controllerName of the AdmissionChecks with which Kueue itself requests nodes from the
// cluster autoscaler (kueue: pkg/controller/admissionchecks/provisioning).
const ProvisioningController = "kueue.x-k8s.io/provisioning-request"

// ControllerName is the controllerName of MultiKueue's AdmissionChecks.
const ControllerName = "kueue.x-k8s.io/multikueue"

// Resource returns the resource of a kind with its group, as kubectl takes it
// before a name. The group is needed because other groups have a Workload
// too.
func Resource(kind string) string {
	return strings.ToLower(delegation.Plural(kind)) + "." + Group
}

// Namespace is the namespace in which Kueue is installed by default. It has
// the Secrets that MultiKueueClusters name.
const Namespace = "kueue-system"

// StrictFIFO is the queueing strategy in which no Workload may pass the head
// of the queue.
const StrictFIFO = "StrictFIFO"

// BestEffortFIFO is the queueing strategy in which Workloads that fit may
// pass others. It is the default.
const BestEffortFIFO = "BestEffortFIFO"

// States of an AdmissionCheck in a Workload's status.
const (
	CheckPending  = "Pending"
	CheckReady    = "Ready"
	CheckRetry    = "Retry"
	CheckRejected = "Rejected"
)

// Workload is the object that Kueue queues and admits for a Job.
type Workload struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              WorkloadSpec   `json:"spec"`
	Status            WorkloadStatus `json:"status"`
}

// IsVariant reports whether the Workload is one of several variants that
// Kueue tries at the same time for a Job. The Job's own Workload controls all
// variants, and has the same labels (kueue: KEP-8691).
func (w *Workload) IsVariant() bool {
	owner := metav1.GetControllerOf(w)
	return owner != nil && owner.Kind == "Workload" && strings.HasPrefix(owner.APIVersion, Group+"/")
}

// PodSet is the part of a Workload's podset that is kept: the count, the
// labels and annotations of the template at the time when Kueue created the
// Workload, and digests that show whether two are equal.
type PodSet struct {
	Name     string `json:"name"`
	Count    int32  `json:"count"`
	MinCount *int32 `json:"minCount,omitempty"`
	Template struct {
		Metadata struct {
			Labels      map[string]string `json:"labels,omitempty"`
			Annotations map[string]string `json:"annotations,omitempty"`
		} `json:"metadata"`
		Spec PodShape `json:"spec"`
	} `json:"template"`
	Topology Digest `json:"topologyRequest,omitempty"`
}

// PartialStart returns with how few Pods a Workload may start, and how many it requests.
func (w *Workload) PartialStart() (least, all int32) {
	for i := range w.Spec.PodSets {
		set := &w.Spec.PodSets[i]
		all += set.Count
		if set.MinCount != nil {
			least += min(*set.MinCount, set.Count)
		} else {
			least += set.Count
		}
	}
	return least, all
}

// Reduced returns with how many Pods Kueue started a Workload, and how many it requests. ok is false
// if these are not fewer.
func (w *Workload) Reduced() (to, from int32, ok bool) {
	if w.Status.Admission == nil || !w.Is(Admitted) || w.Is(Finished) {
		return 0, 0, false
	}
	for _, set := range w.Spec.PodSets {
		for _, a := range w.Status.Admission.PodSetAssignments {
			if a.Name == set.Name && set.MinCount != nil && a.Count > 0 && a.Count < set.Count {
				to, from, ok = to+a.Count, from+set.Count, true
			}
		}
	}
	return to, from, ok
}

// Holds returns the quota that the Workload holds now, by podset; nil if it has none. Pods that have ended hold
// none.
func (w *Workload) Holds() []FlavorQuantity {
	sets := make([]podSetCount, 0, len(w.Spec.PodSets))
	for i := range w.Spec.PodSets {
		sets = append(sets, podSetCount{Name: w.Spec.PodSets[i].Name, Count: w.Spec.PodSets[i].Count})
	}
	return heldBy(w.Status.Admission, sets, w.Status.Reclaimable)
}

// WorkloadSpec is the part of a Workload's spec that is kept. The rest has
// Pod templates.
type WorkloadSpec struct {
	QueueName string   `json:"queueName,omitempty"`
	PodSets   []PodSet `json:"podSets,omitempty"`
	// Active is false if the Workload was deactivated.
	Active   *bool  `json:"active,omitempty"`
	Priority *int32 `json:"priority,omitempty"`
	// PriorityRef names the class of the priority in v1beta2. PriorityClassName
	// does so in v1beta1.
	PriorityRef *struct {
		Kind string `json:"kind"`
		Name string `json:"name"`
	} `json:"priorityClassRef,omitempty"`
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// MaxSeconds is how long it may be admitted before Kueue deactivates it.
	MaxSeconds *int32 `json:"maximumExecutionTimeSeconds,omitempty"`
}

// PriorityClass returns the name of the class of the priority, "" if there is
// none.
func (s *WorkloadSpec) PriorityClass() string {
	if s.PriorityRef != nil {
		return s.PriorityRef.Name
	}
	return s.PriorityClassName
}

// WorkloadStatus is the part of a Workload's status that is kept.
type WorkloadStatus struct {
	Admission       *Admission         `json:"admission,omitempty"`
	AdmissionChecks []CheckState       `json:"admissionChecks,omitempty"`
	ClusterName     *string            `json:"clusterName,omitempty"`
	Nominated       []string           `json:"nominatedClusterNames,omitempty"`
	Conditions      []metav1.Condition `json:"conditions,omitempty"`
	Reclaimable     []ReclaimablePods  `json:"reclaimablePods,omitempty"`
	// PastSeconds is the total time for which it was admitted before evictions.
	PastSeconds *int32        `json:"accumulatedPastExecutionTimeSeconds,omitempty"`
	Requeue     *RequeueState `json:"requeueState,omitempty"`
	// Gates keep it from preempting others while they are closed.
	Gates []GateState `json:"preemptionGates,omitempty"`
	// Stats count its evictions.
	Stats *struct {
		Evictions []Eviction `json:"evictions,omitempty"`
	} `json:"schedulingStats,omitempty"`
}

// GateState is the state of a preemption gate.
type GateState struct {
	Name string `json:"name"`
	// Position is Open or Closed.
	Position           string      `json:"position"`
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`
}

// IsOpen reports whether MultiKueue has opened its gate.
func (g *GateState) IsOpen() bool { return g.Name == MultiKueueGate && g.Position == "Open" }

// HasOpenGate reports whether MultiKueue lets the Workload preempt others.
func (w *Workload) HasOpenGate() bool {
	return slices.ContainsFunc(w.Status.Gates, func(g GateState) bool { return g.IsOpen() })
}

// MultiKueueGate is the preemption gate that a manager opens on the copies of a Workload (kueue:
// pkg/controller/constants, MultiKueuePreemptionGate).
const MultiKueueGate = "kueue.x-k8s.io/multikueue"

// Eviction counts the evictions of a Workload for a reason.
type Eviction struct {
	Reason string `json:"reason"`
	Count  int32  `json:"count"`
}

// Evictions returns how often the Workload was evicted for a reason.
func (s *WorkloadStatus) Evictions(reason string) int32 {
	if s.Stats == nil {
		return 0
	}
	var n int32
	for _, e := range s.Stats.Evictions {
		if e.Reason == reason {
			n += e.Count
		}
	}
	return n
}

// Admission says which ClusterQueue a Workload's quota comes from.
type Admission struct {
	ClusterQueue string `json:"clusterQueue"`
	// PodSetAssignments are what its podsets got.
	PodSetAssignments []PodSetAssignment `json:"podSetAssignments,omitempty"`
}

// Given returns what all Pods of a Workload got together, by resource, in any flavor. It is more than what the
// Workload holds if some of the Pods have ended: see Workload.Holds.
func (a *Admission) Given() corev1.ResourceList {
	total := corev1.ResourceList{}
	for _, set := range a.PodSetAssignments {
		for name, quantity := range set.ResourceUsage {
			sum := total[name]
			sum.Add(quantity)
			total[name] = sum
		}
	}
	return total
}

// HasFlavor reports whether a Workload got any flavor. Without one, no AdmissionCheck applies to it
// (kueue: pkg/workload, AdmissionChecksForWorkload).
func (a *Admission) HasFlavor() bool {
	return slices.ContainsFunc(a.PodSetAssignments, func(s PodSetAssignment) bool { return len(s.Flavors) > 0 })
}

// FlavorNames returns the flavors that a Workload got, sorted.
func (a *Admission) FlavorNames() []string {
	var names []string
	for _, s := range a.PodSetAssignments {
		names = slices.AppendSeq(names, maps.Values(s.Flavors))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// CheckState is the state of an AdmissionCheck for one Workload.
type CheckState struct {
	Name               string      `json:"name"`
	State              string      `json:"state"`
	Message            string      `json:"message,omitempty"`
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`
	RetryCount         *int32      `json:"retryCount,omitempty"`
}

// LocalQueue is the queue of a namespace that submits to a ClusterQueue.
type LocalQueue struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		ClusterQueue string `json:"clusterQueue"`
		StopPolicy   string `json:"stopPolicy,omitempty"`
	} `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions,omitempty"`
		// FlavorsReservation is what its Workloads hold, according to Kueue.
		FlavorsReservation []FlavorUsage `json:"flavorsReservation,omitempty"`
		AdmittedWorkloads  int32         `json:"admittedWorkloads,omitempty"`
	} `json:"status"`
}

// ClusterQueue has quota and names the checks that its Workloads must pass.
type ClusterQueue struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              ClusterQueueSpec `json:"spec"`
	Status            struct {
		Conditions []metav1.Condition `json:"conditions,omitempty"`
		// FlavorsReservation is what its Workloads hold, according to Kueue.
		FlavorsReservation []FlavorUsage    `json:"flavorsReservation,omitempty"`
		PendingWorkloads   int32            `json:"pendingWorkloads,omitempty"`
		ReservingWorkloads int32            `json:"reservingWorkloads,omitempty"`
		EffectiveQuotas    *EffectiveQuotas `json:"effectiveQuotas,omitempty"`
		// FairSharing is not nil if Kueue's configuration enables fair sharing.
		FairSharing *FairSharing `json:"fairSharing,omitempty"`
	} `json:"status"`
}

// ClusterQueueSpec is the part of a ClusterQueue's spec that is kept.
type ClusterQueueSpec struct {
	StopPolicy string `json:"stopPolicy,omitempty"`
	// QueueingStrategy is StrictFIFO or BestEffortFIFO; unset means the latter.
	QueueingStrategy string `json:"queueingStrategy,omitempty"`
	// AdmissionChecks is the older, flat form, in v1beta1 only.
	AdmissionChecks []string `json:"admissionChecks,omitempty"`
	Strategy        *struct {
		AdmissionChecks []struct {
			Name      string   `json:"name"`
			OnFlavors []string `json:"onFlavors,omitempty"`
		} `json:"admissionChecks,omitempty"`
	} `json:"admissionChecksStrategy,omitempty"`
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`

	ResourceGroups []ResourceGroup `json:"resourceGroups,omitempty"`
	// CohortName is the field of v1beta2, CohortV1Beta1 the field of v1beta1.
	CohortName    string            `json:"cohortName,omitempty"`
	CohortV1Beta1 string            `json:"cohort,omitempty"`
	Preemption    Preemption        `json:"preemption,omitzero"`
	Fungibility   FlavorFungibility `json:"flavorFungibility,omitzero"`
	// FairSharing is not nil if shares have weights.
	FairSharing *FairSharing `json:"fairSharing,omitempty"`
	// AdmissionScope says whether the past usage of LocalQueues orders Workloads.
	AdmissionScope *struct {
		Mode string `json:"admissionMode,omitempty"`
	} `json:"admissionScope,omitempty"`
}

// Checks returns the names of the AdmissionChecks of a ClusterQueue.
func (q *ClusterQueue) Checks() []string {
	names := slices.Clone(q.Spec.AdmissionChecks)
	if q.Spec.Strategy != nil {
		for _, c := range q.Spec.Strategy.AdmissionChecks {
			names = append(names, c.Name)
		}
	}
	return names
}
