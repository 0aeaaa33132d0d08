package kueue

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// Claim is the part of a Workload that is about holding quota or waiting for
// it. Only this part is kept, because there may be many Workloads.
type Claim struct {
	Namespace, Name, UID string
	// Kind and Owner are the object that it was made for, such as "Job" and
	// "train". They are "" if nothing controls it.
	Kind, Owner string
	// LocalQueue is where it was submitted. ClusterQueue is where its quota
	// comes from, "" if it has none.
	LocalQueue, ClusterQueue string
	// CreatedAt is when it was created, and Since when it got quota.
	CreatedAt, Since time.Time
	// AdmittedAt is when it was admitted. It is zero while it waits for quota,
	// or for AdmissionChecks such as MultiKueue's.
	AdmittedAt time.Time
	// EndsBy is when Kueue ends it at the latest, by its
	// maximumExecutionTimeSeconds. It is zero if nothing limits it.
	EndsBy time.Time
	// Rank is its order in the queue.
	Rank Rank
	// Holds is the quota that it holds for all its Pods together.
	Holds []FlavorQuantity
	// Requests is the quota that it waits for, by podset; nil if unknown.
	Requests []PodSetRequests
	// Templates are the Pods that Requests was computed from without LimitRanges, with their resources only;
	// nil if Kueue has reported the requests. Count applies the LimitRanges.
	Templates []PodTemplate
	// Reason and Message are those of QuotaReserved=False. They are "" if Kueue
	// has not reported anything. Waiting reads them.
	Reason, Message string
	// BesidesQuota is why it has no quota if something else decides, such as an
	// eviction; otherwise nil.
	BesidesQuota *Wait
	// Evicted is whether it is about to release what it holds.
	Evicted bool
	// Origin is the value of MultiKueue's label: the manager that it came from.
	Origin string
	// Nominated are the MultiKueueClusters to which it was offered since it got quota.
	Nominated []string
}

// FlavorQuantity is a quantity of a resource in a flavor.
type FlavorQuantity struct {
	Flavor, Resource string
	Quantity         resource.Quantity
}

// PodSetRequests is what the Pods of one podset request together.
type PodSetRequests struct {
	Name      string              `json:"name"`
	Resources corev1.ResourceList `json:"resources,omitempty"`
}

// PodSetAssignment is what the Pods of one podset got.
type PodSetAssignment struct {
	Name          string              `json:"name"`
	Count         int32               `json:"count,omitempty"`
	Flavors       map[string]string   `json:"flavors,omitempty"`
	ResourceUsage corev1.ResourceList `json:"resourceUsage,omitempty"`
}

// ClaimedWorkload has the fields of a Workload that a Claim is made of.
type ClaimedWorkload struct {
	Metadata struct {
		Namespace         string                  `json:"namespace"`
		Name              string                  `json:"name"`
		UID               string                  `json:"uid"`
		CreationTimestamp metav1.Time             `json:"creationTimestamp"`
		DeletionTimestamp *metav1.Time            `json:"deletionTimestamp"`
		Labels            map[string]string       `json:"labels"`
		Annotations       map[string]string       `json:"annotations"`
		OwnerReferences   []metav1.OwnerReference `json:"ownerReferences"`
	} `json:"metadata"`
	Spec struct {
		QueueName string          `json:"queueName"`
		Active    *bool           `json:"active"`
		Priority  *int32          `json:"priority"`
		PodSets   json.RawMessage `json:"podSets"`
		// MaxSeconds and Status.PastSeconds are the fields of WorkloadSpec and
		// WorkloadStatus.
		MaxSeconds *int32 `json:"maximumExecutionTimeSeconds"`
	} `json:"spec"`
	Status struct {
		Admission       *Admission         `json:"admission"`
		AdmissionChecks []CheckState       `json:"admissionChecks"`
		Conditions      []metav1.Condition `json:"conditions"`
		PastSeconds     *int32             `json:"accumulatedPastExecutionTimeSeconds"`
		Nominated       []string           `json:"nominatedClusterNames"`
		Requeue         *RequeueState      `json:"requeueState"`
		Reclaimable     []ReclaimablePods  `json:"reclaimablePods"`
		ClaimStatus
	} `json:"status"`
}

// ClaimStatus has the fields of a Workload's status that only a Claim uses.
type ClaimStatus struct {
	ResourceRequests []PodSetRequests `json:"resourceRequests"`
}

// Claim returns what a Workload holds or waits for. It returns nil if the
// Workload does neither, because it has finished or was deactivated. An
// evicted Workload holds its quota until its Pods are gone (kueue:
// pkg/cache/scheduler/cache.go).
func (w *ClaimedWorkload) Claim() *Claim {
	isTrue := func(condition string) bool { return meta.IsStatusConditionTrue(w.Status.Conditions, condition) }
	if isTrue(Finished) || w.Spec.Active != nil && !*w.Spec.Active {
		return nil
	}
	c := &Claim{
		Namespace: w.Metadata.Namespace, Name: w.Metadata.Name, UID: w.Metadata.UID, LocalQueue: w.Spec.QueueName,
		CreatedAt: w.Metadata.CreationTimestamp.Time,
		Rank:      Rank{boostedPriority(w.Spec.Priority, w.Metadata.Annotations), queuedAt(w.Metadata.CreationTimestamp.Time, w.Status.Conditions), w.Metadata.UID},
		Evicted:   isTrue(Evicted), Origin: strings.Clone(w.Metadata.Labels[delegation.MultiKueueOriginLabel]),
	}
	for i := range w.Metadata.OwnerReferences {
		if o := &w.Metadata.OwnerReferences[i]; o.Controller != nil && *o.Controller {
			c.Kind, c.Owner = o.Kind, o.Name
		}
	}
	quota := meta.FindStatusCondition(w.Status.Conditions, QuotaReserved)
	if quota != nil && quota.Status == metav1.ConditionTrue && w.Status.Admission != nil {
		c.ClusterQueue, c.Since = w.Status.Admission.ClusterQueue, quota.LastTransitionTime.Time
		c.Holds = heldBy(w.Status.Admission, w.counts(), w.Status.Reclaimable)
		c.EndsBy, c.Nominated = w.endsBy(), w.Status.Nominated
		if admitted := meta.FindStatusCondition(w.Status.Conditions, Admitted); admitted != nil && admitted.Status == metav1.ConditionTrue {
			c.AdmittedAt = admitted.LastTransitionTime.Time
		}
		return c
	}
	if w.Metadata.DeletionTimestamp != nil {
		return nil
	}
	if quota != nil {
		c.Reason, c.Message = quota.Reason, quota.Message
	}
	c.BesidesQuota = w.besidesQuota()
	if c.Requests = w.Status.ResourceRequests; c.Requests == nil {
		c.Templates = w.templates()
		c.Count(nil, CountingRules{})
	}
	return c
}

// Count computes what the Pods request with the LimitRanges of their namespace, if Kueue has not reported it.
func (c *Claim) Count(limits []corev1.LimitRange, by CountingRules) {
	if c.Templates != nil {
		c.Requests = RequestsOf(c.Templates, limits, by)
	}
}

// besidesQuota returns why the Workload has no quota if QuotaReserved does not say so, otherwise nil.
func (w *ClaimedWorkload) besidesQuota() *Wait {
	o := Workload{}
	o.CreationTimestamp = w.Metadata.CreationTimestamp
	o.Status.AdmissionChecks, o.Status.Conditions, o.Status.Requeue = w.Status.AdmissionChecks, w.Status.Conditions, w.Status.Requeue
	if _, ok := o.besidesQuota(); !ok {
		return nil
	}
	// Waiting adds when Kueue requeues it, and the answer of a check.
	wait := o.Waiting()
	// Claims are small.
	wait.Condition = nil
	return &wait
}

// endsBy returns when Kueue ends it at the latest. Its time counts while it
// is admitted (kueue: pkg/controller/core/workload_controller.go).
func (w *ClaimedWorkload) endsBy() time.Time {
	admitted := meta.FindStatusCondition(w.Status.Conditions, Admitted)
	if w.Spec.MaxSeconds == nil || admitted == nil || admitted.Status != metav1.ConditionTrue {
		return time.Time{}
	}
	left := *w.Spec.MaxSeconds - deref(w.Status.PastSeconds)
	return admitted.LastTransitionTime.Add(time.Duration(left) * time.Second)
}

// heldBy returns what all podsets got, less what Pods that have ended release. They release nothing while
// as many Pods are left as were admitted, as after a partial admission (kueue: pkg/workload,
// totalRequestsFromAdmission). A Workload without an admission holds nothing.
func heldBy(admission *Admission, sets []podSetCount, reclaimable []ReclaimablePods) []FlavorQuantity {
	if admission == nil {
		return nil
	}
	var all []FlavorQuantity
	for _, assigned := range admission.PodSetAssignments {
		admitted := int64(assigned.Count)
		left := admitted
		for _, set := range sets {
			if set.Name == assigned.Name {
				admitted = cmp.Or(admitted, int64(set.Count))
				left = min(admitted, int64(remaining(set.Name, set.Count, reclaimable)))
			}
		}
		for name, quantity := range assigned.ResourceUsage {
			flavor := assigned.Flavors[string(name)]
			if flavor == "" {
				continue
			}
			if left < admitted {
				quantity = *resource.NewMilliQuantity(quantity.MilliValue()/admitted*left, quantity.Format)
			}
			all = append(all, FlavorQuantity{Flavor: flavor, Resource: string(name), Quantity: quantity})
		}
	}
	return all
}

// podSetCount is how many Pods a podset has.
type podSetCount struct {
	Name  string `json:"name"`
	Count int32  `json:"count"`
}

// counts returns the podsets in the spec if some of their Pods have ended, without the templates.
func (w *ClaimedWorkload) counts() (sets []podSetCount) {
	if len(w.Status.Reclaimable) > 0 && json.Unmarshal(w.Spec.PodSets, &sets) != nil {
		return nil
	}
	return sets
}

// templates returns the Pods that need quota, with the fields that decide what they request. Kueue reports
// requests only of Workloads that it has evaluated.
func (w *ClaimedWorkload) templates() []PodTemplate {
	var sets []PodTemplate
	if json.Unmarshal(w.Spec.PodSets, &sets) != nil {
		return nil
	}
	sets = Remaining(sets, w.Status.Reclaimable)
	for i := range sets {
		set := &sets[i]
		spec := corev1.PodSpec{Overhead: set.Template.Spec.Overhead, Resources: set.Template.Spec.Resources}
		spec.InitContainers, spec.Containers = withResources(set.Template.Spec.InitContainers), withResources(set.Template.Spec.Containers)
		*set = PodTemplate{Name: set.Name, Count: set.Count, Template: corev1.PodTemplateSpec{Spec: spec}}
	}
	return sets
}

// withResources returns containers with only what decides what they request.
func withResources(containers []corev1.Container) []corev1.Container {
	all := make([]corev1.Container, len(containers))
	for i := range containers {
		all[i] = corev1.Container{Resources: containers[i].Resources, RestartPolicy: containers[i].RestartPolicy}
	}
	return all
}
