package placement

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// bound fills in when a Job that waits for quota starts at the latest. That
// is known only for the first Job of a StrictFIFO queue without a cohort: it
// waits only for Jobs that are admitted now, and no other Job may pass it. In
// other queues, a later Job may take freed quota first.
func (s *site) bound() {
	if s.capacity.Gaps[inspect.PartClaims] != nil || s.capacity.Gaps[inspect.PartQueues] != nil || len(s.ahead()) > 0 {
		return
	}
	if by, ok := s.queue.LastEnd(); ok {
		s.StartsBy = &metav1.Time{Time: by}
	}
}
