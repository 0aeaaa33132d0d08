package placement

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/capacity"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// bound fills in when what waits for quota starts at the latest. It waits only for what is admitted
// now, so that nothing may pass it: that holds for the first one of a StrictFIFO queue without a
// cohort. In any other queue a later Job may take what becomes free first.
func (s *site) bound() {
	if s.room.Gaps[inspect.PartClaims] != nil || s.room.Gaps[inspect.PartQueues] != nil || len(s.ahead()) > 0 {
		return
	}
	if by, ok := lastEnd(s.queue); ok {
		s.StartsBy = &metav1.Time{Time: by}
	}
}

// lastEnd is when all Workloads that a queue has admitted have ended at the latest; ok is false
// where nothing bounds that, or where others may take the quota before the first one that waits.
func lastEnd(n *capacity.Node) (by time.Time, ok bool) {
	isAlone := n.Parent == nil && n.Queue.Cohort() == ""
	if n.Queue.Spec.QueueingStrategy != kueue.StrictFIFO || !isAlone || len(n.Claims) == 0 || kueue.IsStopped(n.Queue.Spec.StopPolicy) {
		return by, false
	}
	if slices.ContainsFunc(n.Claims, func(c *kueue.Claim) bool { return c.EndsBy.IsZero() }) {
		return by, false
	}
	last := slices.MaxFunc(n.Claims, func(a, b *kueue.Claim) int { return a.EndsBy.Compare(b.EndsBy) })
	return last.EndsBy, true
}
