package running

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func runsWithoutQuota() view.Rule {
	return view.Rule{
		Code: "JM130", Severity: inspect.Warning,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartQueues, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets,
			inspect.PartEvents,
		},
		Detect: func(v *view.View) {
			for _, s := range v.Submissions() {
				if !s.IsMultiKueues() || s.Job().IsElastic() || s.Job().DeletedAt != nil {
					continue
				}
				if why, since, evidence := stopReason(s); why != "" {
					reportRunsOn(v, s, why, since, evidence)
				}
			}
		},
	}
}

// stopReason returns why a submission should no longer run, and since when, by
// the clock of its management cluster. why is "" if it should run, or if
// another rule reports why it should not.
func stopReason(s view.Submission) (why string, since time.Time, evidence string) {
	j, w := s.Job(), s.Workload
	if j.Status.IsFinished() {
		return fmt.Sprintf("it is %s", j.Status), view.TimeOf(j.FinishedTime), quote.State(j)
	}
	if w == nil {
		return "", since, ""
	}
	finished, evicted, lost := w.Condition(kueue.Finished), w.Condition(kueue.Evicted), w.Condition(kueue.QuotaReserved)
	because := func(why string, c *metav1.Condition) (string, time.Time, string) {
		return why, c.LastTransitionTime.Time, quote.WorkloadCondition(s.Manager, w, c)
	}
	switch {
	case view.IsTrue(finished) && (finished.Reason == kueue.OutOfSync || finished.Reason == kueue.OwnerNotFound):
		return "", since, ""
	case view.IsTrue(finished):
		return because("its Workload has finished ("+finished.Reason+")", finished)
	case view.IsTrue(evicted):
		return because("it was evicted ("+evicted.Reason+")", evicted)
	case !w.IsActive():
		return wasDeactivated, deactivatedSince(w), fmt.Sprintf("%s: spec.active of %s is false", s.Manager.Context, view.OfWorkload(s.Manager, w).String())
	case view.IsFalse(lost):
		return because("it lost its quota", lost)
	case s.HasState(kueue.CheckRetry), s.HasState(kueue.CheckRejected):
		return "it was withdrawn (" + s.Check.State + ")", s.Check.LastTransitionTime.Time, quote.MultiKueueCheck(s)
	}
	return "", since, ""
}

// wasDeactivated is why a submission should no longer run if spec.active of its Workload is false.
const wasDeactivated = "its Workload was deactivated"

// deactivatedSince returns when a Workload was deactivated, or the earliest possible time: Kueue has set
// no condition for it yet, so the latest one is older.
func deactivatedSince(w *kueue.Workload) time.Time {
	if at := inspect.SpecWrittenAt(w.ManagedFields); at != nil {
		return at.Time
	}
	var since time.Time
	for _, c := range w.Status.Conditions {
		since = view.Latest(since, c.LastTransitionTime.Time)
	}
	return since
}

func reportRunsOn(v *view.View, s view.Submission, why string, since time.Time, evidence string) {
	j := s.Job()
	for _, m := range s.Pair.Mirrors {
		worker, ok := v.Facts(m.Job.Context)
		if !ok || !isLiveMirror(m) || !view.HasStarted(m.Job) || isOutOfReach(v, s, m.Job.Context) {
			continue
		}
		by, doing := s.Manager, "stop it on the worker"
		if copied, _ := v.Workload(worker, m.Job.Namespace, m.Job.Prebuilt()); copied != nil && isToStop(copied) {
			by, doing = worker, "stop it"
		}
		sighting := view.Sighting{
			Object: view.Of(j), Since: since, Jobs: []*inspect.Job{j, m.Job}, Cause: "runs on " + by.Context + " " + m.Job.Context + " " + why,
			Message:   fmt.Sprintf("%s on %s, but its mirror on %s still runs: Kueue on %s must %s", why, s.Manager.Context, m.Job.Context, by.Context, doing),
			Evidence:  []string{evidence, quote.State(m.Job)},
			IsUndated: why == wasDeactivated && inspect.SpecWrittenAt(s.Workload.ManagedFields) == nil,
		}
		if s.Workload != nil {
			due := v.On(by.Context, s.Manager.Context, since)
			sighting.Awaits = v.AwaitsKueue(by, s.Workload, liveness.DutyRemove, "", by.Context, due)
		}
		sighting.Remedy = advice.CheckKueue(v, by.Context, sighting.Awaits)
		if s.Workload != nil && s.Workload.Is(kueue.Evicted) {
			quote.AddPreemption(v, s, &sighting)
		}
		v.Report(sighting)
	}
}

// isToStop reports whether a worker's Kueue must stop the Job of a Workload
// (kueue: a manager evicts Jobs that it has given to another worker by
// DeactivationTarget).
func isToStop(w *kueue.Workload) bool {
	return !w.IsActive() || w.Is(kueue.Evicted) || w.Is(kueue.DeactivationTarget)
}

// isOutOfReach reports whether a manager cannot reach a context's cluster, has
// given the Job to another one, or dispatches to it no longer. Other rules
// report what runs there then.
func isOutOfReach(v *view.View, s view.Submission, context string) bool {
	for _, name := range v.PossibleClusters(s) {
		if v.ContextOf(s.Manager, name) == context {
			configs, known := v.Configs(s.Manager)
			isRemoved := known && len(view.ConfigsNaming(configs, name)) == 0
			return isRemoved || !v.Reaches(s, name) || s.Chosen() != "" && s.Chosen() != name
		}
	}
	return true
}
