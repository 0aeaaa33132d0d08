package answer

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// stuckFinding returns the finding that a holder never runs: no worker takes it, or it never gets its mirror
// or Pods, or its Pods have not started in time. It returns nil without such a finding. Such a Job holds its
// quota without running.
func (q *Question) stuckFinding(context string, h *inspect.Holder) *inspect.Finding {
	for i := range q.Findings {
		f := &q.Findings[i]
		isStuck := neverMirrored(f.Code) || neverRuns(f) && !h.Admitted || f.Code == podsMissing && !q.mayRun(context, h, f.Young)
		if isStuck && q.holderIn(f, context, h) != nil {
			return f
		}
	}
	return nil
}

// holderIn returns the Job of a finding that is the holder of quota on a cluster, nil if none is.
func (q *Question) holderIn(f *inspect.Finding, context string, h *inspect.Holder) *inspect.Ref {
	for i := range f.Jobs {
		r := &f.Jobs[i]
		if q.kindOf(f, *r) == h.Kind && q.holds(*r, context, h) {
			return r
		}
	}
	return nil
}

// kindOf returns the kind of a Job of a finding. The finding may be about another object, such as a queue.
func (q *Question) kindOf(f *inspect.Finding, r inspect.Ref) string {
	for _, v := range append([]*inspect.Inventory{q.around()}, q.Holders.Inventories...) {
		if j := v.Facts(r.Context).JobOf(r.UID); j != nil {
			return j.Kind
		}
	}
	return f.Kind
}

// around returns the inventory that has the other Jobs of the namespace.
func (q *Question) around() *inspect.Inventory { return cmp.Or(q.Around, q.Inventory) }

// inventoryOf returns the inventory that has the Job that holds quota.
func (q *Question) inventoryOf(h *inspect.Holder) *inspect.Inventory {
	for _, v := range q.Holders.Inventories {
		if hasJob(v, h) {
			return v
		}
	}
	return q.around()
}

// Holders is what was read about Jobs of other namespaces or kinds that hold what a Job waits for.
type Holders struct {
	Inventories []*inspect.Inventory
	Findings    []inspect.Finding
}

// add adds what was read about more Jobs.
func (h *Holders) add(more Holders) {
	h.Inventories, h.Findings = append(h.Inventories, more.Inventories...), append(h.Findings, more.Findings...)
}

// maxHolders limits the Jobs that UnreadHolders returns: the largest holders.
const maxHolders = 3

// UnreadHolders returns the Jobs that hold what a traced Job waits for, and that an inventory lacks: those of
// other namespaces and kinds, as far as their kind is known.
func UnreadHolders(v *inspect.Inventory, t *inspect.Trace) (found []inspect.Holder) {
	for _, p := range deciding(t.Placements) {
		holders := slices.Concat(p.Holders, p.Blockers)
		for i := range holders {
			h := &holders[i]
			isSame := func(known inspect.Holder) bool {
				return known.Kind == h.Kind && known.Namespace == h.Namespace && known.Name == h.Name
			}
			if _, isKind := delegation.KindNamed(h.Kind); len(found) < maxHolders && isKind && !hasJob(v, h) && !slices.ContainsFunc(found, isSame) {
				found = append(found, *h)
			}
		}
	}
	return found
}

// hasJob reports whether an inventory has the Job that holds quota, or its mirror.
func hasJob(v *inspect.Inventory, h *inspect.Holder) bool {
	return slices.ContainsFunc(v.Clusters, func(f *inspect.Facts) bool {
		return slices.ContainsFunc(f.Jobs, func(j *inspect.Job) bool { return j.Kind == h.Kind && j.Namespace == h.Namespace && j.Name == h.Name })
	})
}

// holds reports whether a Job or its mirror is the holder of quota on a cluster. Another Job there may have
// the same name.
func (q *Question) holds(r inspect.Ref, context string, h *inspect.Holder) bool {
	if r.Namespace != h.Namespace || r.Name != h.Name {
		return false
	}
	if r.Context == context || !h.IsLocal {
		return true
	}
	for _, p := range q.inventoryOf(h).Pairs.Pairs {
		if inspect.RefOf(p.Origin) == r {
			return slices.ContainsFunc(p.Mirrors, func(m inspect.Mirror) bool { return m.Job.Context == context })
		}
	}
	return false
}

// mayRun reports whether Pods of a holder run, or may soon, as far as that was read. isYoung is whether its
// Pods still have time to start. Pods that the scheduler finds no node for do not start soon.
func (q *Question) mayRun(context string, h *inspect.Holder, isYoung bool) bool {
	f := q.inventoryOf(h).Facts(context)
	if f == nil {
		return true
	}
	i := slices.IndexFunc(f.Jobs, func(j *inspect.Job) bool { return j.Kind == h.Kind && j.Namespace == h.Namespace && j.Name == h.Name })
	if i < 0 || !f.Jobs[i].Row().IsJob() {
		return true
	}
	j, pods := f.Jobs[i], f.PodsOf(f.Jobs[i])
	isUnscheduled := len(pods) > 0 && !slices.ContainsFunc(pods, func(p *inspect.Pod) bool { return !p.IsUnschedulable() })
	return j.Active > 0 && (isYoung && !isUnscheduled || !isWithoutReady(j) || slices.ContainsFunc(pods, (*inspect.Pod).IsRunning))
}

// removal returns what ends a Job that no worker takes. Such a Job holds quota, or blocks its queue. The first fix
// deactivates its Workload, and the second one lets it run. what says what the first one achieves.
func (q *Question) removal(context string, h *inspect.Holder, f *inspect.Finding, what string) (fixes []command.Fix) {
	name := h.Namespace + "/" + h.Name
	ref := q.holderIn(f, context, h)
	v := q.inventoryOf(h)
	manager := v.Facts(ref.Context)
	if j := manager.JobOf(ref.UID); j != nil {
		if w := inspect.CurrentWorkload(v.WorkloadsOf(inspect.Pair{Origin: j}, manager)); w != nil {
			fixes = append(fixes, q.deactivate(manager.Context, w, what+": deactivate its Workload"))
		}
	}
	own := q.fixesOf(v, *ref, f)
	if len(own) == 0 {
		return fixes
	}
	fix := own[0]
	fix.Text = fmt.Sprintf("let %s run: %s", name, cmp.Or(fix.Text, "see finding "+f.Code))
	return append(fixes, fix)
}

// fixesOf returns the fixes of another Job that a finding is about: those of its answer, as check prints them, if
// that depends on quotas, which a rule does not compare.
func (q *Question) fixesOf(v *inspect.Inventory, r inspect.Ref, f *inspect.Finding) []command.Fix {
	p, isKnown := pairsByOrigin(v)[r]
	if !isKnown || !isAdvised(f) {
		return f.Fixes
	}
	other := ask(v, placement.Around(v), p, f, q.Reach)
	Fill(*other)
	if t := other.Trace; t.State == inspect.StateBlocked && other.isAboutQuota() && len(t.Fixes) > 0 {
		return t.Fixes
	}
	return f.Fixes
}

// deactivate returns the fix that takes the quota of a Workload away.
func (q *Question) deactivate(context string, w *kueue.Workload, text string) command.Fix {
	return command.Fix{
		Text:    text + " (the Job then stays suspended until you set active to true)",
		Command: q.words(kueue.Patch(context, "Workload", w.Namespace, w.Name, false, "spec", "active")),
	}
}

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
