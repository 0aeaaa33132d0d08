package running

import (
	"fmt"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func deactivated() view.Rule {
	return view.Rule{
		Code: "JM124", Severity: inspect.Info,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Detect: func(v *view.View) {
			for _, s := range v.Submissions() {
				// MultiKueue also deactivates what it rejects. JM012, JM015 and
				// JM016 report that.
				if s.Workload != nil && s.IsLive() && !s.Workload.IsActive() && !s.HasState(kueue.CheckRejected) && s.Workload.DeletionTimestamp == nil {
					v.Report(describeDeactivation(v, s))
				}
				if s.Workload != nil && s.IsLive() {
					reportCopiesOff(v, s)
				}
			}
		},
	}
}

func describeDeactivation(v *view.View, s view.Submission) view.Sighting {
	j, w := s.Job(), s.Workload
	wait := w.Waiting()
	sighting := view.Sighting{
		Object: view.Of(j), Since: w.CreationTimestamp.Time, Jobs: []*inspect.Job{j}, Message: wait.Text(),
		Evidence: []string{
			fmt.Sprintf("%s: spec.active of %s is false", s.Manager.Context, view.OfWorkload(s.Manager, w).String()),
		},
		Remedy: advice.EndWait(v, s.Manager, w, &wait),
	}
	if wait.Condition != nil {
		sighting.Since = wait.Since
		sighting.Evidence = append(sighting.Evidence, quote.WorkloadCondition(s.Manager, w, wait.Condition))
	}
	if wait.Reason != kueue.ReasonDeactivated {
		sighting.Severity = inspect.Warning
	}
	if slices.ContainsFunc(s.Pair.Mirrors, isLiveMirror) {
		sighting.Message += "; its mirror runs until Kueue stops it"
	}
	return sighting
}

// reportCopiesOff reports the copies of a Workload that a user has
// deactivated on a worker. If the manager has taken the Job back, the manager
// deactivated them itself.
func reportCopiesOff(v *view.View, s view.Submission) {
	if why, _, _ := stopReason(s); why != "" || s.Job().DeletedAt != nil {
		return
	}
	j := s.Job()
	for _, c := range v.Copies(s) {
		w := c.Workload
		if w.IsActive() || w.DeletionTimestamp != nil || w.Is(kueue.Finished) || w.Is(kueue.DeactivationTarget) || s.Chosen() != "" && s.Chosen() != c.Cluster {
			continue
		}
		since, wait := view.TimeOf(inspect.SpecWrittenAt(w.ManagedFields)), w.Waiting()
		if wait.Condition != nil {
			since = wait.Since
		}
		v.Report(view.Sighting{
			Object: view.Of(j), Since: v.On(j.Context, c.Worker.Context, since), Jobs: []*inspect.Job{j},
			Message:  fmt.Sprintf("the copy of its Workload on %s (%s): %s", c.Cluster, c.Worker.Context, wait.Text()),
			Evidence: []string{fmt.Sprintf("%s: spec.active of %s is false", c.Worker.Context, view.OfWorkload(c.Worker, w).String())},
			Remedy:   advice.EndWait(v, c.Worker, w, &wait),
		})
	}
}
