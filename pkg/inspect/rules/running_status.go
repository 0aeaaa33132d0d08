package rules

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func heldBack() Rule {
	return Rule{
		Code: "JM041", Title: "runs on the worker, but the origin is still suspended", Severity: inspect.Warning,
		Holds: "every Job that runs on a worker is resumed on its origin",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `As long as an origin is suspended and its mirror is not, MultiKueue does not copy the status, because a
suspended Job that has a start time could not be changed any more. That lasts for two seconds or so, until Kueue on
the management cluster resumes the origin. If it lasts, Kueue there does not come to it: its controller is not running,
or the Workload is not admitted there.`,
		Shows: `The origin has spec.suspend true, its mirror has not and has active pods, and the origin's status is
older than what the mirror tells.`,
		Remedy: `See whether the origin's Workload has Admitted=True, and what Kueue's controller on the management
cluster logs about it. Until then look at the mirror to know how far the Job is.`,
		Link: "https://github.com/kubernetes-sigs/kueue/issues/11115",
		Detect: func(v *View) {
			for s := range underWay(v) {
				if !s.Job().Suspended || !hasState(s, kueue.CheckReady) || s.Chosen() == "" || isEvicted(s) || !worksOn(v, s, s.Chosen()) {
					continue
				}
				if !s.Job().Row().IsJob() {
					// The status of other kinds is copied all the same.
					continue
				}
				worker, _ := v.Worker(s.Manager, s.Chosen())
				for _, m := range s.Pair.Mirrors {
					if worker != nil && m.Job.Context == worker.Context {
						reportHeldBack(v, s, m)
					}
				}
			}
		},
	}
}

// isEvicted is whether the manager is taking a Job back.
func isEvicted(s Submission) bool {
	return s.Workload.Is(kueue.Evicted)
}

func reportHeldBack(v *View, s Submission, m inspect.Mirror) {
	j, mirror := s.Job(), m.Job
	if !m.Current || mirror.Suspended || mirror.Active == 0 || mirror.Status.IsFinished() {
		return
	}
	differences := v.Differences(s.Pair, m)
	if !slices.ContainsFunc(differences, func(d inspect.Difference) bool { return d.Field == "spec.suspend" && !d.Lag }) {
		return
	}
	sighting := Sighting{
		Object: Of(j), Since: v.On(j.Context, mirror.Context, mirror.CreationTimestamp.Time), Jobs: []*inspect.Job{j},
		Message:  fmt.Sprintf("it is suspended while its mirror runs on %s: its status is not copied", mirror.Context),
		Evidence: []string{checkOf(s), conditionNamed(s.Manager, s.Workload, kueue.Admitted)},
	}
	if mirror.StartTime != nil {
		sighting.Since = v.On(j.Context, mirror.Context, mirror.StartTime.Time)
	}
	if j.SpecWrittenAt != nil {
		sighting.Since = newest(sighting.Since, j.SpecWrittenAt.Time)
	}
	sighting.Awaits = v.awaitsKueue(s.Manager, s.Workload, inspect.DutyResume, "", j.Context, sighting.Since)
	sighting.Remedy = command.Say("%s; and what it says of the Workload: %s",
		seeKueue(j.Context, sighting.Awaits), kubectlOn(workloadObject(s.Manager, s.Workload), "describe"))
	for _, d := range differences {
		if d.Field == "spec.suspend" || strings.HasPrefix(d.Field, "status.") {
			sighting.Evidence = append(sighting.Evidence, differs(d, j, mirror))
		}
	}
	v.Report(sighting)
}

// differs quotes a field in which a mirror is not as its origin says.
func differs(d inspect.Difference, origin, mirror *inspect.Job) string {
	return fmt.Sprintf("%s: %s of %s is %s; %s: %s", origin.Context, d.Field, named(Of(origin)), orNothing(d.Origin), mirror.Context, orNothing(d.Mirror))
}

// orNothing is a value as evidence quotes it.
func orNothing(value string) string {
	if value == "" {
		return "not set"
	}
	return value
}

func statusRefused() Rule {
	return Rule{
		Code: "JM042", Title: "the API server refuses to resume the origin", Severity: inspect.Error,
		Holds: "the API server lets every origin be resumed",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartVersion,
		},
		Why: `Kubernetes 1.36.0 and 1.36.1 only allow the pod template of a suspended Job to change if the Job has the
condition Suspended=True, even one that has never started. Nobody writes that condition for a delegated Job, and Kueue
changes the template as it resumes the Job, so the API server refuses that. 1.36.2, and Kueue 0.16.9, 0.17.4 and 0.18,
know better.`,
		Shows: `The management cluster's API server is v1.36.0 or v1.36.1, the origin's Workload is admitted there and
its check is Ready, and the origin is still suspended.`,
		Remedy: `Upgrade the management cluster to Kubernetes 1.36.2, or Kueue there to 0.16.9, 0.17.4, 0.18 or later.`,
		Link:   "https://github.com/kubernetes-sigs/kueue/issues/11614",
		Covers: []string{"JM041"},
		Detect: func(v *View) {
			for s := range underWay(v) {
				server := v.Version(s.Manager)
				if !keepsSuspended(server) {
					continue
				}
				j := s.Job()
				admitted := s.Workload.Condition(kueue.Admitted)
				// Of other kinds, the API server does not look at the status.
				isOpen := j.Suspended && j.Row().IsJob() && !s.IsFinished() && !isEvicted(s)
				if !isOpen || !hasState(s, kueue.CheckReady) || !isTrue(admitted) {
					continue
				}
				v.Report(Sighting{
					Object: Of(j), Since: admitted.LastTransitionTime.Time, Jobs: []*inspect.Job{j},
					Cause:   "version " + j.Context,
					Awaits:  v.awaitsKueue(s.Manager, s.Workload, inspect.DutyResume, "", j.Context, admitted.LastTransitionTime.Time),
					Message: fmt.Sprintf("it is admitted and still suspended: Kubernetes %s on %s does not let Kueue resume it", server, j.Context),
					Evidence: []string{
						fmt.Sprintf("%s: the API server's version is %s", j.Context, server),
						conditionOf(s.Manager, s.Workload, admitted), checkOf(s),
						fmt.Sprintf("%s: spec.suspend of %s is true", j.Context, named(Of(j))),
					},
					Remedy: command.Say("upgrade %s to Kubernetes v1.36.2 or later, or Kueue there to 0.18 or later", j.Context),
				})
			}
		},
	}
}

// keepsSuspended says whether an API server of a version does so. Distributions append
// to it, as in v1.36.0+k3s1, and some build it anew, as in v1.36.0-gke.1234000; what
// comes before 1.36.0, such as v1.36.0-rc.1, has the validation as well.
func keepsSuspended(text string) bool {
	parsed, err := version.ParseGeneric(text)
	return err == nil && parsed.AtLeast(version.MustParseGeneric("1.36.0")) && parsed.LessThan(version.MustParseGeneric("1.36.2"))
}

func admittedNowhere() Rule {
	return Rule{
		Code: "JM047", Title: "admitted by the manager, but by no worker", Severity: inspect.Warning,
		Holds: "every Job that its manager admitted is admitted on a worker",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `When a worker takes a Job's quota back, the management cluster has to take its own admission back too.
Before Kueue 0.16.6 and 0.17.1 it could forget that, so that the Job counts as admitted, and waits (kueue issue 9338).`,
		Shows: `The origin's Workload has Admitted=True, and it was given to no worker, or its copy there is not
admitted.`,
		Remedy: `Upgrade Kueue on the management cluster. To set this Job right, deactivate its Workload and activate
it again.`,
		Link: "https://github.com/kubernetes-sigs/kueue/issues/9338",
		Detect: func(v *View) {
			for s := range underWay(v) {
				isUnderWay := hasState(s, kueue.CheckRetry) || isEvicted(s)
				if s.Check != nil && !isUnderWay && s.Workload.Is(kueue.Admitted) && !s.IsFinished() {
					reportAdmittedNowhere(v, s)
				}
			}
		},
	}
}

func reportAdmittedNowhere(v *View, s Submission) {
	chosen := s.Chosen()
	if chosen == "" {
		// Where the check is ready, it is about to be told which.
		if !hasState(s, kueue.CheckReady) {
			v.Report(admittedNowhereOn(v, s, Copy{}))
		}
		return
	}
	c, ok := v.CopyOn(s, chosen)
	// What has finished is not admitted any more, by right.
	if !ok || c.Workload == nil || !worksOn(v, s, chosen) || c.Workload.Is(kueue.Admitted) || c.Workload.Is(kueue.Finished) {
		return
	}
	// Older versions wait for no more than quota: the worker may have checks of its own.
	if !strings.Contains(s.Check.Message, "got reservation") || !c.Workload.Is(kueue.QuotaReserved) {
		v.Report(admittedNowhereOn(v, s, c))
	}
}

// admittedNowhereOn tells of a submission that counts as admitted: it was given to no worker,
// or that has not admitted its copy.
func admittedNowhereOn(v *View, s Submission, c Copy) Sighting {
	j, admitted := s.Job(), s.Workload.Condition(kueue.Admitted)
	activate := func(active bool) command.Command {
		return kubectlOn(workloadObject(s.Manager, s.Workload), "patch").With("--type=merge", "-p", command.Patch(active, "spec", "active"))
	}
	sighting := Sighting{
		Object: Of(j), Since: admitted.LastTransitionTime.Time, Jobs: []*inspect.Job{j},
		Evidence: []string{conditionOf(s.Manager, s.Workload, admitted), checkOf(s)},
		Remedy:   command.Say("%s, and then %s", activate(false), activate(true)),
	}
	if c.Workload == nil {
		sighting.Since = newest(sighting.Since, s.Check.LastTransitionTime.Time)
		sighting.Message = "it counts as admitted, but no worker has it"
		sighting.Evidence = append(sighting.Evidence, chosenOf(j.Context, s.Workload))
	} else {
		sighting.Message = fmt.Sprintf("it counts as admitted, but its copy on %s (%s) does not", c.Cluster, c.Worker.Context)
		sighting.Evidence = append(sighting.Evidence, conditionNamed(c.Worker, c.Workload, kueue.Admitted))
		if not := c.Workload.Condition(kueue.Admitted); not != nil {
			sighting.Since = newest(sighting.Since, v.On(j.Context, c.Worker.Context, not.LastTransitionTime.Time))
		}
	}
	sighting.Awaits = v.awaitsKueue(s.Manager, s.Workload, inspect.DutyRecord, "", j.Context, sighting.Since)
	return sighting
}
