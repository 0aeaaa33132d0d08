package rules

import (
	"fmt"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func deactivated() Rule {
	return Rule{
		Code: "JM124", Title: "the Workload was deactivated", Severity: inspect.Info,
		Holds: "no Workload is deactivated",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `Kueue neither queues nor runs a Workload whose spec.active is false. A person sets it to stop the Job for a
while. Kueue sets it if the Job ran for its maximum execution time, or its Pods were not ready in time too often. The
Workload stays so until somebody activates it.`,
		Shows: `The Workload, or its copy on a worker, has spec.active false. The condition DeactivationTarget names Kueue's
cause, or the condition Evicted does: its reason begins with DeactivatedDueTo.`,
		Remedy: `Activate a Workload that a person stopped, or whose Pods were not ready, once the cause is gone. Submit a Job
that ran out of time again, with a longer limit. While DeactivationTarget is true, Kueue deactivates the Workload again
at once.`,
		Link: "https://kueue.sigs.k8s.io/docs/concepts/workload/#active",
		Detect: func(v *View) {
			for _, s := range v.Submissions() {
				// What MultiKueue has rejected is deactivated, too: JM012, JM015 and JM016 tell.
				if s.Workload != nil && isLive(s) && !s.Workload.IsActive() && !hasState(s, kueue.CheckRejected) && s.Workload.DeletionTimestamp == nil {
					v.Report(switchedOff(v, s))
				}
				if s.Workload != nil && isLive(s) {
					reportCopiesOff(v, s)
				}
			}
		},
	}
}

func switchedOff(v *View, s Submission) Sighting {
	j, w := s.Job(), s.Workload
	wait := w.Waiting()
	sighting := Sighting{
		Object: Of(j), Since: w.CreationTimestamp.Time, Jobs: []*inspect.Job{j}, Message: wait.Text(),
		Evidence: []string{
			fmt.Sprintf("%s: spec.active of %s is false", s.Manager.Context, named(workloadObject(s.Manager, w))),
		},
		Remedy: v.fixes(s.Manager, w, &wait),
	}
	if wait.Condition != nil {
		sighting.Since = wait.Since
		sighting.Evidence = append(sighting.Evidence, conditionOf(s.Manager, w, wait.Condition))
	}
	if wait.Reason != kueue.ReasonDeactivated {
		sighting.Severity = inspect.Warning
	}
	if slices.ContainsFunc(s.Pair.Mirrors, isLiveMirror) {
		sighting.Message += "; its mirror runs until Kueue stops it"
	}
	return sighting
}

// reportCopiesOff reports the copies of a Workload that somebody has deactivated on a
// worker. Where the manager has taken the Job back, it does so itself.
func reportCopiesOff(v *View, s Submission) {
	if why, _, _ := notToRun(s); why != "" || s.Job().DeletedAt != nil {
		return
	}
	j := s.Job()
	for _, c := range v.Copies(s) {
		w := c.Workload
		if w.IsActive() || w.DeletionTimestamp != nil || w.Is(kueue.Finished) || w.Is(kueue.DeactivationTarget) || s.Chosen() != "" && s.Chosen() != c.Cluster {
			continue
		}
		since, wait := timeOf(inspect.SpecWrittenAt(w.ManagedFields)), w.Waiting()
		if wait.Condition != nil {
			since = wait.Since
		}
		v.Report(Sighting{
			Object: Of(j), Since: v.On(j.Context, c.Worker.Context, since), Jobs: []*inspect.Job{j},
			Message:  fmt.Sprintf("its Workload copy on %s (%s): %s", c.Cluster, c.Worker.Context, wait.Text()),
			Evidence: []string{fmt.Sprintf("%s: spec.active of %s is false", c.Worker.Context, named(workloadObject(c.Worker, w)))},
			Remedy:   v.fixes(c.Worker, w, &wait),
		})
	}
}
