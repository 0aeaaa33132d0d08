package kueue

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// VisibilityGroup is the API by which Kueue tells the order of its queues, as it has it in
// memory. It is served by Kueue itself, behind the API server, and need not be there (kueue:
// pkg/visibility; docs/reference/scheduling.md#order).
const VisibilityGroup = "visibility.kueue.x-k8s.io"

// PendingWorkload is one that waits in a queue.
type PendingWorkload struct {
	metav1.ObjectMeta `json:"metadata"`
	Priority          int32 `json:"priority"`
	// Before is how many of the same ClusterQueue come before it.
	Before int `json:"positionInClusterQueue"`
}

// Claim is what such a Workload tells of itself.
func (w *PendingWorkload) Claim() *Claim {
	c := &Claim{Namespace: w.Namespace, Name: w.Name, CreatedAt: w.CreationTimestamp.Time}
	if owner := metav1.GetControllerOf(w); owner != nil {
		c.Kind, c.Owner = owner.Kind, owner.Name
	}
	return c
}

// Order is what Kueue itself says of those that wait in the ClusterQueue behind a LocalQueue.
type Order struct {
	// Before are how many come before the Workloads that were asked for, by their names.
	Before map[string]int
	// First are the first of the ClusterQueue that may be looked at, in their order.
	First []PendingWorkload
}

// Orders are those of LocalQueues.
type Orders map[types.NamespacedName]*Order
