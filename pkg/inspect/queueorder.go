package inspect

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Blocker is why Kueue says nothing of a Workload, though it runs: the Workload waits
// behind another one, or is equal to one for which there is no room (see
// docs/reference/scheduling.md#order). Neither gets a condition.
type Blocker struct {
	Queue *kueue.ClusterQueue
	// Workload is the other one, and Condition what Kueue says of that.
	Workload  *kueue.Workload
	Condition *metav1.Condition
	// IsHead is whether the other one stands before it in a queue that lets nobody
	// pass; if not, it is an equal.
	IsHead bool
}

// BlockerOf finds what a Workload waits for of which Kueue has said nothing; nil if
// it is not such a one, or nothing explains it.
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

// hasWord says whether Kueue has said anything of a Workload's quota. That it has not
// looked at it so far, which it writes down from 0.19 on, is nothing.
func hasWord(w *kueue.Workload) bool {
	c := w.Condition(kueue.QuotaReserved)
	return c != nil && c.Reason != kueue.PendingEvaluation
}

// isHeldIn returns whether a Workload waits for quota in a queue. Others can only wait
// behind such a Workload.
func (f *Facts) isHeldIn(queue *kueue.ClusterQueue, w *kueue.Workload) bool {
	wait := w.Waiting()
	return isInQueue(w) && wait.IsForQuota() && f.clusterQueueOf(w) == queue
}

// clusterQueueOf is the ClusterQueue that a Workload's LocalQueue leads to, nil if it
// is not known.
func (f *Facts) clusterQueueOf(w *kueue.Workload) *kueue.ClusterQueue {
	local := f.Kueue.LocalQueueNamed(w.Namespace, w.Spec.QueueName)
	if local == nil {
		return nil
	}
	return f.Kueue.ClusterQueueNamed(local.Spec.ClusterQueue)
}

// IsIgnored says whether a Workload stands in a queue, and Kueue has said nothing of its
// quota.
func IsIgnored(w *kueue.Workload) bool {
	return isInQueue(w) && w.Condition(kueue.QuotaReserved) == nil
}

// isInQueue says whether a Workload is one that a queue tries to find room for.
func isInQueue(w *kueue.Workload) bool {
	return w.IsActive() && w.DeletionTimestamp == nil && !w.Is(kueue.Finished)
}

func comesBefore(a, b *kueue.Workload) bool { return a.Turn().Compare(b.Turn()) < 0 }
