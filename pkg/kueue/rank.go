package kueue

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Rank decides the order of a queue: priority, then age (kueue:
// pkg/cache/queue/cluster_queue.go; docs/reference/scheduling.md#order).
type Rank struct {
	Priority int32
	At       time.Time
	UID      string
}

// Compare is negative if t comes before o.
func (t Rank) Compare(o Rank) int {
	return cmp.Or(-cmp.Compare(t.Priority, o.Priority), t.At.Compare(o.At), cmp.Compare(t.UID, o.UID))
}

// Rank returns the order of a Workload in its queue.
func (w *Workload) Rank() Rank {
	return Rank{boostedPriority(w.Spec.Priority, w.Annotations), queuedAt(w.CreationTimestamp.Time, w.Status.Conditions), string(w.UID)}
}

// priorityBoost is the annotation by which a controller moves a Workload in
// its queue. Kueue reads it only with an alpha gate, without which nothing
// writes it.
const priorityBoost = "kueue.x-k8s.io/priority-boost"

// boostedPriority returns a priority with the boost that an annotation adds.
func boostedPriority(priority *int32, annotations map[string]string) int32 {
	boost, err := strconv.ParseInt(annotations[priorityBoost], 10, 32)
	if err != nil {
		return deref(priority)
	}
	sum := int64(deref(priority)) + boost
	return int32(min(max(sum, math.MinInt32), math.MaxInt32)) //nolint:gosec // It is within the bounds.
}

// queuedAt returns since when a Workload has its place in the queue. A
// Workload that was evicted by MultiKueue, or because its Pods were not ready
// in time, has the time of its eviction.
func queuedAt(created time.Time, conditions []metav1.Condition) time.Time {
	evicted := meta.FindStatusCondition(conditions, Evicted)
	if evicted != nil && evicted.Status == metav1.ConditionTrue && slices.Contains([]string{"AdmissionCheck", PodsReadyTimeout}, evicted.Reason) {
		return evicted.LastTransitionTime.Time
	}
	return created
}
