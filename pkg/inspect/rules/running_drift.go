package rules

import (
	"fmt"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func versionSkew() Rule {
	return Rule{
		Code: "JM040", Title: "the worker's Kueue created a second Workload for the mirror", Severity: inspect.Error,
		Holds: "every mirror has one Workload",
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks},
		Why: `A mirror names the Workload that it runs under: from Kueue 0.18 on in an annotation, before in a label. A
worker with an older Kueue than the management cluster's looks for the label only, so it makes a Workload of its own for
the mirror, and the one that was admitted has no owner. The quota is held twice, and MultiKueue watches the wrong one.`,
		Shows: `On the worker there are two Workloads for the mirror: the one that its annotation
kueue.x-k8s.io/prebuilt-workload-name names, which has no owner, and another one, which the mirror owns.`,
		Remedy: `Upgrade Kueue on the workers first and on the management cluster last. Until then turn the feature gate
WorkloadIdentifierAnnotations off on the management cluster; then create the Job again.`,
		Link: "https://github.com/kubernetes-sigs/kueue/issues/10098",
		Detect: func(v *View) {
			for s := range underWay(v) {
				for _, m := range s.Pair.Mirrors {
					if m.Current && !s.Job().IsElastic() && m.Job.IsOpen() {
						reportSkew(v, s, m.Job)
					}
				}
			}
		},
	}
}

func reportSkew(v *View, s Submission, mirror *inspect.Job) {
	j := s.Job()
	worker, ok := v.Facts(mirror.Context)
	if !ok || mirror.Prebuilt() == "" {
		return
	}
	prebuilt, ok := v.Workload(worker, mirror.Namespace, mirror.Prebuilt())
	if !ok || prebuilt == nil || isOwned(prebuilt) {
		return
	}
	made, _ := v.MadeFor(worker, mirror)
	for _, w := range made {
		if w.Name == prebuilt.Name || w.Labels[delegation.MultiKueueOriginLabel] != "" {
			continue
		}
		v.Report(Sighting{
			Object: Of(j), Since: v.On(j.Context, mirror.Context, w.CreationTimestamp.Time), Jobs: []*inspect.Job{j},
			Cause:   "skew " + mirror.Context,
			Message: fmt.Sprintf("Kueue on %s cannot tell the Workload of its mirror, and made another one", mirror.Context),
			Evidence: []string{
				fmt.Sprintf("%s: %s of %s is %s", mirror.Context, delegation.PrebuiltWorkload, named(Of(mirror)), prebuilt.Name),
				fmt.Sprintf("%s: Workload %s/%s has no ownerReferences", mirror.Context, prebuilt.Namespace, prebuilt.Name),
				fmt.Sprintf("%s: Workload %s/%s, created %s, belongs to the mirror too", mirror.Context, w.Namespace, w.Name, stamp(w.CreationTimestamp)),
			},
			Remedy: command.Say("upgrade Kueue on %s to the version of %s, and then %s", mirror.Context, j.Context, startAgain(j)),
		})
		return
	}
}

func resizeNotApplied() Rule {
	return Rule{
		Code: "JM050", Title: "a change of size does not reach the mirror", Severity: inspect.Error,
		Holds: "every change of size reaches the mirror",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `The size of an elastic Job may be changed while it runs, and MultiKueue applies that to the mirror. It
needs the right to patch Jobs on the worker for that, which the script that sets up the worker's account did not give
in some versions of Kueue.`,
		Shows: `The Job has the annotation kueue.x-k8s.io/elastic-job: "true", all of its Workloads are admitted, and
the number of pods that origin and mirror run at once differ: spec.parallelism, and no more than spec.completions.`,
		Remedy: `Give the account that MultiKueue has on the worker the verbs update and patch on jobs.batch, and update
on workloads.kueue.x-k8s.io.`,
		Link: "https://github.com/kubernetes-sigs/kueue/pull/13649",
		Detect: func(v *View) {
			for s := range underWay(v) {
				// What other kinds tell of their size is not read.
				if !s.Job().IsElastic() || !s.Job().Row().IsJob() || s.IsFinished() || s.Chosen() == "" || !worksOn(v, s, s.Chosen()) || !allAdmitted(v, s) {
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

// allAdmitted is whether all unfinished Workloads of a Job are admitted: while a
// larger one waits for quota, the Job keeps its size.
func allAdmitted(v *View, s Submission) bool {
	workloads, ok := v.WorkloadsOf(s.Pair, s.Manager)
	for _, w := range workloads {
		ok = ok && (w.Is(kueue.Admitted) || w.Is(kueue.Finished))
	}
	return ok
}

// atOnce is how many pods a Job runs at once, which is the size that Kueue knows.
func atOnce(j *inspect.Job) int32 {
	n := int32(1)
	if j.Parallelism != nil {
		n = *j.Parallelism
	}
	if j.Completions != nil {
		n = min(n, *j.Completions)
	}
	return n
}

func reportSize(v *View, s Submission, m inspect.Mirror) {
	j := s.Job()
	if atOnce(j) == atOnce(m.Job) {
		return
	}
	for _, d := range v.Differences(s.Pair, m) {
		if d.Lag || d.Field != "spec.parallelism" && d.Field != "spec.completions" {
			continue
		}
		sighting := Sighting{
			Object: Of(j), Jobs: []*inspect.Job{j}, Cause: "size " + j.Context + "/" + s.Chosen(),
			Message:  fmt.Sprintf("%s is %s, but still %s in the mirror on %s", d.Field, orNothing(d.Origin), orNothing(d.Mirror), m.Job.Context),
			Evidence: []string{differs(d, j, m.Job)},
			Remedy: command.Say("on %[1]s, give the account in the kubeconfig of MultiKueueCluster %[2]s the verbs update and patch on jobs.batch; this tells whether it has them: %[3]s",
				m.Job.Context, s.Chosen(), command.Kubectl(m.Job.Context, j.Namespace, "auth", "can-i", "patch", "jobs.batch", "--as=ACCOUNT")),
		}
		if j.SpecWrittenAt != nil {
			sighting.Since = j.SpecWrittenAt.Time
			sighting.Awaits = v.awaitsKueue(s.Manager, s.Workload, inspect.DutySpec, m.Job.Context, j.Context, sighting.Since)
		}
		v.Report(sighting)
		return
	}
}

func otherPriority() Rule {
	return Rule{
		Code: "JM052", Title: "the priority differs on the worker", Severity: inspect.Info,
		Holds: "every Job has the same priority on its worker",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartSecrets,
		},
		Why: `The copy of a Workload names the priority class of the original, and Kueue on the worker looks up what
that is worth there. Where classes of one name have different values, a Job goes before others on one cluster, and
gives way to them on another.`,
		Shows:  `spec.priority of the copy on the worker is not that of the Workload on the management cluster.`,
		Remedy: `Give the priority classes the same values on all clusters.`,
		Link:   "https://github.com/kubernetes-sigs/kueue/issues/13929",
		Detect: func(v *View) {
			for s := range underWay(v) {
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

func reportPriority(v *View, s Submission, c Copy) {
	j, here, there := s.Job(), s.Workload.Spec.Priority, c.Workload.Spec.Priority
	if here == nil || there == nil || *here == *there {
		return
	}
	class := s.Workload.Spec.PriorityClass()
	sighting := Sighting{
		Object: Of(j), Since: v.On(j.Context, c.Worker.Context, c.Workload.CreationTimestamp.Time), Jobs: []*inspect.Job{j},
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
