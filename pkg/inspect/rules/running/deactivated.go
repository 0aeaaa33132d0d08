package running

import (
	"fmt"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
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
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets,
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
		Remedy: advice.EndWait(v, j, s.Manager, w, &wait),
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

// copyOff is the copy of a Workload that is deactivated on a worker, and why.
type copyOff struct {
	view.Copy
	wait kueue.Wait
}

// reportCopiesOff reports the copies of a Workload that are deactivated on workers. If the manager has
// taken the Job back, the manager deactivated them itself.
func reportCopiesOff(v *view.View, s view.Submission) {
	if why, _, _ := stopReason(s); why != "" || s.Job().DeletedAt != nil {
		return
	}
	var off []copyOff
	for _, c := range v.Copies(s) {
		w := c.Workload
		if w.IsActive() || w.DeletionTimestamp != nil || w.Is(kueue.Finished) || w.Is(kueue.DeactivationTarget) || s.Chosen() != "" && s.Chosen() != c.Cluster {
			continue
		}
		off = append(off, copyOff{c, w.Waiting()})
	}
	for _, group := range view.GroupBy(off, func(c copyOff) string { return c.wait.Text() }) {
		sighting := describeCopiesOff(v, s, group.Values)
		if group.Values[0].wait.Reason != kueue.ReasonDeactivated {
			sighting.Severity = inspect.Warning
			if isOffEverywhere(v, s, off) {
				sighting.Severity = inspect.Error
			}
		} else if noWorkerCanRun(v, s, off) {
			sighting.Severity = inspect.Warning
		}
		v.Report(sighting)
	}
}

// isOffEverywhere reports whether every worker that MultiKueue may offer a submission to has deactivated
// its copy. A user may activate again what a user has deactivated.
func isOffEverywhere(v *view.View, s view.Submission, off []copyOff) bool {
	clusters := v.ClustersOf(s)
	isOff := func(name string) bool {
		return slices.ContainsFunc(off, func(c copyOff) bool { return c.Cluster == name && c.wait.Reason != kueue.ReasonDeactivated })
	}
	return len(clusters) > 0 && !slices.ContainsFunc(clusters, func(name string) bool { return !isOff(name) })
}

// noWorkerCanRun reports whether no worker that MultiKueue may offer a submission to can run it: its
// copy there is deactivated, or waits for a change.
func noWorkerCanRun(v *view.View, s view.Submission, off []copyOff) bool {
	copies := v.Copies(s)
	clusters := v.ClustersOf(s)
	return len(clusters) > 0 && !slices.ContainsFunc(clusters, func(name string) bool {
		if slices.ContainsFunc(off, func(c copyOff) bool { return c.Cluster == name }) {
			return false
		}
		i := slices.IndexFunc(copies, func(c view.Copy) bool { return c.Cluster == name })
		if i < 0 {
			return true
		}
		wait := copies[i].Workload.Waiting()
		return !wait.IsPermanent()
	})
}

// describeCopiesOff describes copies that are deactivated for the same reason.
func describeCopiesOff(v *view.View, s view.Submission, off []copyOff) view.Sighting {
	j := s.Job()
	sighting := view.Sighting{Object: view.Of(j), Jobs: []*inspect.Job{j}}
	var places []string
	var remedies []command.Prose
	for i := range off {
		c := &off[i]
		context := c.Worker.Context
		since := view.TimeOf(inspect.SpecWrittenAt(c.Workload.ManagedFields))
		sighting.Evidence = append(sighting.Evidence, fmt.Sprintf("%s: spec.active of %s is false", context, view.OfWorkload(c.Worker, c.Workload).String()))
		if c.wait.Condition != nil {
			since = c.wait.Since
			sighting.Evidence = append(sighting.Evidence, quote.WorkloadCondition(c.Worker, c.Workload, c.wait.Condition))
		}
		sighting.Since = view.Latest(sighting.Since, v.On(j.Context, context, since))
		places = append(places, fmt.Sprintf("%s (%s)", c.Cluster, context))
		if remedy := advice.EndWait(v, j, c.Worker, c.Workload, &c.wait); !slices.Contains(remedies, remedy) {
			remedies = append(remedies, remedy)
		}
	}
	copies := "copy"
	if len(off) > 1 {
		copies = "copies"
	}
	sighting.Message = fmt.Sprintf("the %s of its Workload on %s: %s", copies, inspect.And(places), off[0].wait.Text())
	// One worker is enough.
	sighting.Remedy = command.Join(remedies, "; or ")
	return sighting
}
