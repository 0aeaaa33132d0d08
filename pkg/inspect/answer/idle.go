package answer

import (
	"cmp"
	"fmt"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// enough returns the first holders that together hold what a placement lacks, of those whose quota a fix releases. If all
// of them hold only a part of that, it returns all, and what is missing. Holders are known of one resource only, so
// they are a part if several are short.
func enough(holders []*inspect.Holder, p *inspect.Placement) (first []*inspect.Holder, missing string) {
	lack, held := shortage(p), quantity("0")
	if lacksSeveral(p) {
		missing = inspect.Amounts(p.Short, func(r *inspect.ResourceRoom) string {
			short := difference(r.Asked, r.Free)
			return short.String() + " " + r.Resource
		})
	}
	for _, h := range holders {
		if _, isKind := delegation.KindNamed(h.Kind); !isKind {
			continue
		}
		first = append(first, h)
		held.Add(quantity(h.Amount))
		if compare(held, lack) >= 0 {
			return first, missing
		}
	}
	return first, cmp.Or(missing, lack.String())
}

// release returns how the quota of holders that do not run gets free. For several holders it is one fix, whose steps
// are the first fix of each. missing is what is missing, if the holders have only a part of it.
func (q *Question) release(context string, holders []*inspect.Holder, missing string) (fixes []command.Fix) {
	for i, h := range holders {
		own := q.idleFixes(context, h, missing)
		switch {
		case len(own) == 0:
		case len(fixes) == 0 && i == len(holders)-1:
			return own
		case len(fixes) == 0:
			fixes = own[:1:1]
		default:
			fixes[0] = fixes[0].FollowedBy(own[0])
		}
	}
	return fixes
}

// idleFixes returns how the quota of a holder that does not run gets free: by removing a Job that no worker
// takes, otherwise by what the trace of the Job says. missing is as in release.
func (q *Question) idleFixes(context string, h *inspect.Holder, missing string) []command.Fix {
	f := q.stuckFinding(context, h)
	if f != nil && neverRuns(f) {
		what := fmt.Sprintf("release %s that %s/%s holds on %s without running", amountOf(h, missing), h.Namespace, h.Name, context)
		return q.removal(context, h, f, what)
	}
	k, known := delegation.KindNamed(h.Kind)
	if !known {
		return nil
	}
	if f != nil {
		context = q.holderIn(f, context, h).Context
	}
	return []command.Fix{{
		Text:    fmt.Sprintf("find out why %s/%s holds %s without running", h.Namespace, h.Name, amountOf(h, missing)),
		Command: q.words(command.PluginFor(k, "trace", context, h.Namespace, h.Name)),
	}}
}

// amountOf returns how much a holder has, such as "2 cpu" or "2 cpu of the missing 4".
func amountOf(h *inspect.Holder, missing string) string {
	if missing == "" {
		return h.Amount + " " + h.Resource
	}
	return fmt.Sprintf("%s %s of the missing %s", h.Amount, h.Resource, missing)
}
