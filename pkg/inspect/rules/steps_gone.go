package rules

import (
	"fmt"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func partGone() Rule {
	return Rule{
		Code: "JM131", Undated: true, Title: "a part of its chain is missing", Severity: inspect.Error,
		Holds: "everything between a Job and its mirror exists",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartKueue, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets, inspect.PartPods,
			inspect.PartEvents,
		},
		Why: `Something was there, and is not any more, without which a Job cannot be: the Workload of the origin, the
copy of it that the mirror runs under, or the pods that the mirror counts. Whoever made it makes it anew within seconds,
or takes back what hangs on it. That has not happened, so that this controller does not run, or cannot.`,
		Shows: `An origin of MultiKueue's that was taken up has no Workload; the copy of a Workload is not on the worker
that it was given to, and the mirror is; or the status of a mirror counts active pods, or has a startTime, and there are
no pods.`,
		Remedy: `See that the controller that has to make it anew runs: Kueue on the management cluster, and for pods
kube-controller-manager on the worker. Once Kueue runs, it starts such a Job from scratch.`,
		Link: "https://kueue.sigs.k8s.io/docs/concepts/multikueue/",
		Detect: func(v *View) {
			for _, s := range v.Submissions() {
				reportWorkloadGone(v, s)
				reportCopyGone(v, s)
			}
			v.eachLiveMirror(func(p inspect.Pair, mirror *inspect.Job, f *inspect.Facts) { reportPodsGone(v, p, mirror, f) })
		},
	}
}

// reportWorkloadGone reports what Kueue has taken up, and of which it has no Workload.
func reportWorkloadGone(v *View, s Submission) {
	j := s.Job()
	isTakenUp := j.ManagedBy == delegation.MultiKueue && j.Status != delegation.Unclaimed
	if s.Workload != nil || !s.WorkloadKnown || !isLive(s) || !isTakenUp || j.Queue() == "" || j.Prebuilt() != "" || j.IsPart() || j.MultiKueueOrigin() != "" {
		return
	}
	if has, known := v.HasKueue(s.Manager); !has || !known {
		return
	}
	v.Report(Sighting{
		Object: Of(j), Jobs: []*inspect.Job{j}, Cause: "no Workload " + j.Context + " " + j.Kind,
		Message:  fmt.Sprintf("its Workload on %s is gone, but Kueue has not made another", j.Context),
		Evidence: []string{fmt.Sprintf("%s: no Workload has the uid %s", j.Context, j.UID), stateOf(j)},
		Remedy:   command.Say("%s; once it runs, the %s starts from scratch", seeKueue(j.Context, nil), j.Kind),
	})
}

// reportCopyGone reports a mirror without the copy of the Workload that it runs under.
func reportCopyGone(v *View, s Submission) {
	j := s.Job()
	if s.Workload == nil || !isLive(s) || s.Chosen() == "" || !hasState(s, kueue.CheckReady) || j.IsElastic() || !worksOn(v, s, s.Chosen()) {
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
		v.Report(Sighting{
			Object: Of(j), Jobs: []*inspect.Job{j, m.Job}, Cause: "no copy " + j.Context + " " + c.Worker.Context + " " + j.Kind,
			Message: fmt.Sprintf("its Workload copy on %s (%s) is gone, but its mirror is left: MultiKueue must take it back", c.Cluster, c.Worker.Context),
			Evidence: []string{
				fmt.Sprintf("%s: there is no Workload %s/%s", c.Worker.Context, s.Workload.Namespace, s.Workload.Name), checkOf(s), stateOf(m.Job),
			},
			Remedy: command.Say("%s; it then starts the %s from scratch", seeKueue(s.Manager.Context, nil), j.Kind),
		})
	}
}

// reportPodsGone reports a mirror that should have pods, and has none. Why none can be
// made, JM049 tells.
func reportPodsGone(v *View, p inspect.Pair, mirror *inspect.Job, f *inspect.Facts) {
	pods, known := v.Pods(f, mirror)
	warning, _ := v.LastWarning(f, mirror)
	if !known || len(pods) > 0 || warning != nil && warning.Reason == "FailedCreate" {
		return
	}
	what := podsWanted(mirror)
	if what == "" {
		return
	}
	since := newest(mirror.StartTime.Time, timeOf(mirror.StatusWrittenAt))
	actor := v.inventory.OwnerOf(mirror)
	v.Report(Sighting{
		Object: Of(p.Origin), Jobs: []*inspect.Job{p.Origin, mirror}, Since: v.On(p.Origin.Context, mirror.Context, since), Cause: "no pods " + actor.String(),
		Message:  fmt.Sprintf("its mirror on %s has no Pods, and %s: %s must create them", mirror.Context, what, actor),
		Evidence: []string{stateOf(mirror), fmt.Sprintf("%s: there is no pod of it", mirror.Context)},
		Remedy:   command.Say("see that kube-controller-manager runs on %s, and what keeps it from making pods: %s", mirror.Context, kubectlFor(mirror, "describe")),
		Awaits:   v.awaits(inspect.Turn{Actor: actor, Duty: inspect.DutyPods, Subject: mirror.UID}, mirror.Context, since),
	})
}

// podsWanted says why a mirror should have pods now; "" if it need not have any, or if
// that cannot be told.
func podsWanted(mirror *inspect.Job) string {
	isZero := func(n *int32) bool { return n != nil && *n == 0 }
	switch {
	case !mirror.Row().IsJob() || mirror.Suspended || mirror.StartTime == nil || isZero(mirror.Parallelism) || isZero(mirror.Completions):
	case mirror.Marks == nil:
		// Of what has no mark, pods are not read.
	case mirror.StatusWrittenAt == nil && mirror.Marks.MultiKueueOrigin == "":
		// Who writes statuses by hand makes no pods.
	case mirror.Active > 0:
		return fmt.Sprintf("its status counts %d of them as active", mirror.Active)
	case mirror.Succeeded+mirror.Failed == 0:
		return "it was started at " + stamp(*mirror.StartTime)
	}
	return ""
}
