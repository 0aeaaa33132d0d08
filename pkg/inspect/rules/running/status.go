package running

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func statusHeldBack() view.Rule {
	return view.Rule{
		Code: "JM041", Severity: inspect.Warning,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Detect: func(v *view.View) {
			for s := range unfinished(v) {
				if !s.Job().Suspended || !s.HasState(kueue.CheckReady) || s.Chosen() == "" || s.IsEvicted() || !v.Reaches(s, s.Chosen()) {
					continue
				}
				if !s.Job().Row().IsJob() {
					// Kueue copies the status of other kinds even if the origin
					// is suspended.
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

func reportHeldBack(v *view.View, s view.Submission, m inspect.Mirror) {
	j, mirror := s.Job(), m.Job
	if !m.Current || mirror.Suspended || mirror.Active == 0 || mirror.Status.IsFinished() {
		return
	}
	differences := v.Differences(s.Pair, m)
	if !slices.ContainsFunc(differences, func(d inspect.Difference) bool { return d.Field == "spec.suspend" && !d.Lag }) {
		return
	}
	if j.IsStopping() && !slices.ContainsFunc(differences, isStale) {
		return
	}
	sighting := view.Sighting{
		Object: view.Of(j), Jobs: []*inspect.Job{j},
		Message:  fmt.Sprintf("it is suspended while its mirror runs on %s: its status is not copied", mirror.Context),
		Evidence: []string{quote.MultiKueueCheck(s), conditionNamed(s.Manager, s.Workload, kueue.Admitted)},
	}
	runs := view.Latest(mirror.CreationTimestamp.Time, view.TimeOf(mirror.StartTime))
	sighting.Since, sighting.IsUndated = view.Proven([]time.Time{v.On(j.Context, mirror.Context, runs)}, j.SpecWrittenAt)
	sighting.Awaits = v.AwaitsKueue(s.Manager, s.Workload, liveness.DutyResume, "", j.Context, sighting.Since)
	sighting.Remedy = command.Say("%s; read its message about the Workload: %s",
		advice.CheckKueue(v, j.Context, sighting.Awaits), advice.KubectlObject(view.OfWorkload(s.Manager, s.Workload), "describe"))
	if isHeldByPods(j) {
		sighting.Evidence = append(sighting.Evidence, fmt.Sprintf("%s: status.active of %s is %d", j.Context, view.Of(j).String(), j.Active))
		sighting.Remedy = command.Say("set status.active of the origin to 0, so that Kueue can resume it: %s; or %s", setNoneActive(j), sighting.Remedy)
	}
	for _, d := range differences {
		if d.Field == "spec.suspend" || strings.HasPrefix(d.Field, "status.") {
			sighting.Evidence = append(sighting.Evidence, quoteDifference(d, j, mirror))
		}
	}
	v.Report(sighting)
}

// isHeldByPods reports whether Kueue has stopped an origin, and cannot resume it because its status counts Pods. Kueue
// changes the Pod template when it resumes the Job. From 1.36 on, the API server refuses that while status.active is
// not 0 (kubernetes: pkg/registry/batch/job/strategy.go). Kueue does not copy the status before (kueue:
// pkg/controller/jobs/job/job_multikueue_adapter.go).
func isHeldByPods(j *inspect.Job) bool { return j.Active > 0 && j.StartTime == nil }

// isStale reports whether a field of the status was not copied. Kueue removes the startTime of a Job
// that it stops.
func isStale(d inspect.Difference) bool {
	return d.IsStatus() && !d.Lag && (d.Field != "status.startTime" || d.Origin != "")
}

// quoteDifference quotes a field in which a mirror differs from its origin.
func quoteDifference(d inspect.Difference, origin, mirror *inspect.Job) string {
	return fmt.Sprintf("%s: %s of %s is %s; %s: %s", origin.Context, d.Field, view.Of(origin).String(), quote.OrNotSet(d.Origin), mirror.Context, quote.OrNotSet(d.Mirror))
}

func statusRefused() view.Rule {
	return view.Rule{
		Code: "JM042", Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartVersion,
		},
		Covers: []string{"JM041"},
		Detect: func(v *view.View) {
			for s := range unfinished(v) {
				server := v.Version(s.Manager)
				if !keepsSuspended(server) {
					continue
				}
				j := s.Job()
				admitted := s.Workload.Condition(kueue.Admitted)
				// The API server does not validate the status of other kinds.
				isOpen := j.Suspended && j.Row().IsJob() && !s.IsFinished() && !s.IsEvicted()
				if !isOpen || !s.HasState(kueue.CheckReady) || !view.IsTrue(admitted) {
					continue
				}
				awaited := v.AwaitsKueue(s.Manager, s.Workload, liveness.DutyResume, "", j.Context, admitted.LastTransitionTime.Time)
				// Newer Kueue writes a status first, or has resumed other Jobs since.
				if j.StatusWrittenAt != nil || awaited.LastSimilar.At.After(awaited.Since) {
					continue
				}
				v.Report(view.Sighting{
					Object: view.Of(j), Since: admitted.LastTransitionTime.Time, Jobs: []*inspect.Job{j},
					Cause: "version " + j.Context, Awaits: awaited,
					Message: fmt.Sprintf("it is admitted and still suspended: Kubernetes %s on %s may not let Kueue resume it", server, j.Context),
					Evidence: []string{
						fmt.Sprintf("%s: the API server's version is %s", j.Context, server),
						quote.WorkloadCondition(s.Manager, s.Workload, admitted), quote.MultiKueueCheck(s),
						fmt.Sprintf("%s: spec.suspend of %s is true", j.Context, view.Of(j).String()),
					},
					Remedy: command.Say("upgrade %s to Kubernetes v1.36.2 or later, or Kueue there to 0.18 or later; if Kueue is that new, %s",
						j.Context, advice.CheckKueue(v, j.Context, awaited)),
				})
			}
		},
	}
}

// keepsSuspended reports whether an API server of a version rejects the
// status that resumes a Job. Distributions append to the version, as in
// v1.36.0+k3s1, or use their own suffix, as in v1.36.0-gke.1234000.
// Pre-releases of 1.36.0, such as v1.36.0-rc.1, have the validation too.
func keepsSuspended(text string) bool {
	parsed, err := version.ParseGeneric(text)
	return err == nil && parsed.AtLeast(version.MustParseGeneric("1.36.0")) && parsed.LessThan(version.MustParseGeneric("1.36.2"))
}

func admittedNowhere() view.Rule {
	return view.Rule{
		Code: "JM047", Severity: inspect.Warning,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Covers: []string{"JM104"},
		Detect: func(v *view.View) {
			for s := range unfinished(v) {
				isUnderWay := s.HasState(kueue.CheckRetry) || s.IsEvicted()
				if s.Check != nil && !isUnderWay && s.Workload.Is(kueue.Admitted) && !s.IsFinished() {
					reportAdmittedNowhere(v, s)
				}
			}
		},
	}
}

func reportAdmittedNowhere(v *view.View, s view.Submission) {
	chosen := s.Chosen()
	if chosen == "" {
		// If the check is ready, the chosen cluster is about to be recorded.
		if !s.HasState(kueue.CheckReady) {
			v.Report(admittedNowhereOn(v, s, view.Copy{}))
		}
		return
	}
	c, ok := v.CopyOn(s, chosen)
	// A finished copy is no longer admitted, as it should be.
	if !ok || c.Workload == nil || !v.Reaches(s, chosen) || c.Workload.Is(kueue.Admitted) || c.Workload.Is(kueue.Finished) {
		return
	}
	// Older versions wait only for quota, because the worker may have its own
	// checks.
	if !strings.Contains(s.Check.Message, "got reservation") || !c.Workload.Is(kueue.QuotaReserved) {
		v.Report(admittedNowhereOn(v, s, c))
	}
}

// admittedNowhereOn returns the sighting of a submission that counts as
// admitted, but was given to no worker, or to one that has not admitted its
// copy.
func admittedNowhereOn(v *view.View, s view.Submission, c view.Copy) view.Sighting {
	j, admitted := s.Job(), s.Workload.Condition(kueue.Admitted)
	activate := func(active bool) command.Command {
		return advice.KubectlObject(view.OfWorkload(s.Manager, s.Workload), "patch").With("--type=merge", "-p", command.Patch(active, "spec", "active"))
	}
	sighting := view.Sighting{
		Object: view.Of(j), Since: admitted.LastTransitionTime.Time, Jobs: []*inspect.Job{j},
		Evidence: []string{quote.WorkloadCondition(s.Manager, s.Workload, admitted), quote.MultiKueueCheck(s)},
		Remedy:   command.Say("deactivate its Workload, and activate it again: %s, and then %s", activate(false), activate(true)),
	}
	if c.Workload == nil {
		sighting.Since = view.Latest(sighting.Since, s.Check.LastTransitionTime.Time)
		sighting.Message = "it counts as admitted, but no worker has it"
		sighting.Evidence = append(sighting.Evidence, quote.ChosenCluster(j.Context, s.Workload))
	} else {
		sighting.Message = fmt.Sprintf("it counts as admitted, but its copy on %s (%s) does not", c.Cluster, c.Worker.Context)
		sighting.Evidence = append(sighting.Evidence, conditionNamed(c.Worker, c.Workload, kueue.Admitted))
		not, evicted := c.Workload.Condition(kueue.Admitted), c.Workload.Condition(kueue.Evicted)
		if view.IsTrue(evicted) {
			sighting.Message = fmt.Sprintf("it counts as admitted, but %s (%s) evicted its copy (%s)", c.Cluster, c.Worker.Context, evicted.Reason)
			sighting.Evidence = append(sighting.Evidence, quote.WorkloadCondition(c.Worker, c.Workload, evicted))
			not = evicted
		}
		if not != nil {
			sighting.Since = view.Latest(sighting.Since, v.On(j.Context, c.Worker.Context, not.LastTransitionTime.Time))
		}
	}
	sighting.Awaits = v.AwaitsKueue(s.Manager, s.Workload, liveness.DutyWithdraw, "", j.Context, sighting.Since)
	sighting.Remedy = command.Say("%s; if that changes nothing, %s", sighting.Remedy, advice.CheckKueue(v, j.Context, sighting.Awaits))
	if runsMirror(s, c.Worker) {
		// The deactivation deletes the mirror with its Pods.
		sighting.Remedy = command.Say("%s; or deactivate its Workload and activate it again, so that its Pods start from scratch: %s, and then %s",
			advice.CheckKueue(v, c.Worker.Context, nil), activate(false), activate(true))
	}
	return sighting
}

// runsMirror reports whether Pods of a submission's mirror run on a worker.
func runsMirror(s view.Submission, worker *inspect.Facts) bool {
	return worker != nil && slices.ContainsFunc(s.Pair.Mirrors, func(m inspect.Mirror) bool {
		return m.Job.Context == worker.Context && !m.Job.Suspended && !m.Job.Status.IsFinished()
	})
}
