package kueue

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// Reasons of the condition Finished (kueue:
// apis/kueue/v1beta2/workload_types.go). The Job's own controller wrote any
// other reason.
const (
	FinishedSucceeded = "Succeeded"
	FinishedFailed    = "Failed"
	// OwnerNotFound: Kueue found no Job. Usually it was deleted before it finished, but a Job whose mirror was
	// deleted may still exist (JM038).
	OwnerNotFound = "OwnerNotFound"
	// FailedToStart: Kueue could not start the Job, which still exists and has not finished (kueue:
	// pkg/controller/jobframework/reconciler.go).
	FailedToStart = "FailedToStart"
	// OutOfSync: a mirror does not match its Workload (JM036).
	OutOfSync = "OutOfSync"
	// SliceReplaced: an elastic Job changed its size, and another Workload followed.
	SliceReplaced = "WorkloadSliceReplaced"
	// jobFinished is Succeeded or Failed in old versions of Kueue.
	jobFinished = "JobFinished"
)

// IsAbandoned reports whether Kueue finished the Workload for one of the reasons with which no Job runs (kueue:
// pkg/controller/jobframework/reconciler.go): the mirror is gone or stopped, or the Job never started. Another
// reason, such as one of a newer Kueue, proves nothing.
func (w *Workload) IsAbandoned() bool {
	c := w.GivenUp()
	return c != nil && slices.Contains([]string{OwnerNotFound, OutOfSync, FailedToStart}, c.Reason)
}

// GivenUp returns the condition Finished if Kueue finished the Workload although its Job had not ended. Kueue
// never offers such a Workload again. It returns nil for any other Workload.
func (w *Workload) GivenUp() *metav1.Condition {
	c := w.Condition(Finished)
	if !w.Is(Finished) || slices.Contains([]string{"", FinishedSucceeded, FinishedFailed, jobFinished, SliceReplaced}, c.Reason) {
		return nil
	}
	return c
}

// Past is what a Workload records about a finished Job. Only this part is
// kept, because there may be many Workloads.
type Past struct {
	Namespace, Name, UID string
	// JobUID is the UID of the Job. APIVersion, Kind and Job identify it. They
	// are "" if nothing controls the Workload.
	JobUID, APIVersion, Kind, Job string
	// Queue is the LocalQueue. ClusterQueue is where the quota came from.
	Queue, ClusterQueue string
	// Cluster is the MultiKueueCluster that ran it, "" if none.
	Cluster string
	// IsMirror is whether MultiKueue created it on a worker.
	IsMirror bool
	// CreatedAt, AdmittedAt and FinishedAt are zero if unknown. AdmittedAt is
	// the last admission.
	CreatedAt, AdmittedAt, FinishedAt time.Time
	// Lost is the total time for which it was admitted before evictions. It is
	// nil if Kueue did not record it. Kueue drops it when a user deactivates
	// the Workload.
	Lost *time.Duration
	// Evictions counts the evictions by their reasons.
	Evictions map[string]int32
	// Reason is why it finished.
	Reason string
	// Holds is what it got for all its Pods together.
	Holds []FlavorQuantity
	// Labels are the requested labels of the Workload.
	Labels map[string]string
}

// PastWorkload has the fields of a Workload that a Past is made of.
type PastWorkload struct {
	Metadata struct {
		Namespace         string                  `json:"namespace"`
		Name              string                  `json:"name"`
		UID               string                  `json:"uid"`
		CreationTimestamp metav1.Time             `json:"creationTimestamp"`
		Labels            map[string]string       `json:"labels"`
		OwnerReferences   []metav1.OwnerReference `json:"ownerReferences"`
	} `json:"metadata"`
	Spec struct {
		QueueName string `json:"queueName"`
	} `json:"spec"`
	Status WorkloadStatus `json:"status"`
}

// Past returns what a Workload records about a finished Job. It returns nil
// if the Workload was never admitted and has not finished. The caller drops
// Workloads that have not finished unless their Job has, since the Workload
// may be a moment behind its Job.
func (w *PastWorkload) Past() *Past {
	conditions := w.Status.Conditions
	finished := meta.FindStatusCondition(conditions, Finished)
	if finished != nil && finished.Status != metav1.ConditionTrue {
		finished = nil
	}
	admitted := meta.FindStatusCondition(conditions, Admitted)
	if finished == nil && admitted == nil {
		return nil
	}
	workload := Workload{Status: w.Status}
	workload.OwnerReferences = w.Metadata.OwnerReferences
	if workload.IsVariant() {
		return nil
	}
	p := &Past{
		Namespace: w.Metadata.Namespace, Name: w.Metadata.Name, UID: w.Metadata.UID, JobUID: w.Metadata.Labels[delegation.JobUIDLabel],
		Queue: w.Spec.QueueName, Cluster: workload.ChosenCluster(), IsMirror: w.Metadata.Labels[delegation.MultiKueueOriginLabel] != "",
		CreatedAt: w.Metadata.CreationTimestamp.Time, Evictions: w.Status.evictions(),
	}
	if seconds := w.Status.PastSeconds; seconds != nil {
		p.Lost = new(time.Duration(*seconds) * time.Second)
	} else if len(p.Evictions) == 0 {
		p.Lost = new(time.Duration)
	}
	if owner := metav1.GetControllerOf(&workload); owner != nil {
		p.APIVersion, p.Kind, p.Job = owner.APIVersion, owner.Kind, owner.Name
		if p.JobUID == "" {
			p.JobUID = string(owner.UID)
		}
	}
	if finished != nil {
		p.FinishedAt, p.Reason = finished.LastTransitionTime.Time, finished.Reason
	}
	if admitted != nil && admitted.Status == metav1.ConditionTrue {
		p.AdmittedAt = admitted.LastTransitionTime.Time
	}
	if w.Status.Admission != nil {
		p.ClusterQueue = w.Status.Admission.ClusterQueue
		// It holds nothing any more: this is what it got.
		p.Holds = heldBy(w.Status.Admission, nil, nil)
	}
	return p
}

// evictions returns how often the Workload was evicted, by reason. For
// versions of Kueue without counters, it returns the last eviction, which the
// condition shows.
func (s *WorkloadStatus) evictions() map[string]int32 {
	counts := map[string]int32{}
	if s.Stats != nil {
		for _, e := range s.Stats.Evictions {
			counts[e.Reason] += e.Count
		}
	}
	evicted := meta.FindStatusCondition(s.Conditions, Evicted)
	if len(counts) == 0 && evicted != nil {
		reason := evicted.Reason
		if evicted.Status != metav1.ConditionTrue {
			// Kueue overwrites the reason when the Workload has quota again.
			reason = ""
		}
		counts[reason] = 1
	}
	if len(counts) == 0 {
		return nil
	}
	return counts
}

// Evicted returns how often the Workload was evicted.
func (p *Past) Evicted() int32 {
	var n int32
	for _, count := range p.Evictions {
		n += count
	}
	return n
}
