package rules

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func runsOn() Rule {
	return Rule{
		Code: "JM130", Title: "the mirror runs, though the Job must not", Severity: inspect.Warning,
		Holds: "no mirror runs on after its Job was stopped",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets, inspect.PartEvents,
		},
		Why: `Once the management cluster has taken a Job back, since it was preempted or deactivated, or since its worker
did not do, MultiKueue has the worker's Kueue stop the mirror, and removes it. Here the mirror still runs: it does work
that counts for nothing, in room that was given to others, and when the Job is started again, it may run twice. The same
holds for the mirror of a Job that has ended.`,
		Shows: `The mirror runs on a worker that the management cluster reaches, and the origin's Workload is evicted,
deactivated or finished, has lost its quota, or its check is Retry or Rejected; or the origin has finished.`,
		Remedy: `See whether Kueue runs on the management cluster, or, where the copy of the Workload is to be stopped
already, on the worker. To stop the mirror by hand does not help: MultiKueue removes it as soon as it runs.`,
		Link: "https://kueue.sigs.k8s.io/docs/concepts/multikueue/",
		Detect: func(v *View) {
			for _, s := range v.Submissions() {
				if !s.IsMultiKueues() || s.Job().IsElastic() || s.Job().DeletedAt != nil {
					continue
				}
				if why, since, evidence := notToRun(s); why != "" {
					reportRunsOn(v, s, why, since, evidence)
				}
			}
		},
	}
}

// notToRun says why a submission is not to run any more, and since when, by the clock of
// its management cluster; "" if it is, or if another rule tells why it is not.
func notToRun(s Submission) (why string, since time.Time, evidence string) {
	j, w := s.Job(), s.Workload
	if j.Status.IsFinished() {
		return fmt.Sprintf("it is %s", j.Status), timeOf(j.FinishedTime), stateOf(j)
	}
	if w == nil {
		return "", since, ""
	}
	finished, evicted, lost := w.Condition(kueue.Finished), w.Condition(kueue.Evicted), w.Condition(kueue.QuotaReserved)
	tell := func(why string, c *metav1.Condition) (string, time.Time, string) {
		return why, c.LastTransitionTime.Time, conditionOf(s.Manager, w, c)
	}
	switch {
	case isTrue(finished) && (finished.Reason == finishedOutOfSync || finished.Reason == finishedOwnerless):
		return "", since, ""
	case isTrue(finished):
		return tell("its Workload has finished ("+finished.Reason+")", finished)
	case isTrue(evicted):
		return tell("it was evicted ("+evicted.Reason+")", evicted)
	case !w.IsActive():
		return "its Workload was deactivated", timeOf(inspect.SpecWrittenAt(w.ManagedFields)), fmt.Sprintf("%s: spec.active of %s is false", s.Manager.Context, named(workloadObject(s.Manager, w)))
	case isFalse(lost):
		return tell("it has no quota any more", lost)
	case hasState(s, kueue.CheckRetry), hasState(s, kueue.CheckRejected):
		return "it was taken back (" + s.Check.State + ")", s.Check.LastTransitionTime.Time, checkOf(s)
	}
	return "", since, ""
}

func reportRunsOn(v *View, s Submission, why string, since time.Time, evidence string) {
	j := s.Job()
	for _, m := range s.Pair.Mirrors {
		worker, ok := v.Facts(m.Job.Context)
		if !ok || !isLiveMirror(m) || !hasStarted(m.Job) || v.isOutOfReach(s, m.Job.Context) {
			continue
		}
		by, doing := s.Manager, "have it stopped"
		if copied, _ := v.Workload(worker, m.Job.Namespace, m.Job.Prebuilt()); copied != nil && isToStop(copied) {
			by, doing = worker, "stop it"
		}
		sighting := Sighting{
			Object: Of(j), Since: since, Jobs: []*inspect.Job{j, m.Job}, Cause: "runs on " + by.Context + " " + m.Job.Context + " " + why,
			Message:  fmt.Sprintf("%s on %s, but its mirror on %s still runs: Kueue on %s must %s", why, s.Manager.Context, m.Job.Context, by.Context, doing),
			Evidence: []string{evidence, stateOf(m.Job)},
		}
		if s.Workload != nil {
			turn := v.On(by.Context, s.Manager.Context, since)
			sighting.Awaits = v.awaitsKueue(by, s.Workload, inspect.DutyRemove, "", by.Context, turn)
		}
		sighting.Remedy = seeKueue(by.Context, sighting.Awaits)
		if s.Workload != nil && s.Workload.Is(kueue.Evicted) {
			v.tellPreempted(s, &sighting)
		}
		v.Report(sighting)
	}
}

// isToStop says whether a worker's Kueue was told to stop what runs under a Workload
// (kueue: DeactivationTarget, by which a manager evicts what it has given away).
func isToStop(w *kueue.Workload) bool {
	return !w.IsActive() || w.Is(kueue.Evicted) || w.Is(kueue.DeactivationTarget)
}

// isOutOfReach says whether a manager cannot reach a context's cluster, or has given the
// Job to another one: what runs there then, other rules tell.
func (v *View) isOutOfReach(s Submission, context string) bool {
	clusters, _ := v.MultiKueueClusters(s.Manager)
	for _, c := range clusters {
		if v.ContextOf(s.Manager, c.Name) == context {
			return !worksOn(v, s, c.Name) || s.Chosen() != "" && s.Chosen() != c.Name
		}
	}
	return true
}
