package rules

import (
	"fmt"
	"strings"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// steps are what follows from whose turn it is on a Job's way, where what is there tells
// of no other cause (JM129 to JM137).
func steps() []Rule {
	return []Rule{stepNotTaken(), runsOn(), partGone(), actorStopped(), managerGivesTooMuch(), resourceUncovered(), workersUnread(), markRemoved(), workerUnreached()}
}

func stepNotTaken() Rule {
	return Rule{
		Code: "JM129", Title: "Kueue does not take the next step", Severity: inspect.Error,
		Holds: "Kueue has taken the next step for every Job",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets, inspect.PartQueues,
		},
		Why: `On its way from the management cluster to the pods of a worker, a Job waits for Kueue at each step: on the
management cluster to say something of its Workload, to admit it once its checks are ready, and to let go of it once it
is deleted; on the worker to admit the copy that has quota, and to resume the mirror of the copy that it has admitted.
Nothing is in the way here, and Kueue has not done it. Mostly it does not run there, or not with the integration of that
kind (integrations.frameworks), so that it admits Workloads, and never starts what they stand for.`,
		Shows: `A Workload without any condition, with quota and no check that is not Ready and without Admitted=True, or
with a deletionTimestamp and a finalizer of Kueue's; or a mirror that is suspended, though the copy of its Workload is
admitted. Where the same Kueue is at work on others, it is only behind (JM114).`,
		Remedy: `See whether Kueue runs on that cluster, and what it logs.`,
		Link:   "https://kueue.sigs.k8s.io/docs/tasks/troubleshooting/troubleshooting_jobs/",
		Detect: func(v *View) {
			for _, s := range v.Submissions() {
				if s.Workload == nil || s.Job().Status.IsFinished() || !v.concernsMultiKueue(s) {
					continue
				}
				for _, next := range v.stepsOf(s) {
					v.Report(v.notTaken(s, next))
				}
			}
		},
	}
}

// step is what Kueue has to do next.
type step struct {
	// by is the cluster of the Kueue whose turn it is, and since when, by its clock.
	by    *inspect.Facts
	since time.Time
	duty  inspect.Duty
	// what says what it does not do.
	what     string
	evidence []string
}

// notTaken tells of a step, once for all that wait for the same.
func (v *View) notTaken(s Submission, next step) Sighting {
	j := s.Job()
	sighting := Sighting{
		Object: Of(j), Since: v.On(j.Context, next.by.Context, next.since), Jobs: []*inspect.Job{j},
		Cause:   strings.Join([]string{"step", string(next.duty), next.by.Context, j.Context, j.Kind}, " "),
		Message: fmt.Sprintf("Kueue on %s %s", next.by.Context, next.what), Evidence: next.evidence,
		Awaits: v.awaitsKueue(next.by, s.Workload, next.duty, "", next.by.Context, next.since),
	}
	sighting.Remedy = seeKueue(next.by.Context, sighting.Awaits)
	if isOwn := next.by == s.Manager && next.duty == inspect.DutyRemove; isOwn && j.Suspended && j.Active > 0 && !hasPodsLeft(v, s) {
		// Kueue restores the Pod template first, which the API server refuses then.
		sighting.Cause, sighting.Awaits = "", nil
		sighting.Message = fmt.Sprintf("Kueue on %s keeps its deleted Workload: its status counts %s as active that are gone", j.Context, inspect.Count(int(j.Active), "Pod"))
		sighting.Evidence = append(sighting.Evidence, stateOf(j), fmt.Sprintf("%s: status.active of %s is %d", j.Context, named(Of(j)), j.Active))
		sighting.Remedy = command.Say("set its status to no active Pods: %s", noneActive(j))
	}
	if next.duty == inspect.DutyResume {
		sighting.Remedy += command.Say("; and that integrations.frameworks of its configuration enables %s", plural(j))
	}
	return sighting
}

// stepsOf are the steps that Kueue has to take with a submission: one on its own cluster,
// or else those on workers.
func (v *View) stepsOf(s Submission) []step {
	w, f := s.Workload, s.Manager
	if w.DeletionTimestamp != nil {
		return lettingGo(f, w)
	}
	if s.IsFinished() || !w.IsActive() || s.Job().DeletedAt != nil {
		return nil
	}
	quota := w.Condition(kueue.QuotaReserved)
	switch {
	case quota == nil && len(w.Status.Conditions) == 0:
		v.note(f, inspect.PartQueues)
		if f.BlockerOf(w) != nil {
			return nil
		}
		return []step{{
			by: f, since: w.CreationTimestamp.Time, duty: inspect.DutyQuota, what: "has said nothing of its Workload",
			evidence: []string{fmt.Sprintf("%s: %s has no conditions since its creation at %s", f.Context, named(workloadObject(f, w)), stamp(w.CreationTimestamp))},
		}}
	case s.Check != nil && isToBeAdmitted(w):
		return []step{admission(f, w, "does not admit it, though it has quota and all its checks are ready")}
	}
	var found []step
	for _, c := range v.Copies(s) {
		if s.Chosen() == "" || s.Chosen() == c.Cluster {
			found = append(found, v.stepsOn(s, c)...)
		}
	}
	return found
}

// stepsOn are the steps of a worker's Kueue.
func (v *View) stepsOn(s Submission, c Copy) []step {
	w := c.Workload
	admitted := w.Condition(kueue.Admitted)
	switch {
	case w.DeletionTimestamp != nil:
		return lettingGo(c.Worker, w)
	case !w.IsActive() || w.Is(kueue.Finished) || w.Is(kueue.Evicted):
		return nil
	case isToBeAdmitted(w):
		return []step{admission(c.Worker, w, fmt.Sprintf("(%s) does not admit the copy of its Workload, though that has quota", c.Cluster))}
	case !isTrue(admitted):
		return nil
	}
	var found []step
	for _, m := range s.Pair.Mirrors {
		if j := m.Job; j.Context == c.Worker.Context && m.Current && j.Suspended && j.IsOpen() && j.Prebuilt() == w.Name {
			found = append(found, step{
				by: c.Worker, since: newest(admitted.LastTransitionTime.Time, j.CreationTimestamp.Time, timeOf(j.SpecWrittenAt)), duty: inspect.DutyResume,
				what: fmt.Sprintf("(%s) has admitted it, and does not resume its mirror", c.Cluster),
				evidence: []string{
					conditionOf(c.Worker, w, admitted),
					fmt.Sprintf("%s: %s is suspended, created %s", j.Context, named(Of(j)), stamp(j.CreationTimestamp)),
				},
			})
		}
	}
	return found
}

// isToBeAdmitted says whether a Workload has all that it takes to be admitted, and is not.
// For a topology that is still to come, Kueue waits.
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
	next := step{by: f, since: quota.LastTransitionTime.Time, duty: inspect.DutyAdmit, what: what, evidence: []string{
		conditionOf(f, w, quota), conditionNamed(f, w, kueue.Admitted),
	}}
	for _, state := range w.Status.AdmissionChecks {
		next.since = newest(next.since, state.LastTransitionTime.Time)
		next.evidence = append(next.evidence, checkText(workloadObject(f, w), state))
	}
	return next
}

// lettingGo is the step that Kueue has to take with a Workload, if that is being deleted.
func lettingGo(f *inspect.Facts, w *kueue.Workload) []step {
	var kueues []string
	for _, finalizer := range w.Finalizers {
		if delegation.IsKueues(finalizer) {
			kueues = append(kueues, finalizer)
		}
	}
	if len(kueues) == 0 || w.DeletionTimestamp == nil {
		return nil
	}
	return []step{{
		by: f, since: w.DeletionTimestamp.Time, duty: inspect.DutyRemove, what: "does not let go of its Workload, which is being deleted",
		evidence: []string{fmt.Sprintf("%s: metadata.deletionTimestamp of %s is %s, and its finalizers are %s",
			f.Context, named(workloadObject(f, w)), stamp(*w.DeletionTimestamp), strings.Join(w.Finalizers, ", "))},
	}}
}
