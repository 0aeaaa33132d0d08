package kueue

import (
	"encoding/json"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// Claim is a Workload as far as it holds quota or waits for it. It is a small part of
// the Workload: where there are many, no more is kept of them.
type Claim struct {
	Namespace, Name, UID string
	// Kind and Owner are what it was made for, as "Job" and "train"; empty if nothing
	// controls it.
	Kind, Owner string
	// LocalQueue is where it was submitted, ClusterQueue where it has its quota from, ""
	// while it has none.
	LocalQueue, ClusterQueue string
	// CreatedAt is when it was made, and Since when it was given quota.
	CreatedAt, Since time.Time
	// EndsBy is when Kueue ends it at the latest, by its maximumExecutionTimeSeconds; zero where
	// nothing bounds it.
	EndsBy time.Time
	// Turn is when its turn is.
	Turn Turn
	// Holds is what it has, in all its pods together.
	Holds []Held
	// Asks is what it waits for, by its podsets; nil where that is not known.
	Asks []PodSetRequests
	// Reason is why it has no quota, as Kueue says, "" if it says nothing.
	Reason, Message string
	// Evicted is whether it is about to give back what it has.
	Evicted bool
	// Origin is MultiKueue's marker: the manager that it came from.
	Origin string
}

// Held is an amount of a resource in a flavor.
type Held struct {
	Flavor, Resource string
	Quantity         resource.Quantity
}

// PodSetRequests is what the pods of one kind of a Workload ask for together.
type PodSetRequests struct {
	Name      string              `json:"name"`
	Resources corev1.ResourceList `json:"resources,omitempty"`
}

// PodSetAssignment is what was given to the pods of one kind of a Workload.
type PodSetAssignment struct {
	Name          string              `json:"name"`
	Count         int32               `json:"count,omitempty"`
	Flavors       map[string]string   `json:"flavors,omitempty"`
	ResourceUsage corev1.ResourceList `json:"resourceUsage,omitempty"`
}

// ClaimedWorkload is what a Claim is made of.
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
		// MaxSeconds and PastSeconds are those of WorkloadSpec and WorkloadStatus.
		MaxSeconds *int32 `json:"maximumExecutionTimeSeconds"`
	} `json:"spec"`
	Status struct {
		Admission   *Admission         `json:"admission"`
		Conditions  []metav1.Condition `json:"conditions"`
		PastSeconds *int32             `json:"accumulatedPastExecutionTimeSeconds"`
		ClaimStatus
	} `json:"status"`
}

// ClaimStatus is what a Claim is made of beside what is kept of a Workload's status.
type ClaimStatus struct {
	ResourceRequests []PodSetRequests `json:"resourceRequests"`
	Reclaimable      []struct {
		Name  string `json:"name"`
		Count int32  `json:"count"`
	} `json:"reclaimablePods"`
}

// Claim is what a Workload holds or waits for, nil if it does neither: it has finished,
// or was deactivated. What was evicted holds its quota until its pods are gone (kueue:
// pkg/cache/scheduler/cache.go).
func (w *ClaimedWorkload) Claim() *Claim {
	isTrue := func(condition string) bool { return meta.IsStatusConditionTrue(w.Status.Conditions, condition) }
	if isTrue(Finished) || w.Spec.Active != nil && !*w.Spec.Active {
		return nil
	}
	c := &Claim{
		Namespace: w.Metadata.Namespace, Name: w.Metadata.Name, UID: w.Metadata.UID, LocalQueue: w.Spec.QueueName,
		CreatedAt: w.Metadata.CreationTimestamp.Time,
		Turn:      Turn{boosted(w.Spec.Priority, w.Metadata.Annotations), queuedAt(w.Metadata.CreationTimestamp.Time, w.Status.Conditions), w.Metadata.UID},
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
		c.Holds, c.EndsBy = w.holds(), w.endsBy()
		return c
	}
	if w.Metadata.DeletionTimestamp != nil {
		return nil
	}
	if quota != nil {
		c.Reason, c.Message = quota.Reason, quota.Message
	}
	if c.Asks = w.Status.ResourceRequests; c.Asks == nil {
		c.Asks = w.asks()
	}
	return c
}

// endsBy is when Kueue ends it at the latest: its time runs while it is admitted (kueue:
// pkg/controller/core/workload_controller.go).
func (w *ClaimedWorkload) endsBy() time.Time {
	admitted := meta.FindStatusCondition(w.Status.Conditions, Admitted)
	if w.Spec.MaxSeconds == nil || admitted == nil || admitted.Status != metav1.ConditionTrue {
		return time.Time{}
	}
	left := *w.Spec.MaxSeconds - deref(w.Status.PastSeconds)
	return admitted.LastTransitionTime.Add(time.Duration(left) * time.Second)
}

// holds is what was given to all podsets, less what their pods no longer need.
func (w *ClaimedWorkload) holds() []Held {
	var all []Held
	for _, assigned := range w.Status.Admission.PodSetAssignments {
		count, left := int64(assigned.Count), int64(assigned.Count)
		for _, r := range w.Status.Reclaimable {
			if r.Name == assigned.Name {
				left = max(0, count-int64(r.Count))
			}
		}
		for name, quantity := range assigned.ResourceUsage {
			flavor := assigned.Flavors[string(name)]
			if flavor == "" {
				continue
			}
			if left < count {
				quantity = *resource.NewMilliQuantity(quantity.MilliValue()/count*left, quantity.Format)
			}
			all = append(all, Held{Flavor: flavor, Resource: string(name), Quantity: quantity})
		}
	}
	return all
}

// asks is what the pods' templates ask for: what Kueue says itself is better, but it
// says nothing of what it has not looked at.
func (w *ClaimedWorkload) asks() []PodSetRequests {
	var sets []PodTemplate
	if json.Unmarshal(w.Spec.PodSets, &sets) != nil {
		return nil
	}
	asks := make([]PodSetRequests, 0, len(sets))
	for i := range sets {
		one := Requests(&sets[i].Template.Spec, nil, Counting{})
		asks = append(asks, PodSetRequests{Name: sets[i].Name, Resources: Times(one, int64(sets[i].Count))})
	}
	return asks
}
