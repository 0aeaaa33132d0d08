package answer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/chain"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
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
		return q.undispatched(to)
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
		return q.lostOn(f, w, name), true
	}
	if a, known := q.byPlacements(f, w); known {
		return a, true
	}
	if !w.Is(kueue.QuotaReserved) {
		return withoutQuota(f, w), true
	}
	return q.byWorkers(f, w), true
}

// withoutQuota returns the answer by what Kueue says about a Workload without quota, if its placements are unknown.
func withoutQuota(f *inspect.Facts, w *kueue.Workload) Answer {
	wait := w.Waiting()
	a := Answer{State: stateOfWait(&wait), Reason: reasonOfWait(&wait), Message: fmt.Sprintf("Kueue on %s has reserved no quota for it yet.", f.Context)}
	switch {
	case wait.IsForQuota():
		a.Message = sentence(fmt.Sprintf("No quota on %s: %s", f.Context, wait.Text()))
		if least, all := w.PartialStart(); least < all {
			a.Message = sentence(fmt.Sprintf("No quota on %s: %s for all %d Pods; it may start with %d", f.Context, wait.Text(), all, least))
		}
	case wait.Message != "":
		a.Message = sentence(f.Context+": "+wait.Text(), f.Context)
		if wait.Reason == kueue.ReasonPreempted {
			a.preemption = a.Message
		}
	}
	return a
}

func (q *Question) withoutWorkload(f *inspect.Facts) (Answer, bool) {
	o := q.Pair.Origin
	ignored := Answer{State: inspect.StateBlocked, Reason: inspect.ReasonNoQueueLabel, Message: "Ignored by Kueue: no queue label."}
	err := f.Gaps[inspect.PartWorkloads]
	if o.ManagedBy.IsBuiltIn() && !o.Suspended && (err != nil || hasPods(o)) {
		// Kueue suspends the Jobs that it manages. This one runs without it.
		return Answer{}, false
	}
	if err != nil {
		if o.IsSurelyIgnored() {
			recreate := command.PluginFor(o.Row(), "recreate", o.Context, o.Namespace, o.Name).With("--managed-by", string(o.ManagedBy), "--queue", "LOCALQUEUE")
			ignored.Fixes = []command.Fix{{Text: "recreate it with a queue label", Command: q.words(recreate)}}
			return ignored, true
		}
		a := q.byCopiedStatus("")
		unknown := "why it waits"
		if slices.Contains([]inspect.JobState{inspect.StateRunning, inspect.StateStarting, inspect.StateFailing}, a.State) {
			unknown = "where it runs"
		}
		a.Message = strings.TrimSpace(a.Message + fmt.Sprintf(" You cannot read Workloads on %s, so %s is unknown.", f.Context, unknown))
		a.Unchecked = []inspect.Unchecked{{What: inspect.UnreadWorkloads, Contexts: []string{f.Context}, Reason: because(f, err)}}
		return a, true
	}
	if o.Queue() == "" {
		return ignored, true
	}
	if why := f.MissingPrebuilt(o); why != "" {
		return Answer{
			State: inspect.StateBlocked, Reason: inspect.ReasonSetup, Fixes: advice.ReplacePrebuilt(f, o).Reached(q.Reach).Fixes(),
			Message: fmt.Sprintf("It names Workload %s/%s, which %s; Kueue creates none for it.", o.Namespace, o.Prebuilt(), why),
		}, true
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
	if f.LacksLocalQueue(o.Namespace, o.Queue()) {
		return q.withoutQueue(f), true
	}
	return Answer{State: inspect.StateWaiting, Reason: inspect.ReasonNoWorkload, Message: fmt.Sprintf("Kueue on %s has created no Workload for it.", f.Context)}, true
}

// withoutQueue returns the answer for a Job whose LocalQueue does not exist, with the same fixes as the findings
// about that. Kueue creates a Workload all the same, which then waits for the queue.
func (q *Question) withoutQueue(f *inspect.Facts) Answer {
	o := q.Pair.Origin
	a := Answer{State: inspect.StateBlocked, Reason: inspect.ReasonSetup, Message: fmt.Sprintf("LocalQueue %s/%s does not exist on %s", o.Namespace, o.Queue(), f.Context)}
	meant, remedy := advice.ReplaceQueue(view.New(q.Inventory, &view.Shared{}), view.Submission{Pair: q.Pair, Manager: f, WorkloadKnown: true})
	if meant == "" {
		a.Message += "."
	} else {
		a.Message += fmt.Sprintf("; did you mean %s?", meant)
	}
	a.Fixes = remedy.Reached(q.Reach).Fixes()
	return a
}

// hasPods reports whether the status of a Job counts Pods.
func hasPods(j *inspect.Job) bool { return j.Active > 0 || j.Status == delegation.Running }

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
	a.Fixes = wait.Fixes(f.FixTargetOf(q.Pair.Origin, w, q.Inventory.Flavors()))
	if wait.IsDeactivation() {
		q.addIfActive(&a, placement.Activated(q.Inventory, q.Pair))
	}
	a.Fixes = q.reached(a.Fixes)
	return a, true
}

// addIfActive adds to the answer for a deactivated Job that it could not run otherwise either, and what
// has to change before its activation helps. all are its placements if it were active.
func (q *Question) addIfActive(a *Answer, all []inspect.Placement) {
	if len(all) == 0 || placement.Overall(all) != inspect.Never {
		return
	}
	b := (&Question{Inventory: q.Inventory, Pair: q.Pair, Trace: &inspect.Trace{}}).outlook(all)
	a.Message += " Active, it " + strings.Replace(b.Message, "Would never run.", "would never run.", 1)
	if len(a.Fixes) == 0 || len(b.Fixes) == 0 || len(b.Fixes) == 1 && a.Fixes[0].Includes(b.Fixes[0]) {
		// The fixes of the Workload also resume its queues.
		return
	}
	for i, f := range b.Fixes {
		// A Job that is created again has a new Workload, which is active.
		if !f.IsAgain() {
			b.Fixes[i] = f.FollowedBy(a.Fixes[0])
		}
	}
	a.Fixes = b.Fixes
}
