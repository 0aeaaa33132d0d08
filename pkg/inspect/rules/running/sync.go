package running

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Reasons of a Workload's Finished condition, and part of MultiKueue's
// message about a worker that reported the first of them (kueue:
// apis/kueue/v1beta2/workload_types.go,
// pkg/controller/admissionchecks/multikueue/workload.go).
const (
	retriedOutOfSync = "is out of sync with its user job"
)

func outOfSync() view.Rule {
	return view.Rule{
		Code: "JM036", Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets,
		},
		Covers: []string{"JM037", "JM045", "JM046"},
		Detect: func(v *view.View) {
			for s := range unfinished(v) {
				switch c := finishedFor(s.Workload, kueue.OutOfSync); {
				case c != nil && onlyFinished(v, s):
					j := s.Job()
					v.Report(view.Sighting{
						Object: view.Of(j), Since: c.LastTransitionTime.Time, Jobs: []*inspect.Job{j},
						Message:  fmt.Sprintf("it will never run: a worker changed its mirror, and Kueue ended the Workload of the %s", j.Kind),
						Evidence: []string{quote.WorkloadCondition(s.Manager, s.Workload, c)},
						Remedy:   command.Say("exempt %s with the label %s from mutating policies on the workers, and then %s", quote.Plural(j), delegation.MultiKueueOriginLabel, advice.CreateAgain(j)),
					})
				case !s.IsFinished():
					reportOutOfSync(v, s)
				}
			}
		},
	}
}

// onlyFinished reports whether all Workloads of a Job have finished. A Job
// that changes its size has several.
func onlyFinished(v *view.View, s view.Submission) bool {
	workloads, ok := v.WorkloadsOf(s.Pair, s.Manager)
	for _, w := range workloads {
		ok = ok && w.Is(kueue.Finished)
	}
	return ok
}

// outOfSyncCopies returns the copies that ended because the mirror was
// changed: on the worker that has the Job, or on any worker while the Job
// waits for one.
func outOfSyncCopies(v *view.View, s view.Submission) []view.Copy {
	var copies, found []view.Copy
	switch chosen := s.Chosen(); {
	case chosen != "":
		if c, _ := v.CopyOn(s, chosen); c.Workload != nil {
			copies = []view.Copy{c}
		}
	case s.Check != nil:
		copies = v.Copies(s)
	}
	for _, c := range copies {
		if finishedFor(c.Workload, kueue.OutOfSync) != nil {
			found = append(found, c)
		}
	}
	return found
}

func reportOutOfSync(v *view.View, s view.Submission) {
	j := s.Job()
	copies := outOfSyncCopies(v, s)
	retried := !s.HasState(kueue.CheckReady) && strings.Contains(lastRetry(s), retriedOutOfSync)
	again := s.Check != nil && s.Check.RetryCount != nil && *s.Check.RetryCount > 1
	if len(copies) == 0 && (!retried || !again && !s.HasState(kueue.CheckRetry)) {
		// MultiKueue took the Job back, and it waits like any other.
		return
	}
	sighting := view.Sighting{
		Object: view.Of(j), Jobs: []*inspect.Job{j}, Cause: "out of sync " + s.Manager.Context,
		Message: fmt.Sprintf("a worker changed its mirror; MultiKueue offers the %s again", j.Kind),
		Remedy: command.Say("exempt %s with the label %s from mutating policies on the workers, or also apply these policies on %s",
			quote.Plural(j), delegation.MultiKueueOriginLabel, s.Manager.Context),
	}
	for _, c := range copies {
		finished := finishedFor(c.Workload, kueue.OutOfSync)
		sighting.Cause = "out of sync " + c.Worker.Context
		sighting.Since = v.On(j.Context, c.Worker.Context, finished.LastTransitionTime.Time)
		sighting.Message = fmt.Sprintf("something on %s (%s) changed its mirror, so Kueue there ended its Workload", c.Cluster, c.Worker.Context)
		sighting.Remedy = command.Say("exempt %s with the label %s from the mutating webhooks and policies of %s; these list them: %s, and %s",
			quote.Plural(j), delegation.MultiKueueOriginLabel, c.Worker.Context,
			command.Kubectl(c.Worker.Context, "", "get", "mutatingwebhookconfigurations"), command.Kubectl(c.Worker.Context, "", "get", "mutatingadmissionpolicies"))
		sighting.Evidence = append(append(sighting.Evidence, quote.WorkloadCondition(c.Worker, c.Workload, finished)), changesOnWorker(v, s.Pair, c.Worker)...)
		addEditors(&sighting, s.Pair, c)
		isByPolicy := sighting.Remedy != ""
		if again := unblock(v, s, c); again != "" {
			sighting.Remedy = command.Join([]command.Prose{sighting.Remedy, again}, separatorAfter(sighting.Remedy))
		}
		if isByPolicy {
			sighting.Remedy = command.Say("%s; or apply these policies on %s, too, and then %s", sighting.Remedy, s.Manager.Context, advice.CreateAgain(j))
		}
	}
	if retried {
		sighting.Evidence = append(append(sighting.Evidence, quote.MultiKueueCheck(s)), evictionOf(s)...)
		if cluster, _ := retriedBy(v, s); len(copies) == 0 {
			sighting.Since, sighting.Severity = retriedAt(s), inspect.Warning
			sighting.Message = fmt.Sprintf("something on MultiKueueCluster %s changed its mirror; MultiKueue offers the %s again", cluster, j.Kind)
		}
		if again {
			// The Job goes round in a circle, and each round updates the times
			// of its steps.
			sighting.Since = s.Workload.CreationTimestamp.Time
		}
	}
	v.Report(sighting)
}

// separatorAfter returns the separator between a remedy and the step that follows it.
func separatorAfter(first command.Prose) string {
	if first == "" {
		return ""
	}
	return "; then "
}

// addEditors adds who edited the mirror of a copy, if its managed fields
// name anyone except Kueue and the built-in controllers. A webhook leaves no
// name.
func addEditors(s *view.Sighting, p inspect.Pair, c view.Copy) {
	for _, m := range p.Mirrors {
		if m.Job.Context != c.Worker.Context || m.Job.Prebuilt() != c.Workload.Name {
			continue
		}
		var editors []string
		var last time.Time
		for _, w := range m.Job.SpecWriters {
			if !strings.HasPrefix(w.Name, "kueue") && w.Name != view.BuiltInManager {
				editors, last = append(editors, w.Name), view.Latest(last, view.TimeOf(w.At))
			}
		}
		if len(editors) == 0 {
			return
		}
		s.Message = fmt.Sprintf("%s edited its mirror on %s (%s), so Kueue there ended its Workload", nameEditors(editors), c.Cluster, c.Worker.Context)
		s.Evidence = append(s.Evidence, fmt.Sprintf("%s: managedFields of %s name %s, last at %s",
			m.Job.Context, view.Of(m.Job).String(), strings.Join(editors, ", "), quote.MaybeTime(last)))
		s.Remedy, s.Cause = "", ""
	}
}

// nameEditors names who edited a mirror. A name in managedFields that begins with kubectl is that of a tool:
// a user called it.
func nameEditors(managers []string) string {
	var names, tools []string
	for _, name := range managers {
		switch {
		case name == "kubectl", name == "kubectl-client-side-apply", name == "kubectl-last-applied":
			tools = append(tools, "kubectl apply")
		case strings.HasPrefix(name, "kubectl-"):
			tools = append(tools, strings.Replace(name, "-", " ", 1))
		default:
			names = append(names, name)
		}
	}
	if len(tools) > 0 {
		names = append([]string{fmt.Sprintf("a user (%s)", strings.Join(slices.Compact(tools), ", "))}, names...)
	}
	return inspect.And(names)
}

// unblock returns how to make MultiKueue offer a Job again whose copy ended
// as OutOfSync, "" if MultiKueue does so by itself.
func unblock(v *view.View, s view.Submission, c view.Copy) command.Prose {
	switch {
	case s.IsEvicted() && s.Workload.Is(kueue.QuotaReserved) && s.Job().Active > 0 && !hasPodsLeft(v, s):
		return clearActive(s.Job(), ", so that Kueue releases the quota and offers the "+s.Job().Kind+" again")
	case s.WaitsForWorkers():
		return command.Say("delete what is left of the mirror, so that MultiKueue offers the %s again: %s", s.Job().Kind, deleteLeftMirror(s, c))
	}
	return ""
}

// changesOnWorker quotes the visible changes that a worker may have made to a
// mirror.
func changesOnWorker(v *view.View, p inspect.Pair, worker *inspect.Facts) (evidence []string) {
	for _, m := range p.Mirrors {
		if m.Job.Context != worker.Context || !m.Current || !p.Origin.Row().IsJob() {
			continue
		}
		for _, d := range v.Differences(p, m) {
			if d.Field == "spec.parallelism" || d.Field == "spec.completions" {
				evidence = append(evidence, fmt.Sprintf("%s of %s is %s on %s, and %s on %s: the number of Pods was changed",
					d.Field, view.Of(m.Job).String(), d.Mirror, m.Job.Context, d.Origin, p.Origin.Context))
			}
		}
		if evidence == nil {
			evidence = append(evidence, fmt.Sprintf("%s: %s has as many Pods as on %s: its Pod template was changed, or Kueue there reads it differently",
				m.Job.Context, view.Of(m.Job).String(), p.Origin.Context))
		}
	}
	return evidence
}

func staleCopy() view.Rule {
	return view.Rule{
		Code: "JM037", Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets,
		},
		Detect: func(v *view.View) {
			for s := range unfinished(v) {
				if !s.WaitsForWorkers() {
					continue
				}
				for _, c := range outOfSyncCopies(v, s) {
					v.Report(describeStaleCopy(v, s, c))
				}
			}
		},
	}
}

// deleteLeftMirror returns the command that deletes a copy, and the mirror that
// belongs to it.
func deleteLeftMirror(s view.Submission, c view.Copy) command.Command {
	left := []string{"workloads.kueue.x-k8s.io/" + c.Workload.Name}
	for _, m := range s.Pair.Mirrors {
		// A mirror that another Workload owns is not a leftover, and may run.
		if m.Job.Context == c.Worker.Context && m.Job.Prebuilt() == c.Workload.Name {
			left = append([]string{command.KindName(m.Job.Row()) + "/" + m.Job.Name}, left...)
		}
	}
	return command.Kubectl(c.Worker.Context, s.Job().Namespace, "delete", "--ignore-not-found").With(left...)
}

func describeStaleCopy(v *view.View, s view.Submission, c view.Copy) view.Sighting {
	j := s.Job()
	finished := finishedFor(c.Workload, kueue.OutOfSync)
	since := view.Latest(s.Check.LastTransitionTime.Time, v.On(j.Context, c.Worker.Context, finished.LastTransitionTime.Time))
	return view.Sighting{
		Object: view.Of(j), Jobs: []*inspect.Job{j}, Since: since,
		Awaits: v.AwaitsKueue(s.Manager, s.Workload, liveness.DutyRemove, c.Worker.Context, j.Context, since),
		Message: fmt.Sprintf("the copy of its Workload ended on %s (%s) as OutOfSync: MultiKueue cannot offer it again",
			c.Cluster, c.Worker.Context),
		Evidence: []string{
			quote.MultiKueueCheck(s), conditionNamed(s.Manager, s.Workload, kueue.QuotaReserved), quote.WorkloadCondition(c.Worker, c.Workload, finished),
		},
		Remedy: command.Say("once nothing on %s changes %s, delete what is left there: %s",
			c.Worker.Context, quote.Plural(j), deleteLeftMirror(s, c)),
	}
}
