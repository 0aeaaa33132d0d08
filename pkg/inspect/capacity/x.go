package capacity

import (
	"slices"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// LastEnd returns when the last Workload that a ClusterQueue has admitted
// ends at the latest. The first waiting Workload starts then at the latest,
// if it fits at all. ok is false if nothing limits that time, or if the first
// one may start later: a later Job may pass it, a cohort may take the freed
// quota, or an AdmissionCheck must answer too.
func (n *Node) LastEnd() (by time.Time, ok bool) {
	isAlone := n.Parent == nil && n.Queue.Cohort() == ""
	if n.Queue.Spec.QueueingStrategy != kueue.StrictFIFO || !isAlone || len(n.Claims) == 0 || kueue.IsStopped(n.Queue.Spec.StopPolicy) || len(n.Queue.Checks()) > 0 {
		return by, false
	}
	if slices.ContainsFunc(n.Claims, func(c *kueue.Claim) bool { return c.EndsBy.IsZero() }) {
		return by, false
	}
	last := slices.MaxFunc(n.Claims, func(a, b *kueue.Claim) int { return a.EndsBy.Compare(b.EndsBy) })
	return last.EndsBy, true
}
