package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// byPlacements returns the answer from the placements on all candidate
// clusters, nominated or not. known is false if they were not read.
func (q *Question) byPlacements(manager *inspect.Facts, w *kueue.Workload) (a Answer, known bool) {
	all := q.Trace.Placements
	if len(all) == 0 {
		return a, false
	}
	if gate := placement.Gate(all); gate != nil {
		a = q.gated(gate, all)
		a.addUnreadOf([]inspect.Placement{*gate})
		return a, true
	}
	candidates := slices.DeleteFunc(slices.Clone(all), func(p inspect.Placement) bool { return p.Manager })
	isNever := placement.Overall(all) == inspect.Never
	if waits := otherChecks(manager, w); len(w.Status.Nominated) == 0 && len(waits) > 0 && !isNever {
		return a, false
	}
	if len(candidates) == 0 || !slices.ContainsFunc(candidates, func(p inspect.Placement) bool { return !isUnread(p) }) {
		return a, false
	}
	a = q.among(manager, w, candidates)
	if a.Reason == inspect.ReasonNotOffered || a.Reason == inspect.ReasonNoMirror {
		return a, true // These answers depend on no placement.
	}
	a.addNotRead(candidates)
	a.addUnreadOf(candidates)
	if len(a.Unchecked) > 0 && a.State == inspect.StateBlocked {
		a.State = inspect.StateWaiting
	}
	return a, true
}

// gated returns the answer if the management cluster itself does not let the Job pass. If no
// worker would either, the answer contains that, so that one change is enough.
func (q *Question) gated(p *inspect.Placement, all []inspect.Placement) Answer {
	workers := slices.DeleteFunc(slices.Clone(all), func(w inspect.Placement) bool { return w.Manager })
	a := Answer{State: stateBy(p.Verdict), Reason: reasonBy(p), Fixes: q.gateFixes(p, workers), preemption: q.preemptionAt(p)}
	a.Message = cmp.Or(uncoveredEverywhere(p, workers), strings.TrimSpace(q.needs(p)+" "+cmp.Or(closedQueues([]inspect.Placement{*p}), uncounted(p, workers))))
	if isSetup(p) && len(workers) > 0 && !slices.ContainsFunc(workers, func(w inspect.Placement) bool { return w.Verdict != inspect.Never }) {
		return q.alsoNever(a, p, workers)
	}
	isSmaller := func(w inspect.Placement) bool {
		return w.Reason == inspect.OverLimit && w.Resource == p.Resource && !lacksSeveral(&w) && !lacksSeveral(p)
	}
	if p.Reason != inspect.OverLimit || len(workers) == 0 || slices.ContainsFunc(workers, func(w inspect.Placement) bool { return !isSmaller(w) }) {
		return a
	}
	most := slices.MaxFunc(workers, func(x, y inspect.Placement) int { return compare(quantity(x.Limit), quantity(y.Limit)) })
	if compare(quantity(most.Limit), quantity(p.Limit)) < 0 {
		b := q.never(workers)
		b.Message += fmt.Sprintf(" The limit on %s is %s.", placeName(p), p.Limit)
		return b
	}
	a.Message += fmt.Sprintf(" The largest limit of a worker is %s (%s).", most.Limit, placeName(&most))
	if !p.SumsWorkers {
		alsoOnWorker(a.Fixes, p)
	}
	return a
}

// alsoOnWorker adds to the fixes of a manager that raise its quota that a worker needs more, too.
func alsoOnWorker(fixes []command.Fix, p *inspect.Placement) {
	isOfJob := func(text string) bool {
		return slices.ContainsFunc(p.Changes, func(c inspect.PlacementChange) bool { return c.Stem != "" && c.Message == text })
	}
	for i := range fixes {
		if f := &fixes[i]; len(f.Command) > 0 && !isOfJob(f.Text) {
			f.Text += ", and the quota of a worker"
		}
	}
}

// gateFixes returns what would help on a manager that keeps a Job from its workers. If its limit is the sum of its
// connected workers, that is a connection, or a higher quota of a worker: which Jobs hold that does not matter.
func (q *Question) gateFixes(p *inspect.Placement, workers []inspect.Placement) (fixes []command.Fix) {
	if !isLimitedBySum(p) {
		return q.fixesFor([]inspect.Placement{*p})
	}
	own := *p
	var counted []inspect.Placement
	for i := range workers {
		switch w := &workers[i]; {
		case isUnconnected(w):
			fixes = append(fixes, q.connectionFixes(w)...)
		case w.Reason == inspect.OverLimit && w.Resource == p.Resource && compare(quantity(w.Limit), quantity(p.Limit)) <= 0:
			counted = append(counted, *w) // A quota that is enough there is enough for the sum.
		}
	}
	if slices.ContainsFunc(counted, func(w inspect.Placement) bool { return slices.ContainsFunc(w.Changes, isOfCluster) }) {
		own.Changes = slices.DeleteFunc(slices.Clone(p.Changes), isOfCluster)
	}
	return append(fixes, q.changes(append([]inspect.Placement{own}, counted...))...)
}

// isOfCluster reports whether a change is one of a cluster, not of the Job.
func isOfCluster(c inspect.PlacementChange) bool { return c.Stem == "" }

// isLimitedBySum reports whether a Job exceeds the limit of its manager, which is the sum of the connected workers.
func isLimitedBySum(p *inspect.Placement) bool { return p.SumsWorkers && p.Reason == inspect.OverLimit }

// uncounted names the workers that do not count in the limit of their manager, because it cannot use them.
func uncounted(p *inspect.Placement, workers []inspect.Placement) string {
	var names []string
	for i := range workers {
		if isLimitedBySum(p) && isUnconnected(&workers[i]) {
			names = append(names, workers[i].Cluster)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("The limit lacks %s, which %s cannot use.", list(names), placeName(p))
}

// isSetup reports whether a queue or the namespace keeps a Job out, whatever the Job requests.
func isSetup(p *inspect.Placement) bool {
	return slices.Contains([]inspect.PlacementReason{inspect.NamespaceMissing, inspect.NamespaceNotSelected, inspect.QueueStopped, inspect.QueueInactive}, p.Reason)
}

// alsoNever adds to the answer for a Job that its manager keeps out that no worker can ever run it either. A fix
// for the workers is complete after that for the manager.
func (q *Question) alsoNever(a Answer, manager *inspect.Placement, workers []inspect.Placement) Answer {
	b, after := q.never(workers), "After that is corrected"
	if manager.Reason == inspect.QueueStopped {
		after = "After it is resumed"
	}
	a.coversAll = true
	a.Message += fmt.Sprintf(" %s: %s", after, lower(b.Message))
	if len(a.Fixes) == 0 || len(b.Fixes) == 0 {
		return a
	}
	for i := range b.Fixes {
		b.Fixes[i] = b.Fixes[i].FollowedBy(a.Fixes[0])
	}
	a.Fixes = b.Fixes
	return a
}

// among returns the answer from the candidates that were read.
func (q *Question) among(manager *inspect.Facts, w *kueue.Workload, all []inspect.Placement) Answer {
	by := map[inspect.Verdict][]inspect.Placement{}
	for _, p := range all {
		by[p.Verdict] = append(by[p.Verdict], p)
	}
	if fits := by[inspect.Fits]; len(fits) > 0 {
		return q.fits(manager, w, fits, all)
	}
	if waits := by[inspect.Waits]; len(waits) > 0 {
		a := q.withSetup(q.later(waits), by[inspect.Never])
		if len(by[inspect.Unknown]) == 0 && q.areBlockedForGood(waits) {
			a.State = inspect.StateBlocked
		}
		return a
	}
	if never := by[inspect.Never]; len(never) == len(all) {
		return q.withCost(manager, w, q.never(never))
	}
	a := Answer{State: inspect.StateWaiting, Reason: inspect.ReasonNoFlavor, Fixes: q.fixesIfRead(all)}
	if slices.ContainsFunc(all, func(p inspect.Placement) bool { return p.Reason == inspect.HasRoom }) {
		a.Reason = inspect.ReasonNotAdmitted
	}
	a.Message = reasonsByCluster(all, func(p *inspect.Placement) bool {
		return p.Reason != inspect.NoContext && p.Reason != inspect.Unreadable
	})
	return a
}

// never returns the answer if no candidate can ever run the Job as it is.
func (q *Question) never(all []inspect.Placement) Answer {
	a := Answer{State: inspect.StateBlocked, Reason: inspect.ReasonSetup, Fixes: q.fixesFor(all)}
	isTooLarge := func(p inspect.Placement) bool {
		return p.Reason == inspect.OverLimit && p.Resource == all[0].Resource && (len(all) == 1 || !lacksSeveral(&p))
	}
	switch {
	case !slices.ContainsFunc(all, func(p inspect.Placement) bool { return !isTooLarge(p) }):
		most := slices.MaxFunc(all, func(x, y inspect.Placement) int { return compare(quantity(x.Limit), quantity(y.Limit)) })
		a.Reason = inspect.ReasonOverLimit
		a.Message = q.needs(&most)
		if len(all) > 1 {
			a.Message = fmt.Sprintf("Needs %s; the largest limit is %s (%s, flavor %s).", needed(&most), limitOf(&most), placeName(&most), most.Flavor)
		}
		a.Message = strings.TrimSpace(a.Message + " " + closedQueues(all))
		return a
	case slices.ContainsFunc(all, func(p inspect.Placement) bool { return p.Reason == inspect.OverLimit }):
		a.Reason = inspect.ReasonOverLimit
	case slices.ContainsFunc(all, func(p inspect.Placement) bool {
		return p.Reason == inspect.FlavorMismatch || p.Reason == inspect.NoSuchResource
	}):
		a.Reason = inspect.ReasonNoFlavor
	case len(all) == 1:
		a.Reason = reasonBy(&all[0])
	}
	a.Message = reasonsByCluster(all, func(*inspect.Placement) bool { return true })
	return a
}

// fixesFor returns what would help on some clusters, best first: deleting
// orphans that hold the quota or, without orphans, waiting for its holder, or
// the right to see it. The smallest changes follow.
func (q *Question) fixesFor(all []inspect.Placement) []command.Fix {
	var fixes []command.Fix
	for i := range all {
		fixes = append(fixes, q.orphanFixes(&all[i])...)
	}
	if len(fixes) == 0 {
		fixes = q.waitFixes(all)
	}
	return append(fixes, q.changes(all)...)
}

// fixesIfRead returns what would help on some clusters. It is nil if one of them was not read: the Job may
// fit there as it is.
func (q *Question) fixesIfRead(all []inspect.Placement) []command.Fix {
	if slices.ContainsFunc(all, isUnread) {
		return nil
	}
	return q.fixesFor(all)
}

// waitFixes returns how the quota that a Job lacks gets free on the first cluster whose holders are
// known. If none are, it returns how to see them, and to wait.
func (q *Question) waitFixes(all []inspect.Placement) (fixes []command.Fix) {
	var refused, unread []string
	for i := range all {
		p := &all[i]
		if p.Verdict == inspect.Waits && len(p.Holders) > 0 {
			return q.holderFixes(p)
		}
		if p.Verdict != inspect.Waits || p.HoldersUnread == nil {
			continue
		}
		unread = append(unread, p.Context)
		if kubecontext.IsRefused(p.HoldersUnread) {
			refused = append(refused, p.Context)
		} else {
			fixes = append(fixes, advice.ShowReadError(p.Context, kueue.Resource("Workload")).Reached(q.Reach).Fixes()...)
		}
	}
	if len(refused) > 0 {
		fixes = append(advice.GetReadRights(inspect.UnreadWorkloads, refused).Fixes(), fixes...)
	}
	if len(unread) > 0 {
		fixes = append(fixes, command.Fix{Text: fmt.Sprintf("wait for the Jobs that hold the quota on %s to finish", list(unread)), Command: []string{}})
	}
	return fixes
}

// changes returns the changes of placements as fixes, smallest first and
// without duplicates: a change of the Job names all clusters that it is for, and has the steps for all.
func (q *Question) changes(all []inspect.Placement) []command.Fix {
	var changes []inspect.PlacementChange
	places := map[string][]inspect.ChangePlace{}
	for i := range all {
		for _, c := range all[i].Changes {
			same := slices.IndexFunc(changes, func(known inspect.PlacementChange) bool {
				return known.Message == c.Message || c.Stem != "" && known.Stem == c.Stem
			})
			place := inspect.ChangePlace{Context: all[i].Context, IsManager: all[i].Manager, Starts: c.Starts, After: c.After}
			if c.Stem != "" && !slices.ContainsFunc(places[c.Stem], func(known inspect.ChangePlace) bool { return known.Context == place.Context }) {
				places[c.Stem] = append(places[c.Stem], place)
			}
			if same < 0 {
				changes = append(changes, c)
				continue
			}
			changes[same].Then = command.AddSteps(changes[same].Then, c.Then)
			if c.Stem == "" && c.Share < changes[same].Share {
				// It is as small as on the cluster that needs least.
				changes[same].Share = c.Share
				moved := changes[same]
				changes = append(slices.Delete(changes, same, same+1), moved)
			}
		}
	}
	slices.SortStableFunc(changes, func(x, y inspect.PlacementChange) int { return cmp.Compare(x.Share, y.Share) })
	const maxChanges = 3
	var fixes []command.Fix
	for _, c := range changes[:min(maxChanges, len(changes))] {
		fix := command.Fix{Text: c.Message, Command: []string{}, Then: c.Then}
		if c.Stem != "" {
			fix.Text = c.Stem + inspect.OnClusters(places[c.Stem]) + c.Tail
		}
		if c.Command != "" {
			fix.Command = command.Words(c.Command)
		}
		fixes = append(fixes, fix)
	}
	return fixes
}

func stateBy(v inspect.Verdict) inspect.JobState {
	if v == inspect.Never {
		return inspect.StateBlocked
	}
	return inspect.StateWaiting
}

// reasonBy returns the reason of a Job from the reason of the placement that
// decides.
func reasonBy(p *inspect.Placement) inspect.JobReason {
	if p.Reason == inspect.SaidByKueue && p.Wait != nil {
		return reasonOfWait(p.Wait)
	}
	switch p.Reason {
	case inspect.OverLimit:
		return inspect.ReasonOverLimit
	case inspect.QuotaInUse:
		return inspect.ReasonQuotaInUse
	case inspect.BehindInQueue:
		return inspect.ReasonBehindInQueue
	case inspect.FlavorMismatch, inspect.NoSuchResource, inspect.SaidByKueue, inspect.DevicesUnresolved:
		return inspect.ReasonNoFlavor
	case inspect.CheckPending, inspect.CheckRejected:
		return inspect.ReasonAdmissionCheck
	case inspect.Deactivated, inspect.OnHold:
		return inspect.ReasonHeld
	case inspect.NoQueueLabel:
		return inspect.ReasonNoQueueLabel
	case inspect.NoContext, inspect.Unreadable:
		return inspect.ReasonUnread
	case inspect.NoNode:
		return inspect.ReasonUnschedulable
	case inspect.HasRoom, inspect.HasQuota, inspect.NothingInTheWay:
		return inspect.ReasonNotAdmitted
	default:
		return inspect.ReasonSetup
	}
}

func placeName(p *inspect.Placement) string { return cmp.Or(p.Context, p.Cluster) }

func namesOf(all []inspect.Placement) []string {
	names := make([]string, len(all))
	for i := range all {
		names[i] = placeName(&all[i])
	}
	return names
}

// quantity parses a quantity. It returns zero if the text is invalid.
func quantity(text string) resource.Quantity {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return resource.Quantity{}
	}
	return q
}

func compare(a, b resource.Quantity) int { return a.Cmp(b) }

// shortage returns how much a placement lacks.
func shortage(p *inspect.Placement) resource.Quantity { return difference(p.Needs, p.Free) }

// difference returns by how much a quantity exceeds another one.
func difference(more, less string) resource.Quantity {
	q := quantity(more)
	q.Sub(quantity(less))
	return q
}

// lower returns a text in the form in which it follows other text. Names keep
// their capital letter.
func lower(text string) string {
	first, _, _ := strings.Cut(text, " ")
	switch strings.TrimSuffix(first, "'s") {
	case "It", "Its", "No", "Needs", "Fits", "Quota", "Waits", "The", "You", "Would", "Cannot", "Last", "Unknown", "Ignored", "Flavor", "Does", "Topology",
		"Another", "Location", "None", "Only", "Requests", "Unfinished":
		return strings.ToLower(text[:1]) + text[1:]
	}
	return text
}

// message returns the message of a placement without "Kueue says".
func message(p *inspect.Placement) string { return strings.TrimPrefix(p.Message, "Kueue says: ") }

func because(f *inspect.Facts, err error) string {
	return kubecontext.InContext(f.Context, "", err).Message()
}
