// Package answer explains what a Job does or waits for, why, and what would
// help. Only this package decides that: trace, check, ls, logs and dispatch
// print its answers.
package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/chain"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
)

// Answer is the state of a Job with its reason.
type Answer struct {
	State  inspect.JobState
	Reason inspect.JobReason
	// Message gives the reason with its numbers in one or two sentences, "" if
	// the state alone is enough.
	Message string
	// Since is when the state began, nil if unknown.
	Since *metav1.Time
	// Fixes are what would help, best first.
	Fixes []command.Fix
	// Remedy is Fixes as one text, "" if they are alternatives.
	Remedy command.Prose
	// Unchecked are the things that the answer depends on and that could not be
	// read.
	Unchecked []inspect.Unchecked
	// Cost is what the Job holds although no cluster can run it, nil if
	// nothing.
	Cost *inspect.Cost
	// unusable is the MultiKueueCluster that would run the Job if its manager could use it, "" if the
	// Job depends on none.
	unusable string
	// coversAll is whether the answer has what must change on the manager and on the workers.
	coversAll bool
	// preemption is what Message says about a preemption without the Job that caused it, "" if nothing.
	preemption string
	// unknownOrigin says in a sentence why the origin of a mirror is unknown, "" if it is known.
	unknownOrigin string
}

// Question has what an answer depends on.
type Question struct {
	Inventory *inspect.Inventory
	// Around is an inventory that also has the other Jobs of the namespace. They show which manager
	// created a mirror. It is nil if Inventory has them.
	Around *inspect.Inventory
	// Holders are Jobs outside of Around that hold quota which the Job waits for.
	Holders Holders
	Pair    inspect.Pair
	// Trace has the hops and differences of the pair, its placements if they
	// were judged, and the findings of its Jobs.
	Trace *inspect.Trace
	// Findings are the findings of all Jobs: other Jobs may hold what this one
	// waits for.
	Findings []inspect.Finding
	// Reach is how commands must be called.
	Reach command.Reach
}

// words returns the words of a command that reaches its cluster.
func (q *Question) words(c command.Command) []string {
	return command.Words(command.Reached(c.Shell(), q.Reach))
}

// Fill fills in the answer to a question in its trace.
func Fill(q Question) {
	q.nameChanges()
	q.usePlacements(q.Trace.Findings)
	a, t := q.Answer(), q.Trace
	t.State, t.Reason, t.Message, t.Since = a.State, a.Reason, a.Message, a.Since
	t.Cost = a.Cost
	if a.State == inspect.StateWaiting {
		t.Starts = q.starts()
	}
	t.Fixes, t.Unchecked = append([]command.Fix{}, a.Fixes...), append([]inspect.Unchecked{}, a.Unchecked...)
	t.Remedy = string(cmp.Or(a.Remedy, command.Alternatives(a.Fixes)))
	t.Summary = strings.TrimSuffix(t.Phrase()+". "+a.Message, ". ")
}

// Trace returns the trace of a pair with its answer, without findings and
// placements.
func Trace(v *inspect.Inventory, p inspect.Pair) *inspect.Trace {
	t := chain.Trace(v, p)
	Fill(Question{Inventory: v, Pair: p, Trace: t})
	return t
}

// Clause returns the answer of a trace as a clause that may follow a colon.
func Clause(t *inspect.Trace) string {
	if t.Message == "" {
		return t.Phrase()
	}
	return strings.TrimSuffix(lower(t.Message), ".")
}

// Answer returns the answer to the question.
func (q *Question) Answer() Answer {
	o := q.Pair.Origin
	running := q.Pair.Current()
	a := Answer{}
	switch {
	case o == nil:
		a = q.withoutOrigin()
	case o.DeletedAt != nil:
		a = Answer{State: inspect.StateTerminating, Message: deletion(o)}
	case o.Status.IsFinished():
		a = q.finished(o)
	case len(unfinished(running)) > 1:
		a = Answer{State: inspect.StateDuplicate, Message: "Unfinished mirrors on " + list(contextsOf(running)) + "."}
	case len(running) > 0:
		a = q.onMirror(slices.Concat(unfinished(running), running)[0])
	case o.Row().Template:
		a = Answer{State: inspect.StateTemplate, Message: q.template(o)}
	case o.ManagedBy.IsBuiltIn() && o.Queue() == "":
		a = q.builtIn(o, q.Trace.Hops)
	default:
		a = q.waiting()
	}
	q.explain(&a)
	q.addEnd(&a, running)
	q.keepDecision(&a, running)
	a.Message = strings.TrimSpace(a.Message + " " + a.unknownOrigin)
	q.addOwnPreemption(&a)
	q.addFixes(&a)
	if o != nil && o.IsPart() && a.isFine() {
		// Its message names the object that made it.
		a.Fixes, a.Remedy = nil, ""
	}
	if a.Since == nil && o != nil {
		a.Since = q.since(o, a.State)
	}
	return a
}

// finished returns the answer for a Job that has finished.
func (q *Question) finished(o *inspect.Job) Answer {
	a := Answer{State: inspect.JobState(o.Status), Message: strings.TrimSpace(progress(o) + " " + ending(o))}
	if a.State == inspect.StateFailed {
		q.addFailed(&a)
	}
	partOf(&a, o)
	return a
}

// needsNoReason reports whether no finding can explain a state better.
func (q *Question) needsNoReason(a *Answer) bool {
	o := q.Pair.Origin
	isOver := a.State == inspect.StateComplete && (o == nil || o.Status.IsFinished())
	if a.State == inspect.StateBlocked && a.Reason == inspect.ReasonSetup && o != nil && q.isWithoutClass() {
		// The placement has the same cause, and the fix.
		return true
	}
	return isOver || a.State == inspect.StateTemplate || a.State == inspect.StateNotSubmitted || q.isOfferedInVain(a)
}

// isOfferedInVain reports whether a Job fits on a cluster, and was offered only to others that can never
// run it, or that its manager cannot use. Findings about these do not explain why it waits.
func (q *Question) isOfferedInVain(a *Answer) bool {
	if a.Reason != inspect.ReasonNotOffered || q.Pair.Origin == nil {
		return false
	}
	w := inspect.CurrentWorkload(q.Inventory.WorkloadsOf(q.Pair, q.Inventory.Facts(q.Pair.Origin.Context)))
	return w != nil && inVain(q.Pair.Origin.Context, w.Status.Nominated, q.Trace.Placements) != ""
}

// isWithoutClass reports whether a class that the Job names does not exist.
func (q *Question) isWithoutClass() bool {
	_, isMissing := q.Inventory.Facts(q.Pair.Origin.Context).MissingClass(q.Pair.Origin)
	return isMissing || q.withoutClass() != nil
}

// explain uses the first finding that explains why the Job does not run, with
// its fixes.
func (q *Question) explain(a *Answer) {
	if q.needsNoReason(a) {
		q.addPassedLimit(a)
		return
	}
	findings := historyLast(q.Trace.Findings)
	for i := range findings {
		f := &findings[i]
		// A controller that is behind does not explain two runs.
		isOther := a.State == inspect.StateDuplicate && f.AwaitsActor
		switch {
		case isOther, !q.isAboutPair(f), q.isRefuted(f, a):
		case q.addAside(a, f):
		case IsAboutQuota(f.Code) && !a.isAboutSetup():
			a.addFrom(f)
		case a.State == inspect.StateOrphan && IsOrphan(f.Code):
			a.addFrom(f)
			q.addWhyKept(a, f)
		case q.explains(f, a) && (f.Severity != inspect.Warning || !q.mayRunElsewhere(a)):
			f = q.closest(findings[i:], a)
			a.take(f, q.reasonOf(f), q.clusterNames()...)
			return
		}
	}
}

// closest returns the finding that explains an answer: the first one about a Job of the pair itself, among the
// findings with the severity of the first one.
func (q *Question) closest(findings []inspect.Finding, a *Answer) *inspect.Finding {
	first := &findings[0]
	for i := range findings {
		f := &findings[i]
		if f.Severity == first.Severity && isHistory(f.Code) == isHistory(first.Code) && q.isOfPairItself(f) && q.explains(f, a) && !q.isRefuted(f, a) && !IsAboutQuota(f.Code) {
			return f
		}
	}
	return first
}

// isOfPairItself reports whether the object of a finding is a Job of the pair.
func (q *Question) isOfPairItself(f *inspect.Finding) bool {
	return slices.ContainsFunc(q.Pair.Jobs(), func(j *inspect.Job) bool { return f.Kind == j.Kind && f.Namespace == j.Namespace && f.Name == j.Name })
}

// addFrom adds to an answer from quotas what a finding about quota knows besides: fixes, if the answer
// has none, and a preemption.
func (a *Answer) addFrom(f *inspect.Finding) {
	if len(a.Fixes) == 0 {
		a.Fixes, a.Remedy = f.Fixes, command.Prose(f.Remedy)
	}
	a.addPreemption(f.Preempted)
}

// isAboutSetup reports whether a queue, namespace or check is at fault, no quota. A finding about
// quota then names the object, and its fix.
func (a *Answer) isAboutSetup() bool { return a.Reason == inspect.ReasonSetup }

// isExplainedBy reports whether a finding may be the reason of an answer. A
// running Job may be in the middle of a step, so young findings about it do
// not count.
func (a *Answer) isExplainedBy(f *inspect.Finding) bool {
	isStanding := a.State == inspect.StateWaiting || a.State == inspect.StateBlocked || a.State == inspect.StateUnknown
	// Nothing brings back a mirror that its owner does not create again, or a field or label that a user changed.
	isUnexplained := a.Reason == inspect.ReasonNone && f.Severity == inspect.Error || f.Code == mirrorGone
	isLasting := !f.Young || isStanding || isUnexplained && !f.AwaitsActor || f.Code == changedJob || f.Code == labelRemoved
	return f.Severity != inspect.Info && a.State != inspect.StateOrphan && isLasting
}

// reasonOf returns a finding's message about the Job. If the finding is about
// the Job itself, the message has no name, because the answer begins with it.
func (q *Question) reasonOf(f *inspect.Finding) string {
	for _, j := range q.Pair.Jobs() {
		if clause := f.Clauses[inspect.RefOf(j)]; clause != "" {
			return clause
		}
	}
	if q.isOfPairItself(f) {
		return f.Clause()
	}
	message := f.Message
	for _, j := range q.Pair.Jobs() {
		message = strings.Replace(message, " runs "+j.Namespace+"/"+j.Name+" and ", " runs it and ", 1)
	}
	return message
}

// take makes a finding the reason of the answer. names keep their case at its start.
func (a *Answer) take(f *inspect.Finding, reason string, names ...string) {
	a.takeState(f)
	switch {
	case f.Code == mistypedOwner:
		a.Reason = inspect.ReasonUnknownOwner
	case a.Reason == inspect.ReasonNoQueueLabel, a.Reason == inspect.ReasonUnclaimed && f.Code == unknownOwner:
	default:
		a.Reason = inspect.ReasonFinding
	}
	a.Message = sentence(reason, append(namesIn(f), names...)...)
	if a.State == inspect.StateWaiting {
		a.nameUnread()
	}
	if len(f.Fixes) > 0 {
		a.Fixes, a.Remedy = f.Fixes, command.Prose(f.Remedy)
	}
}

// takeState changes the state to what a finding shows.
func (a *Answer) takeState(f *inspect.Finding) {
	isWaiting := a.State == inspect.StateWaiting
	switch {
	case isWaiting && f.Severity == inspect.Warning && slices.ContainsFunc(a.Unchecked, func(u inspect.Unchecked) bool { return u.Cluster }):
		// The finding is about other workers than the unread ones.
	case isWaiting && (f.MayPass || f.Young && f.AwaitsActor):
		// The controller may still act, or has had no time to act yet.
		a.Unchecked = nil
	case isWaiting || a.State == inspect.StateBlocked || f.Code == mirrorGone:
		// The finding explains the Job without the parts that were not read.
		a.State, a.Unchecked = inspect.StateBlocked, nil
	}
}

// namesIn returns the names with which the text of a finding may begin.
func namesIn(f *inspect.Finding) []string {
	names := []string{f.Context, f.Name}
	for _, j := range f.Jobs {
		names = append(names, j.Context)
	}
	return names
}

// isAboutPair reports whether a finding concerns one of the pair's Jobs.
func (q *Question) isAboutPair(f *inspect.Finding) bool {
	return slices.ContainsFunc(f.Jobs, q.isOfPair)
}

// isOfPair reports whether a Job is one of the pair's.
func (q *Question) isOfPair(r inspect.Ref) bool {
	return slices.ContainsFunc(q.Pair.Jobs(), func(j *inspect.Job) bool { return inspect.RefOf(j) == r })
}

func deletion(o *inspect.Job) string {
	if len(o.Finalizers) == 0 {
		return ""
	}
	return "Its deletion waits for " + quote.Finalizers(o) + "."
}

func progress(o *inspect.Job) string {
	if !o.Row().IsJob() {
		return ""
	}
	return o.Progress() + " completions."
}

// ending returns why a Job failed, or succeeded without all completions; "" if it has not ended, or does not say why.
func ending(o *inspect.Job) string {
	switch {
	case o.Status == delegation.Failed:
		return sentence(o.Failure)
	case o.Status == delegation.Complete && o.Decision != nil && !o.Decision.Fails && !o.Decision.IsUsual():
		return sentence(o.Decision.Why)
	}
	return ""
}

// template describes the owner of the objects that are created from a template, and what keeps it from
// running them.
func (q *Question) template(o *inspect.Job) string {
	manager := q.Inventory.Facts(o.Context)
	owner := manager.OwnerFromTemplate(o)
	text := fmt.Sprintf("Objects created from it are delegated to %s.", owner)
	switch {
	case owner.IsBuiltIn():
		text = "Objects created from it are not delegated."
	case owner != o.ManagedBy:
		text = fmt.Sprintf("Objects created from it are delegated to %s, because LocalQueue %s/%s uses MultiKueue.", owner, o.Namespace, o.Queue())
	}
	if meant := delegation.SuggestOwner(o.ManagedBy); meant != "" {
		text += fmt.Sprintf(" Unknown owner; did you mean %s?", meant)
	}
	hasKueue := manager != nil && manager.Kueue != nil
	if queue := o.Queue(); hasKueue && queue != "" && manager.Lookup().Route(o.Namespace, queue).Local.IsMissing() {
		text += fmt.Sprintf(" LocalQueue %s/%s does not exist on %s.", o.Namespace, queue, o.Context)
	}
	return text
}

// unfinished returns the mirrors that run, or may start by themselves.
func unfinished(mirrors []inspect.Mirror) []inspect.Mirror {
	return slices.DeleteFunc(slices.Clone(mirrors), func(m inspect.Mirror) bool { return m.Job.Status.IsFinished() || m.Job.Suspended && m.Job.Active == 0 })
}

func contextsOf(mirrors []inspect.Mirror) []string {
	names := make([]string, len(mirrors))
	for i, m := range mirrors {
		names[i] = m.Job.Context
	}
	return names
}

// sentence returns a text with a capital letter and a full stop. A name at
// its beginning keeps its case: one of the given names, or a word that is no English word.
func sentence(text string, names ...string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	first, _, _ := strings.Cut(text, " ")
	isName := slices.Contains(names, strings.TrimRight(first, ":,;")) || strings.ContainsAny(first, "/.-_:0123456789")
	if c := first[0]; c >= 'a' && c <= 'z' && !isName {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	if strings.HasSuffix(text, ".") || strings.HasSuffix(text, "?") || strings.HasSuffix(text, "!") {
		return text
	}
	return text + "."
}
