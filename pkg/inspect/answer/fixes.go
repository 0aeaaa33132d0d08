package answer

import (
	"slices"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
)

// addFixes gives an answer without fixes those of the nodes or, if these have none, those of the first
// such finding about its Jobs, whether or not that is the reason of the answer.
func (q *Question) addFixes(a *Answer) {
	if len(a.Fixes) > 0 {
		q.addUnreadFixes(a)
		return
	}
	if a.Reason == inspect.ReasonUnschedulable {
		if a.Fixes = q.changes(q.Trace.Placements); len(a.Fixes) > 0 {
			a.Remedy = ""
			return
		}
	}
	findings := q.findingsWithFixes(a)
	for _, f := range findings {
		if !isTooEarly(f) {
			a.Fixes, a.Remedy = f.Fixes, command.Prose(f.Remedy)
			return
		}
	}
	for _, f := range findings {
		if f.Severity == inspect.Error {
			a.Fixes, a.Remedy = []command.Fix{seeFinding(f)}, ""
			return
		}
	}
	a.Fixes = q.showUnready(a)
}

// untilReady is how long a Pod that runs may take to become ready before an answer says how to see why it is not.
const untilReady = time.Minute

// showUnready returns how to see why no Pod of a Job is ready, although some run. Kueue evicts such a Job after
// waitForPodsReady.timeout, and its Pods are deleted.
func (q *Question) showUnready(a *Answer) []command.Fix {
	if a.State != inspect.StateStarting || a.Reason != inspect.ReasonPods {
		return a.Fixes
	}
	for _, j := range q.Pair.Jobs() {
		f := q.Inventory.Facts(j.Context)
		if f == nil || !isWithoutReady(j) {
			continue
		}
		pods := f.PodsOf(j)
		i := slices.IndexFunc(pods, func(p *inspect.Pod) bool {
			return p.IsRunning() && q.Inventory.Age(j.Context, p.Started.Time) > untilReady
		})
		if i >= 0 && !slices.ContainsFunc(pods, func(p *inspect.Pod) bool { return p.Ready }) {
			p := pods[i]
			return []command.Fix{{
				Text:    "check why Pod " + p.Name + " is not ready",
				Command: q.words(command.Kubectl(j.Context, p.Namespace, "describe", "pod", p.Name)),
			}}
		}
	}
	return a.Fixes
}

// addUnreadFixes adds to the fixes for a Job that waits how to read the workers that were not read: the Job may fit there.
func (q *Question) addUnreadFixes(a *Answer) {
	if a.State != inspect.StateWaiting || len(a.Unchecked) == 0 || a.Remedy != "" {
		return
	}
	for i := range q.Trace.Findings {
		if f := &q.Trace.Findings[i]; f.Code == workersUnread && q.isAboutPair(f) && len(f.Fixes) > 0 {
			read := f.Fixes[len(f.Fixes)-1] // The fixes for the workers that were read come before.
			if !slices.ContainsFunc(a.Fixes, func(known command.Fix) bool { return known.Prose() == read.Prose() }) {
				a.Fixes = append(slices.Clip(a.Fixes), read)
			}
		}
	}
}

// findingsWithFixes returns the errors and warnings about the Jobs of a question that have fixes, after the
// finding about unread workers if the answer depends on something unread. It omits findings that the placements
// refute, and warnings about clusters that do not matter because another may run it.
func (q *Question) findingsWithFixes(a *Answer) []*inspect.Finding {
	if a.State != inspect.StateComplete && q.needsNoReason(a) {
		return nil
	}
	var found []*inspect.Finding
	for i := range q.Trace.Findings {
		f := &q.Trace.Findings[i]
		isElsewhere := f.Severity == inspect.Warning && q.mayRunElsewhere(a)
		isAboutUnread := f.Code == workersUnread && (a.Reason == inspect.ReasonUnread || len(a.Unchecked) > 0)
		isRelevant := f.Severity != inspect.Info || isAboutUnread
		switch {
		case f.Code == clocksApart, !isRelevant || len(f.Fixes) == 0 || !q.isAboutPair(f) || q.isRefuted(f, a) || isElsewhere:
		case isAboutUnread:
			found = slices.Insert(found, 0, f)
		default:
			found = append(found, f)
		}
	}
	return found
}

// isTooEarly reports whether the fixes of a finding might do harm, because a controller may still solve
// the problem by itself.
func isTooEarly(f *inspect.Finding) bool { return f.Young && f.AwaitsActor }

// seeFinding returns the fix of a finding that may pass by itself. It has no command: the finding has
// the commands, which may do harm now.
func seeFinding(f *inspect.Finding) command.Fix {
	return command.Fix{Text: "see finding " + f.Code + "; it may still pass by itself", Command: []string{}}
}

// startPods returns the fix of a Job that starts no Pods, because spec.parallelism is 0. j is the Job
// whose cluster runs it. Kueue does not follow a change of the origin while a worker has its mirror,
// unless the Job is elastic (kueue: job_multikueue_adapter.go, needElasticJobSync). The command
// dispatch copies the change to the mirror.
func (q *Question) startPods(j *inspect.Job) []command.Fix {
	const enough = "spec.parallelism of 1 or more"
	o := q.Pair.Origin
	if o == nil && j.IsMirror() {
		// The origin is unknown, and its owner would undo a change of the mirror.
		return []command.Fix{{Text: "create its origin again with " + enough, Command: []string{}}}
	}
	if o == nil {
		o = j
	}
	if o.ManagedBy == delegation.MultiKueue && !o.IsElastic() {
		template, _ := o.Template()
		deletion := command.Fix{Text: "delete the " + o.Kind, Command: q.words(advice.DeleteJob(o))}
		return []command.Fix{command.CreateAgain(deletion, o.Kind, template, "with "+enough)}
	}
	patch := advice.KubectlJob(o, "patch").With("--type", "merge", "-p", command.Patch(1, "spec", "parallelism"))
	return []command.Fix{{Text: "set spec.parallelism to 1 or more", Command: q.words(patch)}}
}

// reached returns fixes with commands that reach their clusters.
func (q *Question) reached(fixes []command.Fix) []command.Fix {
	for i := range fixes {
		if line := fixes[i].Shell(); line != "" {
			fixes[i].Command = command.Words(command.Reached(line, q.Reach))
		}
	}
	return fixes
}
