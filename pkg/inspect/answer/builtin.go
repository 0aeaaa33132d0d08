package answer

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
)

// suspended returns the answer for an object that a field of its spec suspends.
func suspended(j *inspect.Job) Answer {
	a := Answer{State: inspect.StateSuspended, Reason: inspect.ReasonSuspended, Message: "It is suspended."}
	if path, held, _ := j.Row().Hold(); path != nil {
		a.Message = fmt.Sprintf("%s is %v.", strings.Join(path, "."), held)
	}
	return a
}

// resume returns the fix that resumes an object that a field of its spec suspends.
func (q *Question) resume(j *inspect.Job) []command.Fix {
	path, _, resumed := j.Row().Hold()
	if path == nil || j.Row().IsUnmanaged() {
		return nil
	}
	return []command.Fix{{Text: "resume it", Command: q.words(advice.KubectlJob(j, "patch").With("--type", "merge", "-p", command.Patch(resumed, path...)))}}
}

// builtIn returns the answer for a Job that the built-in controller of a
// cluster runs.
func (q *Question) builtIn(j *inspect.Job, hops []inspect.Hop) Answer {
	by := fmt.Sprintf("The built-in %s controller runs it on %s.", j.Kind, j.Context)
	if j.Suspended {
		a := suspended(j)
		a.Fixes = q.resume(j)
		partOf(&a, j)
		return a
	}
	a := Answer{State: inspect.StateRunning, Reason: inspect.ReasonBuiltIn}
	if !j.IsPart() {
		a.Message = by
	}
	if j.Status == delegation.Pending || j.Status == delegation.Unclaimed || isWithoutReady(j) {
		a.State = inspect.StateStarting
	}
	if q.isUnclaimed(j) {
		a.Reason, a.Message = inspect.ReasonUnclaimed, fmt.Sprintf("The built-in %s controller on %s has not picked it up.", j.Kind, j.Context)
	}
	partOf(&a, j)
	q.podsOf(&a, j, hops)
	q.addFailing(&a, j)
	q.addRestarts(&a, j)
	q.addReduced(&a, j)
	q.addDecision(&a, j)
	q.addInvalid(&a, j)
	if a.Reason == inspect.ReasonUnschedulable {
		a.Fixes = q.changes(q.Trace.Placements)
	}
	return a
}

// isUnclaimed reports whether the controller of an object's kind has not picked the object up. Pods show before its
// status that it has.
func (q *Question) isUnclaimed(j *inspect.Job) bool {
	f := q.Inventory.Facts(j.Context)
	return j.Status == delegation.Unclaimed && (f == nil || len(f.PodsOf(j)) == 0)
}

// addReduced adds that Kueue on the cluster of a Job started it with fewer Pods than it requests.
func (q *Question) addReduced(a *Answer, j *inspect.Job) {
	w := inspect.CurrentWorkload(q.Inventory.WorkloadsOf(q.Pair, q.Inventory.Facts(j.Context)))
	if w == nil || a.State.IsFinished() {
		return
	}
	if to, from, ok := w.Reduced(); ok {
		a.Message = strings.TrimSpace(a.Message + fmt.Sprintf(" Kueue reduced its parallelism from %d to %d (%s).", from, to, delegation.MinParallelism))
	}
}

// partOf adds which object made a Job that is a part of it. The only fix is
// to look at that object, because its controller decides about the part.
func partOf(a *Answer, j *inspect.Job) {
	if !j.IsPart() {
		return
	}
	owner := j.Controller
	a.Message = strings.TrimSpace(fmt.Sprintf("%s %s %s on %s created it.", a.Message, owner.Kind, owner.Name, j.Context))
	a.Fixes = nil
	if kind, known := delegation.KindOf(schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind)); known {
		// The owner may be a mirror, which trace explains only with all
		// contexts.
		trace := command.Plugin("trace", command.Argument(kind, owner.Name), "-n", j.Namespace, "--all-contexts")
		a.Fixes = []command.Fix{{Text: "check its " + owner.Kind, Command: trace.Words()}}
	}
}

// isFine reports whether a Job runs or has completed, and nothing is wrong with it.
func (a *Answer) isFine() bool {
	hasNoReason := a.Reason == inspect.ReasonNone || a.Reason == inspect.ReasonBuiltIn
	return hasNoReason && (a.State == inspect.StateRunning || a.State == inspect.StateComplete)
}

// isWithoutReady reports whether a Job has Pods of which none is ready.
func isWithoutReady(j *inspect.Job) bool { return j.Active > 0 && j.Ready != nil && *j.Ready == 0 }

// podsOf adds why a Job does not run, according to its Pods.
func (q *Question) podsOf(a *Answer, j *inspect.Job, hops []inspect.Hop) {
	f := q.Inventory.Facts(j.Context)
	if f == nil || a.State.IsFinished() {
		return
	}
	pods := f.PodsOf(j)
	if n := count(pods, (*inspect.Pod).IsRunning); n > 0 {
		a.State = inspect.StateRunning
		if isWithoutReady(j) {
			a.notReady(n, pods, j)
		}
		if n := count(pods, (*inspect.Pod).IsLost); n > 0 {
			a.Reason = inspect.ReasonPods
			a.Message = fmt.Sprintf("%s The nodes of %d of %d Pods on %s no longer exist.", progress(j), n, len(pods), j.Context)
		}
		if n := count(pods, (*inspect.Pod).IsUnschedulable); n > 0 {
			a.Reason = inspect.ReasonUnschedulable
			a.Message = fmt.Sprintf("%s %d of %d Pods find no node on %s.", progress(j), n, len(pods), j.Context)
		}
		a.addShortage(f, j)
		return
	}
	if n := j.Parallelism; n != nil && *n == 0 && len(pods) == 0 && j.Row().IsJob() {
		a.State, a.Reason = inspect.StateStarting, inspect.ReasonPods
		a.Message = "It starts no Pods: spec.parallelism is 0."
		a.Fixes = q.startPods(j)
		return
	}
	q.fromPodsHop(a, j, hops, pods)
	if open := count(pods, (*inspect.Pod).IsOpen); open > 0 && open == count(pods, (*inspect.Pod).HasLostNode) {
		// They have run, and nothing replaces them.
		a.State = inspect.StateFailing
	}
	if len(pods) > 0 {
		a.addShortage(f, j)
	}
}

// notReady says that some Pods of a Job run, although its status counts none that is ready: the status decides, as
// in ls.
func (a *Answer) notReady(running int, pods []*inspect.Pod, j *inspect.Job) {
	run := "run"
	if running == 1 {
		run = "runs"
	}
	a.State, a.Reason = inspect.StateStarting, inspect.ReasonPods
	a.Message = fmt.Sprintf("%d of %d Pods on %s %s", running, len(pods), j.Context, run)
	if slices.ContainsFunc(pods, func(p *inspect.Pod) bool { return p.Ready }) {
		a.Message += "."
		return
	}
	a.Message += ", but none is ready."
}

// addShortage adds how many Pods of a Job cannot be created, and why.
func (a *Answer) addShortage(f *inspect.Facts, j *inspect.Job) {
	s := f.PodShortage(j)
	if s == nil {
		return
	}
	if a.Reason == inspect.ReasonNone || a.Reason == inspect.ReasonBuiltIn {
		a.Reason, a.Message = inspect.ReasonPods, progress(j)
	}
	a.Message = fmt.Sprintf("%s %d of %d Pods cannot be created on %s: %s.", a.Message, s.Missing, s.Wanted, j.Context, s.Why())
}

// fromPodsHop fills in the answer from the step with the Pods of a Job of which none runs.
func (q *Question) fromPodsHop(a *Answer, j *inspect.Job, hops []inspect.Hop, pods []*inspect.Pod) {
	for _, h := range hops {
		if h.Kind != "Pods" || h.Context != j.Context || h.Health == inspect.HealthOK || h.Health == inspect.HealthUnknown {
			continue
		}
		a.State, a.Reason = inspect.StateStarting, inspect.ReasonPods
		if slices.ContainsFunc(pods, func(p *inspect.Pod) bool { return p.IsUnschedulable() }) {
			a.Reason = inspect.ReasonUnschedulable
		}
		a.Message = fmt.Sprintf("Pods on %s: %s.", j.Context, h.State)
		clause := q.withoutNode(j)
		switch {
		case a.Reason == inspect.ReasonUnschedulable && clause != "" && count(pods, (*inspect.Pod).IsUnschedulable) == len(pods):
			a.Message = sentence(clause)
		case a.Reason == inspect.ReasonUnschedulable && clause != "":
			a.Message += " " + sentence(clause)
		case h.State == "none":
			if q.cannotCreatePods(j) {
				a.State = inspect.StateBlocked
			}
			a.Message = fmt.Sprintf("No Pods on %s. %s", j.Context, sentence(h.Message))
		case h.Message != "":
			a.Message += " " + sentence(h.Message)
		}
		return
	}
}

// cannotCreatePods reports whether the Pods of a Job are refused until a person changes something: for its grace period,
// or by the API server. Used quota gets free when other Pods end.
func (q *Question) cannotCreatePods(j *inspect.Job) bool {
	return slices.ContainsFunc(q.Trace.Findings, func(f inspect.Finding) bool {
		isRefusal := f.Code == podsMissing && f.Severity == inspect.Error && q.isAboutPair(&f) &&
			(strings.Contains(f.Message, " on "+j.Context+" cannot create Pods: ") || strings.Contains(f.Message, "no Pods can be created on "+j.Context+": "))
		return isRefusal && !strings.Contains(f.Message, "exceeded quota: ") && (!f.Young || strings.Contains(f.Message, " is forbidden: "))
	})
}

// withoutNode returns what a finding says about Pods of a Job for which the scheduler finds no node because of labels,
// "" without one. The finding names the flavor that requires them.
func (q *Question) withoutNode(j *inspect.Job) string {
	for i := range q.Trace.Findings {
		f := &q.Trace.Findings[i]
		if f.Code != podsMissing {
			continue
		}
		for _, own := range q.Pair.Jobs() {
			if clause := f.Clauses[inspect.RefOf(own)]; strings.Contains(clause, " on "+j.Context+" ") {
				return clause
			}
		}
	}
	return ""
}

// count returns how many Pods satisfy is.
func count(pods []*inspect.Pod, is func(*inspect.Pod) bool) (n int) {
	for _, p := range pods {
		if is(p) {
			n++
		}
	}
	return n
}
