package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/chain"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// withoutOrigin returns the answer for a mirror whose origin was not found.
// The mirror is an orphan only if all contexts were read, and the manager that
// created it has no origin of it.
func (q *Question) withoutOrigin() Answer {
	m := q.Pair.Mirrors[0]
	j := m.Job
	if v := q.around(); v.IsOrphan(j) {
		a := Answer{State: inspect.StateOrphan, Reason: inspect.ReasonOriginMissing, Message: "Its origin is gone.", Since: j.Since.DeepCopy()}
		if place := j.Marks.Origin; !place.IsZero() {
			a.Message = fmt.Sprintf("Its origin %s/%s is gone.", place.Namespace, place.Name)
		}
		if j.DeletedAt != nil && len(j.Finalizers) > 0 {
			a.Message = strings.TrimSuffix(a.Message, ".") + ", and the deletion of this mirror waits for " + quote.Finalizers(j) + "."
		}
		return a
	}
	a := q.stateOfMirror(j)
	if a.Reason == inspect.ReasonNone {
		a.Reason = inspect.ReasonUnread
	}
	if !a.State.IsFinished() {
		q.addFailing(&a, j)
		q.addRestarts(&a, j)
		q.addDecision(&a, j)
	}
	if why := ending(j); why != "" {
		a.Message = fmt.Sprintf("It is a mirror on %s. %s", j.Context, why)
	}
	if a.Message == "" {
		a.Message = fmt.Sprintf("It is a mirror on %s.", j.Context)
	}
	missing := inspect.Unchecked{What: "origin of " + j.Namespace + "/" + j.Name, Contexts: q.unread(), Reason: "no known context reaches its manager"}
	why := "no manager was read"
	if q.Inventory.KnowsManagerOf(j) {
		missing.Reason, why = "the managers that were read may not have created it", "another manager may have created it"
		if j.OriginUID() != "" {
			missing.Reason, why = "its namespace was not read", "its namespace was not read"
		}
	}
	if len(missing.Contexts) > 0 {
		missing.Reason, why = "these contexts were not read", "not read: "+list(missing.Contexts)
	}
	a.unknownOrigin = fmt.Sprintf("Its origin is unknown: %s.", why)
	a.Unchecked = []inspect.Unchecked{missing}
	return a
}

// addWhyKept adds to the answer for an orphan why its manager does not delete it, if a finding knows.
func (q *Question) addWhyKept(a *Answer, f *inspect.Finding) {
	for _, j := range q.Pair.Jobs() {
		if clause := f.Clauses[inspect.RefOf(j)]; clause != "" && q.isOfPairItself(f) {
			a.Message = sentence(clause, namesIn(f)...)
		}
	}
}

// OfMirror returns the state of a mirror according to its own status, and its result in a sentence; ""
// before its end. The state of a mirror without an origin is Orphan, which says nothing about that.
func OfMirror(j *inspect.Job) (inspect.JobState, string) {
	switch state := stateOf(j); {
	case state.IsFinished():
		return state, resultOf(j)
	case j.DeletedAt != nil:
		return inspect.StateTerminating, ""
	default:
		return state, ""
	}
}

// resultOf describes how a mirror ended.
func resultOf(j *inspect.Job) string {
	return strings.Join(strings.Fields("The mirror is "+string(j.Status)+". "+ending(j)+" "+progress(j)), " ")
}

// unread returns the contexts of which nothing could be read, except those
// without a name.
func (q *Question) unread() []string {
	unseen := append([]string{}, q.Inventory.UnreadContexts()...)
	return slices.DeleteFunc(unseen, func(name string) bool { return strings.TrimSpace(name) == "" })
}

func stateOf(j *inspect.Job) inspect.JobState {
	switch j.Status {
	case delegation.Complete, delegation.Failed:
		return inspect.JobState(j.Status)
	case delegation.Running:
		if isWithoutReady(j) {
			return inspect.StateStarting
		}
		return inspect.StateRunning
	case delegation.Terminating:
		return inspect.StateTerminating
	case delegation.Unclaimed:
		return inspect.StateBlocked
	case delegation.Suspended:
		return inspect.StateWaiting
	case delegation.Pending:
		return inspect.StateStarting
	default:
		return inspect.StateUnknown
	}
}

// stateOfMirror returns the answer that a mirror itself gives: its state and why it does not run. A suspended
// mirror, or one that is being deleted, does not start, although Pods of it may remain.
func (q *Question) stateOfMirror(j *inspect.Job) Answer {
	a := Answer{State: stateOf(j), Since: q.sinceOn(j, j.Since)}
	switch {
	case j.DeletedAt != nil:
		a.State, a.Since = inspect.StateTerminating, q.sinceOn(j, j.DeletedAt)
	case j.Status == delegation.Unclaimed:
		a.Reason, a.Message = inspect.ReasonUnclaimed, fmt.Sprintf("No controller on %s has picked up the mirror.", j.Context)
	case j.Status == delegation.Suspended:
		a.Reason, a.Message = inspect.ReasonSuspended, q.suspendedOn(j)
	case !a.State.IsFinished():
		q.podsOf(&a, j, q.Trace.Hops)
	}
	return a
}

// onMirror returns the answer for a Job with a mirror.
func (q *Question) onMirror(m inspect.Mirror) Answer {
	j := m.Job
	if f := q.Inventory.Facts(j.Context); f != nil && f.Err != nil {
		return Answer{
			State: stateOf(j), Since: q.sinceOn(j, j.Since), Reason: inspect.ReasonMirrorUnreachable,
			Message:   fmt.Sprintf("Last seen on %s, which does not answer now.", j.Context),
			Unchecked: []inspect.Unchecked{{What: "mirror", Contexts: []string{j.Context}, Reason: "cannot read the cluster"}},
		}
	}
	a := q.stateOfMirror(j)
	if a.Reason == inspect.ReasonSuspended {
		if o := q.Pair.Origin; isSuspendedByUser(o) {
			a = suspended(o)
			a.Message, a.Fixes = q.suspendedOn(j), q.resume(o)
		} else {
			q.addPlacements(&a)
		}
	}
	if a.State.IsFinished() {
		a.Message = resultOf(j)
	}
	if a.Message == "" {
		a.Message = progress(j)
	}
	q.addFailing(&a, j)
	q.addRestarts(&a, j)
	q.addReduced(&a, j)
	q.addDecision(&a, j)
	q.addInvalid(&a, j)
	if lost := q.lostConnection(m); lost != "" {
		a.Reason, a.Message = inspect.ReasonStatusNotCopied, strings.TrimSpace(a.Message+" "+lost)
	} else if q.isStatusNotCopied(m) {
		a.Message = strings.TrimSpace(a.Message + " " + q.originLag(m))
		if a.Reason == inspect.ReasonNone {
			a.Reason = inspect.ReasonStatusNotCopied
		}
	}
	q.addChosenUnread(&a)
	if n := q.restarts(); n > 0 {
		a.Message += fmt.Sprintf(" MultiKueue has restarted it %d times.", n)
	}
	return a
}

// addPlacements adds to the answer for a Job with a suspended mirror which workers can run it again. If none can as it
// is, that is the answer. While MultiKueue offers the Job again, it waits like one without a mirror.
func (q *Question) addPlacements(a *Answer) {
	manager := q.Inventory.Facts(q.Pair.Origin.Context)
	w := inspect.CurrentWorkload(q.Inventory.WorkloadsOf(q.Pair, manager))
	var b Answer
	switch {
	case q.exceedsAll():
		b = q.never(q.onWorkers().Trace.Placements)
		if w != nil {
			b = q.withCost(manager, w, b)
		}
	case w != nil && w.ChosenCluster() == "" && w.Is(kueue.QuotaReserved):
		b, _ = q.onWorkers().byPlacements(manager, w)
		if !isQuotaReason(b.Reason) {
			return
		}
		b.Message = strings.TrimSpace(a.Message + " " + b.Message)
	default:
		return
	}
	b.Since = a.Since
	*a = b
}

// onWorkers returns the question without the placement on the manager, which has reserved quota.
func (q *Question) onWorkers() *Question {
	trace, on := *q.Trace, *q
	trace.Placements = slices.DeleteFunc(slices.Clone(trace.Placements), func(p inspect.Placement) bool { return p.Manager })
	on.Trace = &trace
	return &on
}

// suspendedOn returns why a mirror is suspended, according to its Workload on
// the worker.
func (q *Question) suspendedOn(j *inspect.Job) string {
	if o := q.Pair.Origin; isSuspendedByUser(o) {
		path, held, _ := o.Row().Hold()
		return fmt.Sprintf("%s of the %s on %s is %v.", strings.Join(path, "."), o.Kind, o.Context, held)
	}
	if preempted := q.preemptedOn(j); preempted != "" {
		return preempted
	}
	return strings.TrimSpace(fmt.Sprintf("The mirror on %s is suspended. %s", j.Context, q.holdOn(j)))
}

// holdOn returns what the Workload of a mirror on its worker waits for, "" if nothing says it.
func (q *Question) holdOn(j *inspect.Job) string {
	for _, h := range q.Trace.Hops {
		if h.Kind == "Workload" && h.Context == j.Context && h.Health != inspect.HealthOK && h.Message != "" {
			return sentence(kueue.Brief(h.Message))
		}
	}
	return ""
}

// isSuspendedByUser reports whether the mirror is suspended because a user suspended the origin.
// Kueue suspends origins by itself.
func isSuspendedByUser(o *inspect.Job) bool {
	if o == nil || !o.IsDispatched() || !o.Suspended || o.Queue() != "" {
		return false
	}
	path, _, _ := o.Row().Hold()
	return path != nil
}

// originLag describes an origin that does not show the status of its mirror, by the first field.
func (q *Question) originLag(m inspect.Mirror) string {
	origin := q.Pair.Origin
	if origin.Status != m.Job.Status {
		return fmt.Sprintf("The origin still says %s.", origin.Status)
	}
	for _, d := range q.notCopied(m) {
		switch field := strings.TrimPrefix(d.Field, "status."); field {
		case "active", "ready", "succeeded", "failed", "terminating":
			return fmt.Sprintf("The origin shows %s %s, not %s.", cmp.Or(d.Origin, "0"), field, cmp.Or(d.Mirror, "0"))
		default:
			return fmt.Sprintf("The origin differs in %s.", d.Field)
		}
	}
	return ""
}

// notCopied returns the fields of the status in which the origin differs from a mirror for longer than
// a copy takes. While Kueue stops a Job, it removes its startTime, and copies it with the next status. Of a
// Job that Kueue stopped, it removes the conditions: origin and mirror are suspended, and only one says so.
func (q *Question) notCopied(m inspect.Mirror) []inspect.Difference {
	isStopped := q.Pair.Origin.Status == delegation.Suspended && m.Job.Status == delegation.Suspended
	return slices.DeleteFunc(slices.Clone(q.Trace.Differences), func(d inspect.Difference) bool {
		isRemoved := d.Field == "status.startTime" && d.Origin == "" && q.Pair.Origin.IsStopping() ||
			d.Field == "status.conditions[Suspended]" && d.Origin == "" && isStopped
		return isRemoved || !d.IsStatus() || d.Lag || d.Context != "" && d.Context != m.Job.Context
	})
}

func (q *Question) isStatusNotCopied(m inspect.Mirror) bool {
	return len(q.notCopied(m)) > 0 || m.Job.Status.IsFinished()
}

// lostConnection returns that the manager of a mirror has no connection to its cluster, "" if it
// has one. If MultiKueue chose a cluster, only its connection counts: a worker may have other names.
func (q *Question) lostConnection(m inspect.Mirror) string {
	manager := q.Inventory.Facts(q.Pair.Origin.Context)
	chosen := ""
	if w := inspect.CurrentWorkload(q.Inventory.WorkloadsOf(q.Pair, manager)); w != nil {
		chosen = w.ChosenCluster()
	}
	for _, h := range q.Trace.Hops {
		if chosen != "" && h.Name != chosen {
			continue
		}
		isLost := h.Kind == "MultiKueueCluster" && h.Health == inspect.HealthBad && h.State != chain.Connected && h.Context == q.Pair.Origin.Context
		if isLost && q.Inventory.ContextOf(manager, h.Name) == m.Job.Context {
			return fmt.Sprintf("MultiKueue on %s has lost the connection to it (MultiKueueCluster %s: %s).", manager.Context, h.Name, h.State)
		}
	}
	return ""
}

// often is the number of restarts by MultiKueue from which on the answer
// mentions them.
const often = 3

// restarts returns how often MultiKueue has taken the Job back and restarted
// it, 0 if seldom.
func (q *Question) restarts() int32 {
	var n int32
	for _, w := range q.Inventory.WorkloadsOf(q.Pair, q.Inventory.Facts(q.Pair.Origin.Context)) {
		n = max(n, retries(w))
	}
	if n < often {
		return 0
	}
	return n
}

func retries(w *kueue.Workload) int32 {
	var n int32
	for _, state := range w.Status.AdmissionChecks {
		if state.RetryCount != nil {
			n = max(n, *state.RetryCount)
		}
	}
	return n
}
