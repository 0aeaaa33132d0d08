package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/chain"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// waiting returns the answer for a Job that has no mirror and has not
// finished.
func (q *Question) waiting() Answer {
	o := q.Pair.Origin
	if a, known := q.inKueue(); known {
		return a
	}
	switch {
	case o.ManagedBy.IsBuiltIn():
		return q.builtIn(o, q.Trace.Hops)
	case len(q.Pair.Namesakes) > 0:
		j := q.Pair.Namesakes[0]
		return Answer{
			State: inspect.StateBlocked, Reason: inspect.ReasonSetup,
			Message: fmt.Sprintf("Another %s of this name exists on %s.", j.Kind, j.Context),
		}
	case o.AwaitsDispatch() && o.Pinned().IsZero() && o.Status != delegation.Running:
		to := "CONTEXT"
		for i := range q.Trace.Placements {
			if p := &q.Trace.Placements[i]; to == "CONTEXT" && p.Reason == inspect.NothingInTheWay {
				to = p.Context
			}
		}
		return Answer{
			State: inspect.StateWaiting, Reason: inspect.ReasonUndispatched, Message: "It was not dispatched to a cluster yet.",
			Unchecked: unreadOf(q.Trace.Placements),
			Fixes:     []command.Fix{{Text: "dispatch it", Command: q.words(command.PluginFor(o.Row(), "dispatch", o.Context, o.Namespace, o.Name).With("--to", to))}},
		}
	case o.Status == delegation.Unclaimed && o.Pinned().IsZero():
		a := Answer{State: inspect.StateBlocked, Reason: inspect.ReasonUnclaimed, Message: fmt.Sprintf("No sign of controller %s.", o.ManagedBy)}
		a.addUnread(q.unseen("mirror of " + o.Namespace + "/" + o.Name))
		return a
	case o.Suspended:
		return suspended(o)
	}
	return q.withoutMirror()
}

// withoutMirror returns the answer if no mirror was found, and nothing
// explains that.
func (q *Question) withoutMirror() Answer {
	o := q.Pair.Origin
	a := Answer{State: inspect.StateUnknown, Reason: inspect.ReasonNoMirror}
	if o.Status == delegation.Running {
		a.State = inspect.StateRunning
	}
	if place := o.Marks; place != nil && !place.Mirror.IsZero() && !q.isRead(place.Mirror) {
		q.dispatchedUnread(&a, place.Mirror)
		return a
	}
	a.Message = "No mirror found" + q.onRead() + "."
	if a.State == inspect.StateRunning && !o.IsDispatched() && o.ManagedBy != delegation.MultiKueue && !o.ManagedBy.IsBuiltIn() {
		a.Message = fmt.Sprintf("Location unknown: %s does not mark its mirrors.", o.ManagedBy)
	}
	a.addUnread(q.unseen("mirror of " + o.Namespace + "/" + o.Name))
	return a
}

// onRead names the contexts that were read, with a leading " on ".
func (q *Question) onRead() string {
	var read []string
	for _, f := range q.Inventory.Clusters {
		if f.Err == nil {
			read = append(read, f.Context)
		}
	}
	if len(read) == 0 {
		return ""
	}
	return " on " + strings.ReplaceAll(list(read), " and ", " or ")
}

func (q *Question) isRead(place delegation.Place) bool {
	return slices.ContainsFunc(q.Inventory.Clusters, func(f *inspect.Facts) bool {
		return f.Err == nil && place.On(f.Cluster()) == delegation.CertainlySame
	})
}

// unseen returns what may be on contexts that were not read, nil if all were
// read.
func (q *Question) unseen(what string) []inspect.Unchecked {
	unread := q.unread()
	if len(unread) == 0 {
		return nil
	}
	return []inspect.Unchecked{{What: what, Contexts: unread, Reason: "these contexts were not read"}}
}

// addUnread adds things that the answer depends on and that were not read, and
// mentions them in the message.
func (a *Answer) addUnread(unchecked []inspect.Unchecked) {
	a.Unchecked = append(a.Unchecked, unchecked...)
	for _, u := range unchecked {
		if len(u.Contexts) > 0 {
			a.Message = strings.TrimSpace(a.Message + " Not read: " + list(u.Contexts) + ".")
		}
	}
}

// inKueue returns the answer if Kueue on the origin's cluster knows the Job,
// or should know it.
func (q *Question) inKueue() (a Answer, known bool) {
	o := q.Pair.Origin
	f := q.Inventory.Facts(o.Context)
	if f == nil || f.Kueue == nil || o.ManagedBy != delegation.MultiKueue && o.Queue() == "" {
		return a, false
	}
	workloads := q.Inventory.WorkloadsOf(q.Pair, f)
	if len(workloads) == 0 {
		return q.withoutWorkload(f)
	}
	w := inspect.CurrentWorkload(workloads)
	if a, held := q.heldBack(f, w); held {
		return a, true
	}
	if w.Is(kueue.Admitted) && o.ManagedBy.IsBuiltIn() {
		return q.builtIn(o, q.Trace.Hops), true
	}
	if name := w.ChosenCluster(); name != "" {
		return q.lostOn(f, name), true
	}
	if a, known := q.byPlacements(f, w); known {
		return a, true
	}
	if wait := w.Waiting(); !w.Is(kueue.QuotaReserved) {
		a := Answer{State: stateOfWait(&wait), Reason: reasonOfWait(&wait), Message: fmt.Sprintf("Kueue on %s has reserved no quota for it yet.", f.Context)}
		switch {
		case wait.IsForQuota():
			a.Message = sentence(fmt.Sprintf("No quota on %s: %s", f.Context, wait.Text()))
			if least, all := w.PartialStart(); least < all {
				a.Message = sentence(fmt.Sprintf("No quota on %s: %s for all %d Pods; it may start with %d", f.Context, wait.Text(), all, least))
			}
		case wait.Message != "":
			a.Message = sentence(f.Context+": "+wait.Text(), f.Context)
		}
		return a, true
	}
	return q.byWorkers(f, w), true
}

func (q *Question) withoutWorkload(f *inspect.Facts) (Answer, bool) {
	o := q.Pair.Origin
	ignored := Answer{State: inspect.StateBlocked, Reason: inspect.ReasonNoQueueLabel, Message: "Ignored by Kueue: no queue label."}
	if err := f.Gaps[inspect.PartWorkloads]; err != nil {
		switch {
		case o.ManagedBy.IsBuiltIn() && !o.Suspended:
			return Answer{}, false
		case o.IsSurelyIgnored():
			recreate := command.PluginFor(o.Row(), "recreate", o.Context, o.Namespace, o.Name).With("--managed-by", string(o.ManagedBy), "--queue", "LOCALQUEUE")
			ignored.Fixes = []command.Fix{{Text: "recreate it with a queue label", Command: q.words(recreate)}}
			return ignored, true
		}
		a := q.byCopiedStatus("")
		unknown := "why it waits"
		if a.State == inspect.StateRunning || a.State == inspect.StateStarting {
			unknown = "where it runs"
		}
		a.Message = strings.TrimSpace(a.Message + fmt.Sprintf(" You cannot read Workloads on %s, so %s is unknown.", f.Context, unknown))
		a.Unchecked = []inspect.Unchecked{{What: "Workloads", Contexts: []string{f.Context}, Reason: because(f, err)}}
		return a, true
	}
	if o.Queue() == "" {
		return ignored, true
	}
	if p := q.withoutClass(); p != nil {
		// Kueue logs that it creates no Workload, and reports it nowhere else.
		return Answer{
			State: inspect.StateBlocked, Reason: inspect.ReasonSetup, Fixes: q.changes([]inspect.Placement{*p}),
			Message: fmt.Sprintf("%s on %s, so Kueue creates no Workload.", strings.TrimSuffix(p.Message, "."), p.Context),
		}, true
	}
	if class, isMissing := f.MissingClass(o); isMissing {
		// A list has no placements. Its rules give the fix.
		return Answer{
			State: inspect.StateBlocked, Reason: inspect.ReasonSetup,
			Message: fmt.Sprintf("%s %s does not exist on %s, so Kueue creates no Workload.", class.Kind, class.Name, f.Context),
		}, true
	}
	return Answer{State: inspect.StateWaiting, Reason: inspect.ReasonNoWorkload, Message: fmt.Sprintf("Kueue on %s has created no Workload for it.", f.Context)}, true
}

// withoutClass returns the placement on the origin's cluster if a class that the origin names does
// not exist there, otherwise nil.
func (q *Question) withoutClass() *inspect.Placement {
	for i := range q.Trace.Placements {
		if p := &q.Trace.Placements[i]; p.Context == q.Pair.Origin.Context && p.Cluster == "" && p.Reason == inspect.ClassMissing {
			return p
		}
	}
	return nil
}

// heldBack returns the answer if the Workload itself keeps the Job from
// running.
func (q *Question) heldBack(f *inspect.Facts, w *kueue.Workload) (Answer, bool) {
	wait := w.Waiting()
	a := Answer{State: inspect.StateBlocked, Reason: reasonOfWait(&wait), Message: sentence(f.Context+": "+wait.Text(), f.Context)}
	switch {
	case wait.Reason == kueue.ReasonFinished:
		a.Reason, a.Message = inspect.ReasonHeld, sentence(fmt.Sprintf("Kueue on %s has ended its Workload: %s", f.Context, chain.ReasonAndMessage(wait.Condition)))
		return a, true
	case wait.Reason == kueue.ReasonCheckRejected:
		a.Message = sentence(wait.Text())
	case !wait.IsDeactivation():
		return Answer{}, false
	}
	target := f.FixTarget(q.Inventory.Flavors())
	target.Workload = w
	a.Fixes = wait.Fixes(target)
	if wait.IsDeactivation() {
		q.addLimit(&a)
	}
	a.Fixes = q.reached(a.Fixes)
	return a, true
}

// addLimit adds to the answer for a deactivated Job that it could not run otherwise either, and what
// has to change before its activation helps.
func (q *Question) addLimit(a *Answer) {
	all := placement.Activated(q.Inventory, q.Pair)
	if len(all) == 0 || placement.Overall(all) != inspect.Never {
		return
	}
	b := (&Question{Inventory: q.Inventory, Pair: q.Pair, Trace: &inspect.Trace{}}).outlook(all)
	a.Message += " Active, it " + strings.Replace(b.Message, "Would never run.", "would never run.", 1)
	if len(b.Fixes) == 0 {
		return
	}
	for i := range a.Fixes {
		if len(a.Fixes[i].Command) > 0 {
			a.Fixes[i].Text += ", after a change that makes the Job fit"
		}
	}
	a.Fixes = append(b.Fixes, a.Fixes...)
}

// byWorkers returns the answer from what Kueue reports on the workers, if
// their quota was not read.
func (q *Question) byWorkers(manager *inspect.Facts, w *kueue.Workload) Answer {
	if waits := otherChecks(manager, w); len(w.Status.Nominated) == 0 && len(waits) > 0 {
		return Answer{State: inspect.StateWaiting, Reason: inspect.ReasonAdmissionCheck, Message: fmt.Sprintf("Waits on %s for %s.", manager.Context, list(waits))}
	}
	names := q.offeredTo(manager, w)
	if len(names) == 0 {
		a := Answer{State: inspect.StateWaiting, Reason: inspect.ReasonNotOffered, Message: fmt.Sprintf("Quota is reserved on %s; Kueue has offered it to no worker yet.", manager.Context)}
		q.addBacklog(&a, "MultiKueue")
		return a
	}
	targets := make([]string, len(names))
	for i, name := range names {
		targets[i] = q.Inventory.ContextOf(manager, name)
	}
	if a, ok := q.admitted(targets); ok {
		return a
	}
	a := Answer{State: inspect.StateWaiting, Reason: inspect.ReasonNotAdmitted}
	var reasons, unread []string
	workers, ranks, kinds := map[string][]string{}, map[string]int{}, reasonsOfWorkers()
	best, canEnd := len(kinds), false
	for i, name := range names {
		if u := q.Inventory.UnreadWorker(manager, name); u != nil {
			unread = append(unread, name)
			a.Unchecked = append(a.Unchecked, *u)
			continue
		}
		target := targets[i]
		f := q.Inventory.Facts(target)
		why, reason, isForGood := q.workerReason(f)
		canEnd = canEnd || !isForGood
		at := slices.Index(kinds, reason)
		if at < best {
			best, a.Reason = at, reason
		}
		if workers[why] == nil {
			reasons = append(reasons, why)
		}
		workers[why], ranks[why] = append(workers[why], target), at
	}
	// The cluster that can still run the Job comes first.
	slices.SortStableFunc(reasons, func(x, y string) int { return cmp.Compare(ranks[x], ranks[y]) })
	switch {
	case len(reasons) == 0:
		q.answerFromManager(&a, manager, names, unread)
		return a
	case !canEnd && len(unread) == 0:
		a.State = inspect.StateBlocked
	}
	a.Message = noWorker(reasons, workers, unread)
	if slices.Contains(reasons, noCopy) {
		q.addBacklog(&a, "MultiKueue")
	}
	return a
}

// noWorker describes why no worker admits a Job, given the workers for each
// cause.
func noWorker(reasons []string, workers map[string][]string, unread []string) string {
	parts := make([]string, len(reasons))
	for i, why := range reasons {
		parts[i] = strings.Join(workers[why], ", ") + ": " + why
	}
	text := "No worker admits it. " + strings.Join(parts, "; ") + "."
	if len(unread) > 0 {
		text += " Not read: " + list(unread) + "."
	}
	return text
}

// reasonsOfWorkers returns the reasons that workerReason returns, most
// hopeful first.
func reasonsOfWorkers() []inspect.JobReason {
	return []inspect.JobReason{
		inspect.ReasonNotAdmitted, inspect.ReasonQuotaInUse, inspect.ReasonAdmissionCheck, inspect.ReasonHeld, inspect.ReasonSetup, inspect.ReasonNoFlavor,
		inspect.ReasonOverLimit,
	}
}

// offeredTo returns the MultiKueueClusters that a Workload was offered to.
// Old versions of Kueue do not record that. For them, it returns those that
// have a copy or were not read.
func (q *Question) offeredTo(manager *inspect.Facts, w *kueue.Workload) []string {
	if manager.Kueue.RecordsNominations() {
		return w.Status.Nominated
	}
	var names []string
	for _, c := range manager.Kueue.Clusters {
		target := q.Inventory.ContextOf(manager, c.Name)
		f := q.Inventory.Facts(target)
		if target == "" || f == nil || f.Err != nil || len(q.Inventory.WorkloadsOf(q.Pair, f)) > 0 {
			names = append(names, c.Name)
		}
	}
	return names
}

// otherChecks describes the AdmissionChecks of other controllers than
// MultiKueue that are not ready. MultiKueue offers a Workload to workers only
// when all of them are.
func otherChecks(f *inspect.Facts, w *kueue.Workload) []string {
	var waits []string
	for _, state := range w.Status.AdmissionChecks {
		check := f.Kueue.CheckNamed(state.Name)
		if state.State == kueue.CheckReady || check != nil && check.IsMultiKueue() {
			continue
		}
		text := "AdmissionCheck " + state.Name
		if check != nil {
			text += " of " + check.Spec.ControllerName
		}
		waits = append(waits, text+" ("+strings.TrimSuffix(state.State+": "+state.Message, ": ")+")")
	}
	return waits
}

// noCopy is why a worker does not run a Job whose Workload it lacks.
const noCopy = "no copy of its Workload"

// workerReason returns why a worker does not run the Job, and whether only a
// change ends that.
func (q *Question) workerReason(f *inspect.Facts) (why string, reason inspect.JobReason, isForGood bool) {
	for _, j := range q.Pair.Namesakes {
		if j.Context == f.Context {
			return "another " + j.Kind + " of this name exists there", inspect.ReasonSetup, false
		}
	}
	copies := q.Inventory.WorkloadsOf(q.Pair, f)
	if len(copies) == 0 {
		return noCopy, inspect.ReasonSetup, false
	}
	wait := copies[0].Waiting()
	if wait.Condition == nil {
		h := chain.WorkloadHop(f, copies[0])
		return cmp.Or(h.Message, h.State), reasonOfWait(&wait), false
	}
	return wait.Text(), reasonOfWait(&wait), wait.IsPermanent()
}
