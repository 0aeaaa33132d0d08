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

func versionSkew() view.Rule {
	return view.Rule{
		Code: "JM040", Severity: inspect.Error,
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks},
		Detect: func(v *view.View) {
			for s := range unfinished(v) {
				for _, m := range s.Pair.Mirrors {
					if m.Current && !s.Job().IsElastic() && m.Job.IsOpen() {
						reportSkew(v, s, m.Job)
					}
				}
			}
		},
	}
}

func reportSkew(v *view.View, s view.Submission, mirror *inspect.Job) {
	j := s.Job()
	worker, ok := v.Facts(mirror.Context)
	if !ok || mirror.Prebuilt() == "" {
		return
	}
	prebuilt, ok := v.Workload(worker, mirror.Namespace, mirror.Prebuilt())
	if !ok || prebuilt == nil || view.IsOwned(prebuilt) {
		return
	}
	workloads, _ := v.MadeFor(worker, mirror)
	for _, w := range workloads {
		if w.Name == prebuilt.Name || w.Labels[delegation.MultiKueueOriginLabel] != "" {
			continue
		}
		sighting := view.Sighting{
			Object: view.Of(j), Since: v.On(j.Context, mirror.Context, w.CreationTimestamp.Time), Jobs: []*inspect.Job{j},
			Cause:   "skew " + mirror.Context,
			Message: fmt.Sprintf("Kueue on %s does not find the Workload of its mirror, and created a second one", mirror.Context),
			Evidence: []string{
				fmt.Sprintf("%s: %s of %s is %s", mirror.Context, delegation.PrebuiltWorkload, view.Of(mirror).String(), prebuilt.Name),
				fmt.Sprintf("%s: Workload %s/%s has no ownerReferences", mirror.Context, prebuilt.Namespace, prebuilt.Name),
				fmt.Sprintf("%s: Workload %s/%s, created %s, also belongs to the mirror", mirror.Context, w.Namespace, w.Name, quote.Time(w.CreationTimestamp)),
			},
			Remedy: command.Say("upgrade Kueue on %s to the version on %s, and then %s", mirror.Context, j.Context, advice.CreateAgain(j)),
		}
		if view.IsLiveJob(mirror) {
			letFinish(&sighting, mirror, j)
		} else {
			addOwnWait(&sighting, mirror, w)
		}
		v.Report(sighting)
		return
	}
}

// letFinish makes the sighting of a mirror with two Workloads one of a mirror that runs: MultiKueue copies
// the status of the mirror, whichever Workload it runs under.
func letFinish(s *view.Sighting, mirror, origin *inspect.Job) {
	s.Severity = inspect.Warning
	s.Cause += " runs"
	s.Message += ": the quota is held twice"
	s.Remedy = command.Say("let it finish: it runs, and only holds its quota twice; before you submit more, upgrade Kueue on %s to the version on %s", mirror.Context, origin.Context)
}

// addOwnWait adds to the sighting of a mirror with two Workloads why the one that Kueue on the worker created
// does not resume it. Kueue works there, so JM129 would name the wrong cause.
func addOwnWait(s *view.Sighting, mirror *inspect.Job, own *kueue.Workload) {
	s.Covers = []string{"JM129"}
	if wait := own.Waiting(); !own.Is(kueue.Admitted) && wait.Text() != "" {
		s.Cause += "/" + mirror.UID
		s.Message += fmt.Sprintf("; Workload %s waits: %s", own.Name, wait.Text())
	}
}

func resizeNotApplied() view.Rule {
	return view.Rule{
		Code: "JM050", Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets, inspect.PartQueues,
		},
		Detect: func(v *view.View) {
			for s := range unfinished(v) {
				if s.Job().IsElastic() && s.Job().Row().IsJob() && !s.IsFinished() {
					reportGrowth(v, s)
				}
				// The sizes of other kinds are not read.
				if !s.Job().IsElastic() || !s.Job().Row().IsJob() || s.IsFinished() || s.Chosen() == "" || !v.Reaches(s, s.Chosen()) || !allAdmitted(v, s) {
					continue
				}
				worker, _ := v.Worker(s.Manager, s.Chosen())
				for _, m := range s.Pair.Mirrors {
					if worker != nil && m.Job.Context == worker.Context && !m.Job.Status.IsFinished() {
						reportSize(v, s, m)
					}
				}
			}
		},
	}
}

// allAdmitted reports whether all unfinished Workloads of a Job are admitted.
// While a larger one waits for quota, the Job keeps its size.
func allAdmitted(v *view.View, s view.Submission) bool {
	workloads, ok := v.WorkloadsOf(s.Pair, s.Manager)
	for _, w := range workloads {
		ok = ok && (w.Is(kueue.Admitted) || w.Is(kueue.Finished))
	}
	return ok
}

// parallelPods returns how many Pods a Job runs at once, which is the size that
// Kueue uses.
func parallelPods(j *inspect.Job) int32 {
	n := int32(1)
	if j.Parallelism != nil {
		n = *j.Parallelism
	}
	if j.Completions != nil {
		n = min(n, *j.Completions)
	}
	return n
}

func reportSize(v *view.View, s view.Submission, m inspect.Mirror) {
	j := s.Job()
	if parallelPods(j) == parallelPods(m.Job) {
		return
	}
	for _, d := range v.Differences(s.Pair, m) {
		if d.Lag || d.Field != "spec.parallelism" && d.Field != "spec.completions" {
			continue
		}
		sighting := view.Sighting{
			Object: view.Of(j), Jobs: []*inspect.Job{j}, Cause: "size " + j.Context + "/" + s.Chosen(),
			Message:  fmt.Sprintf("%s is %s, but still %s in the mirror on %s", d.Field, quote.OrNotSet(d.Origin), quote.OrNotSet(d.Mirror), m.Job.Context),
			Evidence: []string{quoteDifference(d, j, m.Job)},
			Remedy: command.Say("on %[1]s, give the account in the kubeconfig of MultiKueueCluster %[2]s the verbs update and patch on jobs.batch; check with: %[3]s",
				m.Job.Context, s.Chosen(), command.Kubectl(m.Job.Context, j.Namespace, "auth", "can-i", "patch", "jobs.batch", "--as=ACCOUNT")),
		}
		if j.SpecWrittenAt != nil {
			sighting.Since = j.SpecWrittenAt.Time
			sighting.Awaits = v.AwaitsKueue(s.Manager, s.Workload, liveness.DutySpec, m.Job.Context, j.Context, sighting.Since)
		}
		v.Report(sighting)
		return
	}
}

func otherPriority() view.Rule {
	return view.Rule{
		Code: "JM052", Severity: inspect.Info,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartSecrets,
		},
		Detect: func(v *view.View) {
			for s := range unfinished(v) {
				clusters := s.Nominated()
				if chosen := s.Chosen(); chosen != "" {
					clusters = []string{chosen}
				}
				for _, name := range clusters {
					if c, _ := v.CopyOn(s, name); c.Workload != nil && !s.IsFinished() {
						reportPriority(v, s, c)
					}
				}
			}
		},
	}
}

func reportPriority(v *view.View, s view.Submission, c view.Copy) {
	j, here, there := s.Job(), s.Workload.Spec.Priority, c.Workload.Spec.Priority
	if here == nil || there == nil || *here == *there {
		return
	}
	class := s.Workload.Spec.PriorityClass()
	sighting := view.Sighting{
		Object: view.Of(j), Since: v.On(j.Context, c.Worker.Context, c.Workload.CreationTimestamp.Time), Jobs: []*inspect.Job{j},
		Cause:   fmt.Sprintf("priority %s/%s %s %d %d", j.Context, c.Cluster, class, *here, *there),
		Message: fmt.Sprintf("its priority is %d on %s, but %d on %s (%s)", *here, j.Context, *there, c.Cluster, c.Worker.Context),
		Evidence: []string{
			fmt.Sprintf("%s: spec.priority of Workload %s/%s is %d", j.Context, s.Workload.Namespace, s.Workload.Name, *here),
			fmt.Sprintf("%s: spec.priority of Workload %s/%s is %d", c.Worker.Context, c.Workload.Namespace, c.Workload.Name, *there),
		},
		Remedy: command.Say("give all priority classes the same values on %s as on %s", c.Worker.Context, j.Context),
	}
	if class != "" {
		sighting.Remedy = command.Say("give the priority class %s the same value on %s as on %s: %s",
			class, c.Worker.Context, j.Context, command.Kubectl(c.Worker.Context, "", "get", "workloadpriorityclasses.kueue.x-k8s.io,priorityclasses"))
	}
	v.Report(sighting)
}
