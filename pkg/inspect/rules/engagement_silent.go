package rules

import (
	"fmt"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func noWorkloadMade() Rule {
	return Rule{
		Code: "JM017", Title: "Kueue created no Workload for the Job", Severity: inspect.Error,
		Holds: "every queued Job has a Workload",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartKueue, inspect.PartWorkloads, inspect.PartQueues, inspect.PartChecks, inspect.PartEvents,
		},
		Why: `Kueue makes a Workload for each Job that names a queue, even for a queue that does not exist. It makes none
while its controller on the management cluster is down, where the namespace is not among those that its
managedJobsNamespaceSelector selects (kube-system and kueue-system are left out by default), where the priority class
that the label kueue.x-k8s.io/priority-class names does not exist, or where integrations.frameworks of its
configuration does not name the kind.`,
		Shows: `The Job has the label kueue.x-k8s.io/queue-name and is suspended or has no status, and no Workload has its
uid. The reason is in the log of Kueue's controller, and at times in a warning about the Job.`,
		Remedy: `See that Kueue runs, label the namespace so that it is selected, create the WorkloadPriorityClass, or enable
the kind.`,
		Link: "https://github.com/kubernetes-sigs/kueue/issues/3439",
		Detect: func(v *View) {
			for _, s := range v.Submissions() {
				if lacksWorkload(v, s) {
					reportNoWorkload(v, s)
				}
			}
		},
	}
}

// lacksWorkload is whether Kueue should have made a Workload by now.
func lacksWorkload(v *View, s Submission) bool {
	j := s.Job()
	if s.Workload != nil || !s.WorkloadKnown || !isLive(s) || j.Queue() == "" || j.Prebuilt() != "" || j.MultiKueueOrigin() != "" {
		return false
	}
	if has, known := v.HasKueue(s.Manager); !has || !known {
		return false
	}
	if j.ManagedBy == delegation.MultiKueue {
		return j.Status == delegation.Unclaimed
	}
	// Of those that Kueue runs where they are, nothing is said here.
	is, _ := v.isDispatched(s.Manager, j.Namespace, j.Queue())
	return is && j.Suspended
}

// noPriorityClass is the reason of Kueue's warning about a Job whose priority class is not
// there (from 0.20 on).
const noPriorityClass = "WorkloadPriorityClassNotFound"

func reportNoWorkload(v *View, s Submission) {
	j := s.Job()
	evidence := []string{
		fmt.Sprintf("%s: label %s of %s is %s since %s", j.Context, delegation.QueueNameLabel, named(Of(j)), j.Queue(), stamp(j.CreationTimestamp)),
		fmt.Sprintf("%s: no Workload has the uid %s", j.Context, j.UID),
	}
	e, _ := v.LastWarning(s.Manager, j)
	if e != nil {
		evidence = append(evidence, fmt.Sprintf("%s: warning %s about %s: %s", j.Context, e.Reason, named(Of(j)), e.Message))
	}
	awaited := v.awaits(inspect.Turn{
		Actor: inspect.Actor{Role: inspect.RoleKueue, Context: j.Context}, Duty: inspect.DutyWorkload, Subject: inspect.SubjectOf(j.Namespace, j.Name),
	}, j.Context, j.CreationTimestamp.Time)
	remedy := command.Say("%s; see whether its managedJobsNamespaceSelector selects the namespace: %s; and that the %s's kueue.x-k8s.io/priority-class exists",
		seeKueue(j.Context, awaited), command.Kubectl(j.Context, "", "get", "namespace", j.Namespace, "--show-labels"), j.Kind)
	if !j.Row().IsJob() {
		remedy += command.Say("; and that integrations.frameworks of its configuration enables %s", plural(j))
	}
	if j.Marks.PodGroup != "" {
		remedy += command.Say("; and that all pods of the group %s are there", j.Marks.PodGroup)
	}
	sighting := Sighting{
		Object: Of(j), Since: j.CreationTimestamp.Time, Jobs: []*inspect.Job{j}, Evidence: evidence, Remedy: remedy, Awaits: awaited,
		Message: fmt.Sprintf("it names queue %s, but Kueue on %s made no Workload for it", j.Queue(), j.Context),
		Cause:   fmt.Sprintf("no Workloads for %s in %s on %s", plural(j), j.Namespace, j.Context),
	}
	if e != nil && e.Reason == noPriorityClass {
		// Kueue is at work, and says what it lacks.
		sighting.Awaits, sighting.Cause = nil, ""
		sighting.Message = fmt.Sprintf("Kueue on %s makes no Workload for it: its WorkloadPriorityClass does not exist there", j.Context)
		sighting.Remedy = command.Say("create it, or have the label kueue.x-k8s.io/priority-class of the %s name one that is there: %s",
			j.Kind, command.Kubectl(j.Context, "", "get", "workloadpriorityclasses.kueue.x-k8s.io"))
	}
	v.Report(sighting)
}

func managerIsItsWorker() Rule {
	return Rule{
		Code: "JM018", Title: "a manager is its own worker", Severity: inspect.Error, Setup: true,
		Holds: "no manager is its own worker",
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets},
		Why: `The copy of a Workload has the namespace and name of the original, so a management cluster cannot be one of
its own workers: there, the copy is the original. MultiKueue does not support it, and does not refuse it either.`,
		Shows:  `The kubeconfig of a MultiKueueCluster leads to the API server of the cluster that it is defined on.`,
		Remedy: `Use another cluster as the worker, and take this MultiKueueCluster off the MultiKueueConfig.`,
		Link:   "https://github.com/kubernetes-sigs/kueue/issues/5704",
		Detect: func(v *View) {
			for _, f := range v.Clusters() {
				clusters, _ := v.MultiKueueClusters(f)
				for _, c := range clusters {
					if c.DeletionTimestamp == nil && v.IsItself(f, c) {
						reportItself(v, f, c)
					}
				}
			}
		},
	}
}

func reportItself(v *View, f *inspect.Facts, c *kueue.MultiKueueCluster) {
	var jobs []*inspect.Job
	for _, s := range v.Submissions() {
		if s.Manager == f && s.Chosen() == c.Name && isLive(s) {
			jobs = append(jobs, s.Job())
		}
	}
	all, _ := v.Configs(f)
	configs := naming(all, c.Name)
	remedy := kubectlOn(OfKueue(f, "MultiKueueCluster", "", c.Name), "delete").Prose()
	if len(configs) > 0 {
		remedy = command.Say("take %s off the clusters of %s: %s, and then %s",
			c.Name, strings.Join(configs, " and "), command.Kubectl(f.Context, "", "edit", "multikueueconfigs.kueue.x-k8s.io").With(configs...), remedy)
	}
	v.Report(Sighting{
		Object: OfKueue(f, "MultiKueueCluster", "", c.Name), Since: c.CreationTimestamp.Time, Jobs: jobs,
		Message: fmt.Sprintf("MultiKueueCluster %s points to %s itself, which cannot be its own worker", c.Name, f.Context),
		Evidence: []string{fmt.Sprintf("%s: server in Secret %s of MultiKueueCluster %s is %s, which is %s itself",
			f.Context, c.SecretName(), c.Name, v.ServerOf(f, c.Name), f.Context)},
		Remedy: remedy,
	})
}
