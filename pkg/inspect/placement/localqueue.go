package placement

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// createLocalQueue adds the change that creates the LocalQueue of the request.
func (s *site) createLocalQueue() {
	queue := kueue.QueueFor(s.capacity.ClusterQueues, s.role.clusterQueue)
	starts := s.startsIn(queue)
	for _, c := range s.fixesOf(kueue.Wait{Reason: kueue.ReasonLocalQueueMissing}, queue) {
		c.Starts = starts
		s.change(c)
	}
}

// startsIn reports whether the request would start at once if its LocalQueue pointed to a ClusterQueue.
func (s *site) startsIn(q *kueue.ClusterQueue) bool {
	if q == nil {
		return false
	}
	with := s.role
	with.assumed = &kueue.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: s.request.Namespace, Name: s.request.Queue}}
	with.assumed.Spec.ClusterQueue = q.Name
	return newSite(s.facts, s.request, s.around, with, nil).judge().Verdict == inspect.Fits
}
