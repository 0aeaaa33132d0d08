package answer

import (
	"fmt"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// orphanHolder names the orphan that holds the lacking quota and, if orphans hold only a part of it, the other holders.
func (q *Question) orphanHolder(p *inspect.Placement) string {
	h := &p.Holders[0]
	text := fmt.Sprintf("Orphan %s/%s holds %s", h.Namespace, h.Name, h.Amount)
	orphans, rest := q.splitOrphans(p)
	if p.Preempts || compare(quantity(h.Amount), shortage(p)) >= 0 {
		return text + "."
	}
	for _, h := range orphans[1:] {
		text += fmt.Sprintf("; orphan %s/%s holds %s", h.Namespace, h.Name, h.Amount)
	}
	if !isShort(rest) || len(rest.Holders) == 0 {
		return text + "."
	}
	return text + "; " + q.holder(rest)
}

// splitOrphans returns the orphans that hold the quota that a Job lacks, and the placement as it is without them: their
// quota is free.
func (q *Question) splitOrphans(p *inspect.Placement) (orphans []*inspect.Holder, rest *inspect.Placement) {
	without, free := *p, quantity(p.Free)
	without.Holders = nil
	for i := range p.Holders {
		h := &p.Holders[i]
		if !q.isOrphan(p.Context, h) {
			without.Holders = append(without.Holders, *h)
			continue
		}
		orphans = append(orphans, h)
		free.Add(quantity(h.Amount))
	}
	without.Free = free.String()
	return orphans, &without
}

// isShort reports whether a Job lacks quota on a cluster.
func isShort(p *inspect.Placement) bool { return compare(shortage(p), quantity("0")) > 0 }

// orphanFixes returns how the quota that orphans hold gets free, each way sufficient alone: one orphan if it holds enough,
// otherwise all of them and, if they hold only a part of what the Job lacks, the end of another holder.
func (q *Question) orphanFixes(p *inspect.Placement) (fixes []command.Fix) {
	orphans, rest := q.splitOrphans(p)
	for _, h := range orphans {
		fix := q.orphanFix(p.Context, h)
		isPart := p.Reason == inspect.QuotaInUse && compare(quantity(h.Amount), shortage(p)) < 0
		if isPart && len(fixes) > 0 {
			fixes[0] = fixes[0].FollowedBy(fix)
		} else {
			fixes = append(fixes, fix)
		}
	}
	if p.Reason != inspect.QuotaInUse || len(fixes) == 0 || p.Preempts || !isShort(rest) || len(rest.Holders) == 0 {
		return fixes
	}
	fixes[0] = fixes[0].FollowedBy(q.holderFixes(rest)[0])
	return fixes
}
