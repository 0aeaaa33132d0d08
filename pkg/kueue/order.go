package kueue

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// VisibilityGroup is the API by which Kueue shows the order of its queues, as
// it has it in memory. Kueue itself serves it behind the API server, and it
// may be missing (kueue: pkg/visibility; docs/reference/scheduling.md#order).
const VisibilityGroup = "visibility.kueue.x-k8s.io"

// PendingWorkload is a Workload that waits in a queue.
type PendingWorkload struct {
	metav1.ObjectMeta `json:"metadata"`
	Priority          int32 `json:"priority"`
	// Before is how many Workloads of the same ClusterQueue come before it.
	Before int `json:"positionInClusterQueue"`
}

// Claim returns what is known of the pending Workload.
func (w *PendingWorkload) Claim() *Claim {
	c := &Claim{Namespace: w.Namespace, Name: w.Name, CreatedAt: w.CreationTimestamp.Time}
	if owner := metav1.GetControllerOf(w); owner != nil {
		c.Kind, c.Owner = owner.Kind, owner.Name
	}
	return c
}

// Order is what Kueue itself reports about the Workloads that wait in the
// ClusterQueue behind a LocalQueue.
type Order struct {
	// Before has how many Workloads come before the requested ones, by their
	// names.
	Before map[string]int
	// First are the first Workloads of the ClusterQueue that the user may see,
	// in order.
	First []PendingWorkload
}

// Orders has the orders of LocalQueues.
type Orders map[types.NamespacedName]*Order

// OrdersByUsage reports whether Kueue orders the Workloads of a ClusterQueue by the past usage of their
// LocalQueues before priority and age, if its configuration enables that (kueue: pkg/cache/queue,
// queueOrderingFunc; docs/reference/scheduling.md#order). It is false for nil.
func (q *ClusterQueue) OrdersByUsage() bool {
	return q != nil && q.Spec.AdmissionScope != nil && q.Spec.AdmissionScope.Mode == "UsageBasedAdmissionFairSharing"
}
