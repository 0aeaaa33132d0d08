package engagement

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func noWorkload() view.Rule {
	return view.Rule{
		Code: "JM017", Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartKueue, inspect.PartWorkloads, inspect.PartQueues, inspect.PartChecks, inspect.PartEvents,
		},
		Detect: func(v *view.View) {
			for _, s := range v.Submissions() {
				if lacksWorkload(v, s) {
					reportNoWorkload(v, s)
				}
			}
		},
	}
}

// lacksWorkload reports whether Kueue should have created a Workload by now.
func lacksWorkload(v *view.View, s view.Submission) bool {
	j := s.Job()
	if s.Workload != nil || !s.WorkloadKnown || !s.IsLive() || j.Queue() == "" || j.IsMirror() {
		return false
	}
	if has, known := v.HasKueue(s.Manager); !has || !known {
		return false
	}
	if j.ManagedBy == delegation.MultiKueue {
		// Kueue creates no Workload for a Job that names one, even if it existed before.
		return j.Status == delegation.Unclaimed || j.Prebuilt() != ""
	}
	// JM017 ignores Jobs that Kueue runs on their own cluster.
	return j.Suspended && v.ConcernsMultiKueue(s)
}

// noPriorityClass is the reason of Kueue's warning about a Job whose
// WorkloadPriorityClass does not exist (since 0.20).
const noPriorityClass = "WorkloadPriorityClassNotFound"

func reportNoWorkload(v *view.View, s view.Submission) {
	j := s.Job()
	if why := v.MissingPrebuilt(s.Manager, j); why != "" {
		reportMissingPrebuilt(v, s, why)
		return
	}
	evidence := []string{
		fmt.Sprintf("%s: label %s of %s is %s since %s", j.Context, delegation.QueueNameLabel, view.Of(j).String(), j.Queue(), quote.Time(j.CreationTimestamp)),
		fmt.Sprintf("%s: no Workload has the UID %s", j.Context, j.UID),
	}
	e, _ := v.LastWarning(s.Manager, j)
	if e != nil {
		evidence = append(evidence, fmt.Sprintf("%s: warning %s about %s: %s", j.Context, e.Reason, view.Of(j).String(), e.Message))
	}
	awaited := v.Awaits(liveness.PendingAction{
		Actor: liveness.Actor{Role: liveness.RoleKueue, Context: j.Context}, Duty: liveness.DutyWorkload, Subject: liveness.SubjectOf(j.Namespace, j.Name),
	}, j.Context, j.CreationTimestamp.Time)
	class, isClassKnown := v.ClassOf(s.Manager, j)
	suspect := suspectClass(j, &class, isClassKnown)
	remedy := command.Say("check that managedJobsNamespaceSelector selects the namespace: %s",
		command.Kubectl(j.Context, "", "get", "namespace", j.Namespace, "--show-labels"))
	if !isClassKnown {
		remedy = command.Say("%s; or %s", checkClass(j, suspect), remedy)
	}
	switch integration := j.Row().Integration; {
	case integration != "":
		remedy += command.Say("; or check that %s runs on %s: it queues %s", integration, j.Context, quote.Plural(j))
	case !j.Row().IsJob():
		remedy += command.Say("; or check that integrations.frameworks enables %s", quote.Plural(j))
	}
	if j.Marks.PodGroup != "" {
		remedy += command.Say("; or check that all Pods of group %s exist", j.Marks.PodGroup)
	}
	if awaited.IsAtWork() || suspect != (inspect.ClassName{}) {
		remedy += "; or " + advice.CheckKueue(v, j.Context, awaited)
	} else {
		remedy = advice.CheckKueue(v, j.Context, awaited) + "; or " + remedy
	}
	sighting := view.Sighting{
		Object: view.Of(j), Since: j.CreationTimestamp.Time, Jobs: []*inspect.Job{j}, Evidence: evidence, Remedy: remedy, Awaits: awaited,
		Message: fmt.Sprintf("it is in queue %s, but Kueue on %s created no Workload", j.Queue(), j.Context),
		Cause:   fmt.Sprintf("no Workloads for %s in %s on %s %s %s", quote.Plural(j), j.Namespace, j.Context, suspect.Kind, suspect.Name),
	}
	local, isQueueRead := v.LocalQueue(s.Manager, j.Namespace, j.Queue())
	switch {
	case class.IsMissing:
		sighting.Awaits, sighting.Cause = nil, fmt.Sprintf("no %s %s on %s", class.Name.Kind, class.Name.Name, j.Context)
		sighting.Message = fmt.Sprintf("%s %s does not exist on %s, so Kueue creates no Workload", class.Name.Kind, class.Name.Name, j.Context)
		sighting.Evidence = append(sighting.Evidence, fmt.Sprintf("%s: there is no %s %s", j.Context, class.Name.Kind, class.Name.Name))
		sighting.Remedy = command.Say("create it, or name a %s that exists on %s: %s", class.Name.Kind, j.Context, command.Kubectl(j.Context, "", "get", class.Name.Resource))
	case local == nil && isQueueRead:
		describeMissingQueue(v, s, &sighting)
	case e != nil && e.Reason == noPriorityClass:
		// Kueue is at work, and reports what is missing.
		sighting.Awaits, sighting.Cause = nil, ""
		class := "its WorkloadPriorityClass"
		if name := j.Marks.PriorityClass; name != "" {
			class = "WorkloadPriorityClass " + name
		}
		sighting.Message = fmt.Sprintf("Kueue on %s creates no Workload for it: %s does not exist there", j.Context, class)
		sighting.Remedy = command.Say("create the WorkloadPriorityClass, or set label kueue.x-k8s.io/priority-class of the %s to an existing one: %s",
			j.Kind, command.Kubectl(j.Context, "", "get", "workloadpriorityclasses.kueue.x-k8s.io"))
	}
	v.Report(sighting)
}

// reportMissingPrebuilt reports a Job that names a Workload that is not its own. Kueue creates none for it (kueue:
// pkg/controller/jobframework/reconciler.go, handleJobWithNoWorkload).
func reportMissingPrebuilt(v *view.View, s view.Submission, why string) {
	j := s.Job()
	v.Report(view.Sighting{
		Object: view.Of(j), Since: j.CreationTimestamp.Time, Jobs: []*inspect.Job{j}, Remedy: advice.ReplacePrebuilt(s.Manager, j),
		Message: fmt.Sprintf("it names Workload %s/%s, which %s; Kueue creates none for it", j.Namespace, j.Prebuilt(), why),
		Evidence: []string{
			fmt.Sprintf("%s: label or annotation %s of %s is %s", j.Context, delegation.PrebuiltWorkload, view.Of(j).String(), j.Prebuilt()),
			fmt.Sprintf("%s: Workload %s/%s %s", j.Context, j.Namespace, j.Prebuilt(), why),
		},
	})
}

// describeMissingQueue completes the sighting of a Job whose LocalQueue does not exist. Kueue creates a Workload
// all the same, which then waits for that queue (JM019).
func describeMissingQueue(v *view.View, s view.Submission, sighting *view.Sighting) {
	j := s.Job()
	object := view.OfKueue(s.Manager, "LocalQueue", j.Namespace, j.Queue())
	meant, remedy := advice.ReplaceQueue(v, s)
	sighting.Message = fmt.Sprintf("%s does not exist on %s", object.String(), j.Context)
	if meant != "" {
		sighting.Message += fmt.Sprintf("; did you mean %s?", meant)
	}
	sighting.Evidence = append(sighting.Evidence, fmt.Sprintf("%s: there is no %s", j.Context, object.String()))
	sighting.Remedy = remedy + ", and then " + command.Say("if Kueue still creates no Workload, %s", advice.CheckKueue(v, j.Context, sighting.Awaits))
	sighting.Awaits, sighting.Cause = nil, fmt.Sprintf("no %s on %s for %s", object.String(), j.Context, quote.Plural(j))
}

// suspectClass returns the class that a Job names if it may not exist, zero if it exists, or if the
// name is unknown.
func suspectClass(j *inspect.Job, class *inspect.Class, isKnown bool) inspect.ClassName {
	switch label := j.Marks.PriorityClass; {
	case isKnown:
		return inspect.ClassName{}
	case label != "":
		return inspect.WorkloadPriorityClass(label)
	}
	return class.Name
}

// checkClass returns how to find out whether the class that decides a Job's priority exists. Kueue
// creates no Workload without it, and does not report that before 0.20. name is zero if unknown.
func checkClass(j *inspect.Job, name inspect.ClassName) command.Prose {
	if name == (inspect.ClassName{}) {
		return command.Say("check that the priorityClassName of its Pods exists: %s", command.Kubectl(j.Context, "", "get", "priorityclasses.scheduling.k8s.io"))
	}
	return command.Say("check that %s %s exists: %s", name.Kind, name.Name, command.Kubectl(j.Context, "", "get", name.Resource, name.Name))
}

func managerIsItsWorker() view.Rule {
	return view.Rule{
		Code: "JM018", Severity: inspect.Error, Setup: true,
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets},
		Detect: func(v *view.View) {
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

func reportItself(v *view.View, f *inspect.Facts, c *kueue.MultiKueueCluster) {
	var jobs []*inspect.Job
	for _, s := range v.Submissions() {
		if s.Manager == f && s.IsLive() && (s.Chosen() == c.Name || s.WaitsForWorkers() && hasOnlyItself(v, s, c.Name)) {
			jobs = append(jobs, s.Job())
		}
	}
	all, _ := v.Configs(f)
	configs := view.ConfigsNaming(all, c.Name)
	remedy := command.Say("delete the MultiKueueCluster: %s", advice.KubectlObject(view.OfKueue(f, "MultiKueueCluster", "", c.Name), "delete"))
	if len(configs) > 0 {
		remedy = command.Say("remove %s from spec.clusters of %s: %s, and then %s",
			c.Name, strings.Join(configs, " and "), command.Kubectl(f.Context, "", "edit", "multikueueconfigs.kueue.x-k8s.io").With(configs...), remedy)
	}
	if c.SecretName() != "" {
		remedy = command.Say("correct Secret %s/%s: %s; or %s", f.KueueHome().Namespace, c.SecretName(),
			advice.ReplaceKubeconfig(f, c, fmt.Sprintf("write the kubeconfig of the right cluster to %s.kubeconfig", c.Name)), remedy)
	}
	v.Report(view.Sighting{
		Object: view.OfKueue(f, "MultiKueueCluster", "", c.Name), Since: c.CreationTimestamp.Time, Jobs: jobs,
		Message: fmt.Sprintf("MultiKueueCluster %s points to %s itself, which cannot be its own worker", c.Name, f.Context),
		Evidence: []string{fmt.Sprintf("%s: server in Secret %s of MultiKueueCluster %s is %s, which is %s itself",
			f.Context, c.SecretName(), c.Name, v.ServerOf(f, c.Name), f.Context)},
		Remedy: remedy,
	})
}

// hasOnlyItself reports whether the workers of a waiting submission are all its manager itself, and a MultiKueueCluster is one
// of them.
func hasOnlyItself(v *view.View, s view.Submission, cluster string) bool {
	f := s.Manager
	if !v.CanRead(f, inspect.PartChecks, inspect.PartConfigs) {
		return false
	}
	names := f.Kueue.ClustersBehind([]string{s.Check.Name})
	return slices.Contains(names, cluster) && !slices.ContainsFunc(names, func(name string) bool {
		c, _ := v.MultiKueueCluster(f, name)
		return c == nil || !v.IsItself(f, c)
	})
}
