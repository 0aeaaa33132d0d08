package answer

import (
	"fmt"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// queueFixes returns how a Job behind others in a StrictFIFO queue gets to its head: Kueue admits them. One that never runs
// blocks the queue for good once it is the head, so it must be removed.
func (q *Question) queueFixes(p *inspect.Placement) (fixes []command.Fix) {
	h := &p.Holders[0]
	wait := fmt.Sprintf("wait until Kueue admits %s/%s on %s", h.Namespace, h.Name, p.Context)
	for i := range p.Blockers {
		b := &p.Blockers[i]
		f := q.blockingFinding(p, b)
		if f == nil {
			continue
		}
		what := fmt.Sprintf("remove %s/%s from the head of ClusterQueue %s on %s", b.Namespace, b.Name, b.ClusterQueue, p.Context)
		if i > 0 {
			what = fmt.Sprintf("remove %s/%s, which never runs, from ClusterQueue %s on %s", b.Namespace, b.Name, b.ClusterQueue, p.Context)
		}
		if i > 0 && len(fixes) == 0 {
			what = wait + ", and " + what
		}
		switch own := q.removal(p.Context, b, f, what); {
		case len(own) == 0:
		case len(fixes) == 0:
			fixes = own
		default:
			fixes = []command.Fix{fixes[0].FollowedBy(own[0])}
		}
	}
	if len(fixes) > 0 {
		return fixes
	}
	return []command.Fix{{Text: wait, Command: []string{}}}
}

// blockingFinding returns the finding that a Workload ahead of a Job in a StrictFIFO queue never runs, nil without one.
func (q *Question) blockingFinding(p *inspect.Placement, b *inspect.Holder) *inspect.Finding {
	if f := q.stuckFinding(p.Context, b); f != nil && neverRuns(f) {
		return f
	}
	return nil
}

// areBlockedForGood reports whether a Job is behind a Workload that never runs in the StrictFIFO queues of all clusters.
func (q *Question) areBlockedForGood(all []inspect.Placement) bool {
	return !slices.ContainsFunc(all, func(p inspect.Placement) bool {
		isBlocked := p.Reason == inspect.BehindInQueue && slices.ContainsFunc(p.Blockers, func(b inspect.Holder) bool { return q.blockingFinding(&p, &b) != nil })
		return !isBlocked
	})
}
