package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func deactivated() Rule {
	return Rule{
		Code: "JM124", Title: "its Workload was deactivated", Severity: inspect.Info,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `Kueue neither queues nor runs what is deactivated: its spec.active is false. Somebody did that by hand, to
stop the Job for a while; or Kueue did, since it has been requeued as often as is allowed, or has run for as long as it
may. Nothing activates it again by itself.`,
		Shows: `The Workload, or its copy on a worker, has spec.active false. Its condition Evicted, or QuotaReserved if it was never admitted, has a
reason that begins with Deactivated.`,
		Remedy: `Set spec.active to true once what it was deactivated for is settled, or delete the Job.`,
		Link:   "https://kueue.sigs.k8s.io/docs/concepts/workload/#active",
		Detect: func(v *View) {
			for _, s := range v.Submissions() {
				// What MultiKueue has rejected is deactivated, too: JM012, JM015 and JM016 tell.
				if s.Workload != nil && isLive(s) && !s.Workload.IsActive() && !hasState(s, kueue.CheckRejected) && s.Workload.DeletionTimestamp == nil {
					v.Report(switchedOff(s))
				}
				if s.Workload != nil && isLive(s) {
					reportCopiesOff(v, s)
				}
			}
		},
	}
}

func switchedOff(s Submission) Sighting {
	j, w := s.Job(), s.Workload
	sighting := Sighting{
		Object: Of(j), Since: w.CreationTimestamp.Time, Jobs: []*inspect.Job{j},
		Message: "its Workload was deactivated, so that it is neither queued nor run",
		Evidence: []string{
			fmt.Sprintf("%s: spec.active of %s is false", s.Manager.Context, named(workloadObject(s.Manager, w))),
		},
		Remedy: command.Say("once that is settled: %s", kueue.Activate(s.Manager.Context, w)),
	}
	runs := slices.ContainsFunc(s.Pair.Mirrors, isLiveMirror)
	if runs {
		sighting.Message = "its Workload was deactivated, and its mirror runs until Kueue has stopped it"
	}
	c := deactivation(w)
	if c == nil {
		return sighting
	}
	sighting.Since = c.LastTransitionTime.Time
	sighting.Evidence = append(sighting.Evidence, conditionOf(s.Manager, w, c))
	switch cause := strings.TrimPrefix(c.Reason, "DeactivatedDueTo"); {
	case cause == "RequeuingLimitExceeded":
		sighting.Severity = inspect.Warning
		sighting.Message = "Kueue has deactivated its Workload, since its pods were not ready in time as often as is allowed"
	case cause == "MaximumExecutionTimeExceeded":
		sighting.Severity = inspect.Warning
		sighting.Message = "Kueue has deactivated its Workload, since it has run for as long as it may"
	case cause != c.Reason:
		sighting.Severity = inspect.Warning
		sighting.Message = fmt.Sprintf("Kueue has deactivated its Workload: %s", reasonOf(c))
	case !runs:
		sighting.Message = "somebody has deactivated its Workload, so that it is neither queued nor run"
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
		if w.IsActive() || w.DeletionTimestamp != nil || w.Is(kueue.Finished) || w.Is("DeactivationTarget") || s.Chosen() != "" && s.Chosen() != c.Cluster {
			continue
		}
		since := timeOf(inspect.SpecWrittenAt(w.ManagedFields))
		if off := deactivation(w); off != nil {
			since = off.LastTransitionTime.Time
		}
		v.Report(Sighting{
			Object: Of(j), Since: v.On(j.Context, c.Worker.Context, since), Jobs: []*inspect.Job{j},
			Message:  fmt.Sprintf("the copy of its Workload on %s (%s) was deactivated there, so that this worker does not run it", c.Cluster, c.Worker.Context),
			Evidence: []string{fmt.Sprintf("%s: spec.active of %s is false", c.Worker.Context, named(workloadObject(c.Worker, w)))},
			Remedy:   command.Say("once that is settled: %s", kueue.Activate(c.Worker.Context, w)),
		})
	}
}

// deactivation is the condition that tells of it, nil if none does so far.
func deactivation(w *kueue.Workload) *metav1.Condition {
	for _, conditionType := range []string{kueue.Evicted, kueue.QuotaReserved} {
		c := w.Condition(conditionType)
		if c != nil && strings.HasPrefix(cmp.Or(c.Reason, c.Message), "Deactivated") {
			return c
		}
	}
	return nil
}
