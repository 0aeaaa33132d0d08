package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// holder names the first Job that holds the lacking quota.
func (q *Question) holder(p *inspect.Placement) string {
	if len(p.Holders) == 0 {
		return ""
	}
	h := p.Holders[0]
	if q.isOrphan(p.Context, &h) {
		return q.orphanHolder(p)
	}
	if p.Preempts {
		return fmt.Sprintf("Kueue can preempt %s.", list(victims(p)))
	}
	if len(h.OriginUnread) > 0 {
		return fmt.Sprintf("%s/%s holds %s; no context that was read has its origin.", h.Namespace, h.Name, h.Amount)
	}
	text, more := fmt.Sprintf("%s/%s holds %s", h.Namespace, h.Name, h.Amount), len(p.Holders)-1
	idle := q.idleHolders(p)
	if len(idle) > 0 && idle[0] == &p.Holders[0] {
		text += " without running"
	} else if len(idle) > 0 {
		text += fmt.Sprintf("; %s/%s holds %s without running", idle[0].Namespace, idle[0].Name, idle[0].Amount)
		more--
	}
	switch {
	case more == 1 && len(p.Holders) == 2:
		other := &p.Holders[1]
		text += fmt.Sprintf("; %s/%s holds %s", other.Namespace, other.Name, other.Amount)
	case more == 1:
		text += "; 1 other holds the rest"
	case more > 1:
		text += fmt.Sprintf("; %d others hold the rest", more)
	}
	if more > 0 && len(idle) == len(p.Holders) {
		text += " without running"
	}
	return text + "."
}

// victims returns the holders that a Job may preempt.
func victims(p *inspect.Placement) (names []string) {
	for i := range p.Holders {
		if h := &p.Holders[i]; h.Preemptible {
			names = append(names, h.Namespace+"/"+h.Name)
		}
	}
	return names
}

// idleHolders returns the Jobs that hold the lacking quota without running.
func (q *Question) idleHolders(p *inspect.Placement) (idle []*inspect.Holder) {
	for i := range p.Holders {
		if h := &p.Holders[i]; q.isIdle(p.Context, h) {
			idle = append(idle, h)
		}
	}
	return idle
}

// isIdle reports whether a Job holds quota on a cluster without running: it waits for a worker or for its Pods, and
// after a minute, something keeps it from running. A Job that was not read counts as running once it is admitted.
func (q *Question) isIdle(context string, h *inspect.Holder) bool {
	isLate := h.Since != nil && q.Inventory.Age(context, h.Since.Time) > time.Minute
	return h.Amount != "" && (isLate && (!h.Admitted || q.hasNoWorker(context, h)) || q.stuckFinding(context, h) != nil)
}

// hasNoWorker reports whether Kueue has admitted a holder for MultiKueue without giving it to a
// worker, because its queue has no MultiKueue check. Such a Job never runs.
func (q *Question) hasNoWorker(context string, h *inspect.Holder) bool {
	v := q.inventoryOf(h)
	f := v.Facts(context)
	if f == nil || f.Kueue == nil {
		return false
	}
	i := slices.IndexFunc(f.Jobs, func(j *inspect.Job) bool {
		return j.Kind == h.Kind && j.Namespace == h.Namespace && j.Name == h.Name
	})
	if i < 0 || f.Jobs[i].ManagedBy != delegation.MultiKueue || !f.Jobs[i].Waits() {
		return false
	}
	w := inspect.CurrentWorkload(v.WorkloadsOf(inspect.Pair{Origin: f.Jobs[i]}, f))
	return w != nil && w.Is(kueue.Admitted) && w.ChosenCluster() == "" && len(w.Status.AdmissionChecks) == 0
}

// isOrphan reports whether an object that holds quota on a context is an
// orphan.
func (q *Question) isOrphan(context string, h *inspect.Holder) bool {
	return h.Orphan || q.orphanFinding(context, h) != nil
}

// orphanFinding returns the finding about an orphan that holds quota on a
// context, nil if there is none.
func (q *Question) orphanFinding(context string, h *inspect.Holder) *inspect.Finding {
	for i := range q.Findings {
		f := &q.Findings[i]
		if IsOrphan(f.Code) && f.Context == context && f.Namespace == h.Namespace && f.Name == h.Name {
			return f
		}
	}
	return nil
}

// holderType returns the kind of a holder of quota for kubectl. Only Workloads without an owner
// hold it themselves.
func holderType(kind string) string {
	if k, known := delegation.KindNamed(kind); known {
		return command.KindName(k)
	}
	if kind == "Workload" {
		return kueue.Resource(kind)
	}
	return strings.ToLower(kind)
}

// collected is the code of orphans that Kueue itself deletes.
const collected = "JM053"

// orphanFix returns the fix that releases the quota of an orphan. Kueue itself deletes orphans
// every minute, unless multiKueue.gcInterval is 0s. Findings about other orphans have their own fix.
func (q *Question) orphanFix(context string, h *inspect.Holder) command.Fix {
	if f := q.orphanFinding(context, h); f != nil && f.Code != collected && len(f.Fixes) > 0 {
		fix := f.Fixes[0]
		fix.Text = fmt.Sprintf("release %s %s that orphan %s/%s holds on %s: %s", h.Amount, h.Resource, h.Namespace, h.Name, context, cmp.Or(fix.Text, "delete it"))
		return fix
	}
	fix := command.Fix{Command: q.words(command.Kubectl(context, h.Namespace, "delete", holderType(h.Kind), h.Name))}
	fix.Text = fmt.Sprintf("wait one minute, then delete orphan %s/%s on %s if it still exists (holds %s %s)", h.Namespace, h.Name, context, h.Amount, h.Resource)
	return fix
}

// holderFixes returns how the quota that a Job lacks gets free: its holder finishes. Holders that do not run may
// never finish, so how to release their quota comes first, if that is enough.
func (q *Question) holderFixes(p *inspect.Placement) []command.Fix {
	if p.Reason == inspect.BehindInQueue {
		return q.queueFixes(p)
	}
	h := p.Holders[0]
	if p.Preempts {
		return []command.Fix{{Text: fmt.Sprintf("wait: Kueue on %s preempts %s, which may run again later", p.Context, list(victims(p))), Command: []string{}}}
	}
	idle := q.idleHolders(p)
	if len(idle) == 0 {
		return []command.Fix{waitFor(p, &h)}
	}
	released, missing := enough(idle, p)
	release := q.release(p.Context, released, missing)
	running := slices.IndexFunc(p.Holders, func(h inspect.Holder) bool { return !q.isIdle(p.Context, &h) })
	switch {
	case running < 0:
		return release
	case missing == "":
		return append(release, waitFor(p, &p.Holders[running]))
	}
	return append([]command.Fix{waitFor(p, &p.Holders[running])}, release...)
}

// waitFor returns the fix that waits until a holder of the quota that a Job lacks finishes.
func waitFor(p *inspect.Placement, h *inspect.Holder) command.Fix {
	if len(h.OriginUnread) > 0 {
		return command.Fix{
			Text:    fmt.Sprintf("wait for %s/%s on %s to finish; if %s has no origin of it, it is an orphan", h.Namespace, h.Name, p.Context, list(h.OriginUnread)),
			Command: []string{},
		}
	}
	text := fmt.Sprintf("wait for %s/%s on %s to finish", h.Namespace, h.Name, p.Context)
	lack := shortage(p)
	if others := len(p.Holders) - 1; others > 0 && compare(quantity(h.Amount), lack) < 0 {
		text = fmt.Sprintf("wait for %s/%s and others on %s to finish", h.Namespace, h.Name, p.Context)
	}
	return command.Fix{Text: text, Command: []string{}}
}

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
