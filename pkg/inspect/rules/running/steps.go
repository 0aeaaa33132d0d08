package running

import (
	"fmt"
	"strings"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func stepNotTaken() view.Rule {
	return view.Rule{
		Code: "JM129", Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets, inspect.PartQueues,
		},
		Detect: func(v *view.View) {
			for _, s := range v.Submissions() {
				if s.Workload == nil || s.Job().Status.IsFinished() || !v.ConcernsMultiKueue(s) {
					continue
				}
				for _, next := range stepsOf(v, s) {
					v.Report(describeStep(v, s, next))
				}
			}
		},
	}
}

// step is an action that Kueue must take next.
type step struct {
	// by is the cluster whose Kueue must act, since is when the step became
	// due, by its clock.
	by    *inspect.Facts
	since time.Time
	duty  liveness.Duty
	// what describes the action that is missing.
	what     string
	evidence []string
}

// describeStep returns the sighting of a step. All Jobs that wait for the
// same step are one cause.
func describeStep(v *view.View, s view.Submission, next step) view.Sighting {
	j := s.Job()
	sighting := view.Sighting{
		Object: view.Of(j), Since: v.On(j.Context, next.by.Context, next.since), Jobs: []*inspect.Job{j},
		Cause:   strings.Join([]string{"step", string(next.duty), next.by.Context, j.Context, j.Kind}, " "),
		Message: fmt.Sprintf("Kueue on %s %s", next.by.Context, next.what), Evidence: next.evidence,
		Awaits: v.AwaitsKueue(next.by, s.Workload, next.duty, "", next.by.Context, next.since),
	}
	sighting.Remedy = advice.CheckKueue(v, next.by.Context, sighting.Awaits)
	if isOwn := next.by == s.Manager && next.duty == liveness.DutyRemove; isOwn && j.Suspended && j.Active > 0 && !hasPodsLeft(v, s) {
		// Kueue restores the Pod template first, which the API server refuses
		// while Pods are active.
		sighting.Cause, sighting.Awaits = "", nil
		sighting.Message = fmt.Sprintf("Kueue on %s keeps its deleted Workload: the status of the origin counts %s as active that are gone", j.Context, inspect.Count(int(j.Active), "Pod"))
		sighting.Evidence = append(sighting.Evidence, quote.State(j), fmt.Sprintf("%s: status.active of %s is %d", j.Context, view.Of(j).String(), j.Active))
		sighting.Remedy = clearActive(j, "")
	}
	switch integration := j.Row().Integration; {
	case next.duty != liveness.DutyResume:
	case integration == "":
		sighting.Remedy += command.Say("; check that integrations.frameworks of its configuration enables %s", quote.Plural(j))
	default:
		sighting.Awaits = nil
		sighting.Remedy = command.Say("check that %s runs on %s, because Kueue itself does not resume %s: %s", integration, next.by.Context, quote.Plural(j),
			command.Kubectl(next.by.Context, "", "get", "deployments", "-A"))
	}
	return sighting
}

// stepsOf returns the steps that Kueue must take for a submission: one on its
// own cluster or, if none is due there, those on workers.
func stepsOf(v *view.View, s view.Submission) []step {
	w, f := s.Workload, s.Manager
	if w.DeletionTimestamp != nil {
		return releaseStep(f, w)
	}
	if s.IsFinished() || !w.IsActive() || s.Job().DeletedAt != nil {
		return nil
	}
	since, isUnevaluated := v.UnevaluatedSince(f, w)
	switch {
	case isUnevaluated:
		return evaluation(v, f, w, since)
	case isToBeQueued(v, f, w):
		return []step{{
			by: f, since: w.Status.Requeue.At.Time, duty: liveness.DutyQuota, what: "has not queued its Workload again after the backoff",
			evidence: []string{
				fmt.Sprintf("%s: status.requeueState.requeueAt of %s is %s", f.Context, view.OfWorkload(f, w).String(), quote.Time(*w.Status.Requeue.At)),
				conditionNamed(f, w, kueue.Requeued),
			},
		}}
	case s.Check != nil && isToBeAdmitted(w):
		return []step{admission(f, w, "does not admit its Workload, which has quota and all checks Ready")}
	}
	var found []step
	for _, c := range v.Copies(s) {
		if s.Chosen() == "" || s.Chosen() == c.Cluster {
			found = append(found, stepsOn(s, c)...)
		}
	}
	return found
}

// evaluation returns the first step for a Workload, nil if it waits behind another one.
func evaluation(v *view.View, f *inspect.Facts, w *kueue.Workload, since time.Time) []step {
	v.CanRead(f, inspect.PartQueues)
	if f.BlockerOf(w) != nil {
		return nil
	}
	next := step{
		by: f, since: since, duty: liveness.DutyQuota, what: "has set no condition on its Workload",
		evidence: []string{fmt.Sprintf("%s: %s has had no conditions since its creation at %s", f.Context, view.OfWorkload(f, w).String(), quote.Time(w.CreationTimestamp))},
	}
	if quota := w.Condition(kueue.QuotaReserved); quota != nil {
		next.what, next.evidence = "has not evaluated its Workload", []string{quote.WorkloadCondition(f, w, quota)}
	}
	return []step{next}
}

// isToBeQueued reports whether the backoff of an evicted Workload has ended. Kueue then sets its condition
// Requeued (kueue: pkg/controller/core/workload_controller.go).
func isToBeQueued(v *view.View, f *inspect.Facts, w *kueue.Workload) bool {
	wait := w.Waiting()
	return wait.Reason == kueue.ReasonBackoff && wait.HasKnownEnd() && v.Age(f.Context, wait.Requeue.At.Time) > 0
}

// stepsOn returns the steps that a worker's Kueue must take.
func stepsOn(s view.Submission, c view.Copy) []step {
	w := c.Workload
	admitted := w.Condition(kueue.Admitted)
	switch {
	case w.DeletionTimestamp != nil:
		return releaseStep(c.Worker, w)
	case !w.IsActive() || w.Is(kueue.Finished) || w.Is(kueue.Evicted):
		return nil
	case isToBeAdmitted(w):
		return []step{admission(c.Worker, w, fmt.Sprintf("(%s) does not admit the copy of its Workload, which has quota", c.Cluster))}
	case !view.IsTrue(admitted):
		return nil
	}
	var found []step
	for _, m := range s.Pair.Mirrors {
		if j := m.Job; j.Context == c.Worker.Context && m.Current && j.Suspended && j.IsOpen() && j.Prebuilt() == w.Name {
			found = append(found, step{
				by: c.Worker, since: view.Latest(admitted.LastTransitionTime.Time, j.CreationTimestamp.Time, view.TimeOf(j.SpecWrittenAt)), duty: liveness.DutyResume,
				what: fmt.Sprintf("(%s) admitted it, but %s", c.Cluster, strings.TrimSpace(j.Row().Integration+" does not resume its mirror")),
				evidence: []string{
					quote.WorkloadCondition(c.Worker, w, admitted),
					fmt.Sprintf("%s: %s is suspended, created %s", j.Context, view.Of(j).String(), quote.Time(j.CreationTimestamp)),
				},
			})
		}
	}
	return found
}

// isToBeAdmitted reports whether a Workload meets all requirements for its
// admission, but is not admitted. It is false while Kueue delays the
// admission for a topology.
func isToBeAdmitted(w *kueue.Workload) bool {
	if !w.Is(kueue.QuotaReserved) || w.Is(kueue.Admitted) || w.Is(kueue.Evicted) {
		return false
	}
	for _, state := range w.Status.AdmissionChecks {
		if state.State != kueue.CheckReady {
			return false
		}
	}
	not := w.Condition(kueue.Admitted)
	return not == nil || not.Reason != kueue.DelayedTopology
}

func admission(f *inspect.Facts, w *kueue.Workload, what string) step {
	quota := w.Condition(kueue.QuotaReserved)
	next := step{by: f, since: quota.LastTransitionTime.Time, duty: liveness.DutyAdmit, what: what, evidence: []string{
		quote.WorkloadCondition(f, w, quota), conditionNamed(f, w, kueue.Admitted),
	}}
	for _, state := range w.Status.AdmissionChecks {
		next.since = view.Latest(next.since, state.LastTransitionTime.Time)
		next.evidence = append(next.evidence, quote.CheckState(view.OfWorkload(f, w), state))
	}
	return next
}

// releaseStep returns the step of removing the finalizers of a Workload that is
// being deleted.
func releaseStep(f *inspect.Facts, w *kueue.Workload) []step {
	if !view.IsHeldByKueue(w) {
		return nil
	}
	return []step{{
		by: f, since: w.DeletionTimestamp.Time, duty: liveness.DutyRemove, what: "does not remove its finalizer from the deleted Workload",
		evidence: []string{quote.HeldByKueue(f, w)},
	}}
}
