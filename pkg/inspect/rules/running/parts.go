package running

import (
	"fmt"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func partGone() view.Rule {
	return view.Rule{
		Code: "JM131", Undated: true, Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartKueue, inspect.PartWorkloads, inspect.PartQueues, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters,
			inspect.PartSecrets, inspect.PartPods, inspect.PartEvents,
		},
		Detect: func(v *view.View) {
			for _, s := range v.Submissions() {
				reportWorkloadGone(v, s)
				reportCopyGone(v, s)
			}
			eachLiveMirror(v, func(p inspect.Pair, mirror *inspect.Job, f *inspect.Facts) { reportPodsGone(v, p, mirror, f) })
		},
	}
}

// reportWorkloadGone reports a Job that Kueue picked up, but for which it has
// no Workload.
func reportWorkloadGone(v *view.View, s view.Submission) {
	j := s.Job()
	if has, known := v.HasKueue(s.Manager); !has || !known || !hasLostWorkload(s) {
		return
	}
	if j.Suspended && j.Active > 0 && j.Row().IsJob() && !hasPodsLeft(v, s) {
		reportOutdatedCount(v, j)
		return
	}
	v.Report(view.Sighting{
		Object: view.Of(j), Jobs: []*inspect.Job{j}, Cause: "no Workload " + j.Context + " " + j.Kind,
		Message:  fmt.Sprintf("its Workload on %s is gone, and Kueue has not recreated it", j.Context),
		Evidence: []string{fmt.Sprintf("%s: no Workload has the UID %s", j.Context, j.UID), quote.State(j)},
		Remedy:   command.Say("%s; once it runs, the %s starts from scratch", advice.CheckKueue(v, j.Context, nil), j.Kind),
	})
}

// hasLostWorkload reports whether a Job that Kueue picked up has no Workload.
func hasLostWorkload(s view.Submission) bool {
	j := s.Job()
	isPickedUp := j.ManagedBy == delegation.MultiKueue && j.Status != delegation.Unclaimed
	return s.Workload == nil && s.WorkloadKnown && s.IsLive() && isPickedUp && j.Queue() != "" && j.Prebuilt() == "" && !j.IsPart() && j.MultiKueueOrigin() == ""
}

// reportOutdatedCount reports a stopped Job whose status still counts Pods, although none is left.
// Kueue creates no Workload until the status counts none, and no mirror is left to copy it from
// (seen with Kueue v0.19.2: "Missing Workload; unable to restore pod templates").
func reportOutdatedCount(v *view.View, j *inspect.Job) {
	v.Report(view.Sighting{
		Object: view.Of(j), Jobs: []*inspect.Job{j}, Cause: "no Workload, and active " + j.Context + " " + j.Kind,
		Message:  fmt.Sprintf("its Workload on %s is gone, and Kueue creates none while its status counts %s as active", j.Context, inspect.Count(int(j.Active), "Pod")),
		Evidence: []string{fmt.Sprintf("%s: no Workload has the UID %s", j.Context, j.UID), quote.State(j), fmt.Sprintf("no mirror of %s runs", view.Of(j).String())},
		Remedy:   clearActive(j, ", so that the "+j.Kind+" starts from scratch"),
	})
}

// reportCopyGone reports a mirror whose copy of the Workload no longer
// exists.
func reportCopyGone(v *view.View, s view.Submission) {
	j := s.Job()
	if s.Workload == nil || !s.IsLive() || s.Chosen() == "" || !s.HasState(kueue.CheckReady) || j.IsElastic() || !v.Reaches(s, s.Chosen()) {
		return
	}
	c, ok := v.CopyOn(s, s.Chosen())
	if has, known := v.HasKueue(c.Worker); !ok || c.Workload != nil || !has || !known {
		return
	}
	for _, m := range s.Pair.Mirrors {
		if m.Job.Context != c.Worker.Context || !isLiveMirror(m) {
			continue
		}
		v.Report(view.Sighting{
			Object: view.Of(j), Jobs: []*inspect.Job{j, m.Job}, Cause: "no copy " + j.Context + " " + c.Worker.Context + " " + j.Kind,
			Message: fmt.Sprintf("the copy of its Workload on %s (%s) is gone, but its mirror runs: MultiKueue must delete the mirror", c.Cluster, c.Worker.Context),
			Evidence: []string{
				fmt.Sprintf("%s: there is no Workload %s/%s", c.Worker.Context, s.Workload.Namespace, s.Workload.Name), quote.MultiKueueCheck(s), quote.State(m.Job),
			},
			Remedy: command.Say("%s; it then starts the %s from scratch", advice.CheckKueue(v, s.Manager.Context, nil), j.Kind),
		})
	}
}

// reportPodsGone reports a mirror that should have Pods but has none. JM049
// reports why none can be created.
func reportPodsGone(v *view.View, p inspect.Pair, mirror *inspect.Job, f *inspect.Facts) {
	pods, known := v.Pods(f, mirror)
	warning, _ := v.LastWarning(f, mirror)
	if !known || len(pods) > 0 || warning != nil && warning.Reason == inspect.FailedCreate {
		return
	}
	what := podsWanted(mirror)
	if what == "" {
		return
	}
	since := view.Latest(mirror.StartTime.Time, view.TimeOf(mirror.StatusWrittenAt))
	actor := v.OwnerOf(mirror)
	v.Report(view.Sighting{
		Object: view.Of(p.Origin), Jobs: []*inspect.Job{p.Origin, mirror}, Since: v.On(p.Origin.Context, mirror.Context, since), Cause: "no pods " + actor.String(),
		Message:  fmt.Sprintf("its mirror on %s has no Pods (%s): %s must create them", mirror.Context, what, actor),
		Evidence: []string{quote.State(mirror), fmt.Sprintf("%s: %s has no Pods", mirror.Context, view.Of(mirror).String())},
		Remedy:   command.Say("check that kube-controller-manager runs on %s, and why it creates no Pods: %s", mirror.Context, advice.KubectlJob(mirror, "describe")),
		Awaits:   v.Awaits(liveness.PendingAction{Actor: actor, Duty: liveness.DutyPods, Subject: mirror.UID}, mirror.Context, since),
	})
}

// podsWanted returns why a mirror should have Pods now. It returns "" if the
// mirror needs none, or if that is unknown.
func podsWanted(mirror *inspect.Job) string {
	isZero := func(n *int32) bool { return n != nil && *n == 0 }
	switch {
	case !mirror.Row().IsJob() || mirror.Suspended || mirror.StartTime == nil || isZero(mirror.Parallelism) || isZero(mirror.Completions):
	case mirror.Marks == nil:
		// Pods are read only for Jobs with a mark.
	case mirror.StatusWrittenAt == nil && mirror.Marks.MultiKueueOrigin == "":
		// A user who writes the status by hand creates no Pods.
	case mirror.Active > 0:
		return fmt.Sprintf("its status counts %d as active", mirror.Active)
	case mirror.Succeeded+mirror.Failed == 0:
		return "it was started at " + quote.Time(*mirror.StartTime)
	}
	return ""
}
