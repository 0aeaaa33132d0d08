package inspect

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Blocker explains a Workload that Kueue ignores although Kueue runs. The Workload waits behind
// another one, or equals one that does not fit. Kueue sets a condition in neither case (see
// docs/reference/scheduling.md#order).
type Blocker struct {
	Queue *kueue.ClusterQueue
	// Workload is the other Workload, and Condition its QuotaReserved condition.
	Workload  *kueue.Workload
	Condition *metav1.Condition
	// IsHead is whether the other Workload comes first in a StrictFIFO queue; if not, it is an
	// equal one.
	IsHead bool
}

// BlockerOf returns the Workload that a Workload without a QuotaReserved condition waits for; nil
// if it has the condition, or nothing explains its absence.
func (f *Facts) BlockerOf(w *kueue.Workload) *Blocker {
	if f == nil || f.Kueue == nil || !isInQueue(w) || hasWord(w) {
		return nil
	}
	queue := f.clusterQueueOf(w)
	if queue == nil {
		return nil
	}
	isStrict := queue.Spec.QueueingStrategy == kueue.StrictFIFO
	var first *kueue.Workload
	for _, o := range f.Kueue.Workloads {
		switch {
		case o == w || !f.isHeldIn(queue, o):
		case isStrict && comesBefore(o, w) && (first == nil || comesBefore(o, first)), !isStrict && o.IsLike(w):
			first = o
		}
	}
	if first == nil {
		return nil
	}
	return &Blocker{Queue: queue, Workload: first, Condition: first.Condition(kueue.QuotaReserved), IsHead: isStrict}
}

// hasWord says whether Kueue has reported anything about a Workload's quota. A condition that says
// that Kueue has not evaluated it yet, as Kueue writes from 0.19 on, does not count.
func hasWord(w *kueue.Workload) bool {
	c := w.Condition(kueue.QuotaReserved)
	return c != nil && c.Reason != kueue.PendingEvaluation
}

// isHeldIn says whether a Workload waits for quota in a queue. Others can only wait behind such a
// Workload.
func (f *Facts) isHeldIn(queue *kueue.ClusterQueue, w *kueue.Workload) bool {
	wait := w.Waiting()
	return isInQueue(w) && wait.IsForQuota() && f.clusterQueueOf(w) == queue
}

// clusterQueueOf returns the ClusterQueue of a Workload's LocalQueue, nil if unknown.
func (f *Facts) clusterQueueOf(w *kueue.Workload) *kueue.ClusterQueue {
	local := f.Kueue.LocalQueueNamed(w.Namespace, w.Spec.QueueName)
	if local == nil {
		return nil
	}
	return f.Kueue.ClusterQueueNamed(local.Spec.ClusterQueue)
}

// IsIgnored says whether a Workload is in a queue without a QuotaReserved condition.
func IsIgnored(w *kueue.Workload) bool {
	return isInQueue(w) && w.Condition(kueue.QuotaReserved) == nil
}

// isInQueue says whether a queue should find quota for a Workload.
func isInQueue(w *kueue.Workload) bool {
	return w.IsActive() && w.DeletionTimestamp == nil && !w.Is(kueue.Finished)
}

func comesBefore(a, b *kueue.Workload) bool { return a.Rank().Compare(b.Rank()) < 0 }
