package rules

import (
	"fmt"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

func namespaceMissing() Rule {
	return Rule{
		Code: "JM024", Title: "the namespace is missing on workers", Severity: inspect.Error,
		Holds: "the namespace of every Job exists on the workers",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets, inspect.PartKueue,
			inspect.PartNamespaces,
		},
		Why: `MultiKueue makes a Workload's copy in the namespace of the same name on the worker, and creates no
namespaces. Where there is none, the copy is refused, and only the log of Kueue on the management cluster tells.`,
		Shows:  `A nominated worker that is connected has no copy of the Workload, and no namespace of that name.`,
		Remedy: `Create the namespace on the worker, and in it the LocalQueue and whatever else the pods need.`,
		Link:   "https://kueue.sigs.k8s.io/docs/concepts/multikueue/",
		Detect: func(v *View) { reportNoCopy(v, false, missingNamespace) },
	}
}

func copyRefused() Rule {
	return Rule{
		Code: "JM025", Title: "a worker has no copy of the Workload", Severity: inspect.Error,
		Holds: "the workers have a copy of every Workload",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets, inspect.PartKueue,
			inspect.PartNamespaces,
		},
		Why: `A worker was nominated, MultiKueue is connected to it, and the Workload's copy is not there. It may be that
the worker refuses it: the webhook of Kueue there does not answer, a policy forbids it, or the credentials in the
MultiKueueCluster's Secret may not create Workloads; or that Kueue on the management cluster has stopped. Only its log
tells which.`,
		Shows: `A nominated worker with Active=True has the Job's namespace, and no copy of the Workload.`,
		Remedy: `Read the log of Kueue on the management cluster for "creating remote object", and repair what it says
on the worker.`,
		Link:   "https://github.com/kubernetes-sigs/kueue/issues/1671",
		Detect: func(v *View) { reportNoCopy(v, true, refusedCopy) },
	}
}

// reportNoCopy reports nominated, connected workers that have no copy of a
// Workload, and have, or have not, its namespace.
func reportNoCopy(v *View, hasNamespace bool, tell func(*View, *waiter, []Copy) []Sighting) {
	var sightings []Sighting
	for w := range v.untaken() {
		var without []Copy
		for _, o := range w.offers {
			if o.Worker == nil || o.Workload != nil || !isTrue(v.activeOf(w.Manager, o.Cluster)) {
				continue
			}
			if has, known := v.HasKueue(o.Worker); !has || !known {
				continue
			}
			namespace, known := v.Namespace(o.Worker, w.Workload.Namespace)
			if isUsable := namespace != nil && !namespace.IsTerminating; known && isUsable == hasNamespace {
				without = append(without, o)
			}
		}
		if len(without) > 0 {
			sightings = append(sightings, tell(v, w, without)...)
		}
	}
	reportWorstFirst(v, sightings)
}

func missingNamespace(v *View, w *waiter, without []Copy) []Sighting {
	name := w.Workload.Namespace
	var contexts, evidence []string
	var remedies []command.Command
	var sightings []Sighting
	for _, o := range without {
		if namespace, _ := v.Namespace(o.Worker, name); namespace != nil {
			sightings = append(sightings, terminatingNamespace(w, o, len(without)))
			continue
		}
		contexts = append(contexts, o.Worker.Context)
		evidence = append(evidence, fmt.Sprintf("%s: there is no Namespace %s", o.Worker.Context, name))
		remedies = append(remedies, command.Kubectl(o.Worker.Context, "", "create", "namespace", name))
	}
	if len(contexts) == 0 {
		return sightings
	}
	s := Sighting{
		Object: Object{Context: contexts[0], APIVersion: "v1", Kind: "Namespace", Name: name}, Since: w.since,
		Message:  fmt.Sprintf("Namespace %s does not exist on %s", name, strings.Join(contexts, ", ")),
		Evidence: append(evidence, nominationText(w)), Remedy: command.JoinCommands(remedies, "; "),
		Jobs: []*inspect.Job{w.Job()}, Cause: w.Manager.Context + " " + name, Severity: inspect.Warning,
	}
	if len(without) == len(w.Nominated()) {
		s.Severity = inspect.Error
	}
	return append(sightings, s)
}

// terminatingNamespace tells of a namespace that is there, and takes nothing any more.
func terminatingNamespace(w *waiter, o Copy, without int) Sighting {
	name, context := w.Workload.Namespace, o.Worker.Context
	s := Sighting{
		Object: Object{Context: context, APIVersion: "v1", Kind: "Namespace", Name: name}, Since: w.since, Severity: inspect.Warning,
		Message:  fmt.Sprintf("Namespace %s is being deleted on %s: nothing can be created in it", name, context),
		Evidence: []string{fmt.Sprintf("%s: Namespace %s is Terminating", context, name), nominationText(w)},
		Remedy: command.Say("see what it waits for: %s; once it is gone, %s", command.Kubectl(context, "", "get", "namespace", name, "-o", "yaml"),
			command.Kubectl(context, "", "create", "namespace", name)),
		Jobs: []*inspect.Job{w.Job()}, Cause: w.Manager.Context + " " + context + " terminating " + name,
	}
	if without == len(w.Nominated()) {
		s.Severity = inspect.Error
	}
	return s
}

func refusedCopy(v *View, w *waiter, without []Copy) []Sighting {
	var sightings []Sighting
	f := w.Manager
	for _, o := range without {
		since := newest(w.since, inspect.NominatedAt(w.Workload))
		awaited := v.awaitsReach(f, w.Workload, inspect.DutyCopy, o.Worker.Context, f.Context, since)
		s := Sighting{
			Object: OfKueue(f, "MultiKueueCluster", "", o.Cluster), Since: since, Awaits: awaited,
			Message: fmt.Sprintf("%s (%s) has no copies of Workloads that are nominated for it", o.Cluster, o.Worker.Context),
			Evidence: []string{
				nominationText(w),
				conditionText(OfKueue(f, "MultiKueueCluster", "", o.Cluster), v.activeOf(f, o.Cluster)),
				fmt.Sprintf("%s: there is no Workload %s/%s", o.Worker.Context, w.Workload.Namespace, w.Workload.Name),
			},
			Remedy: command.Say("see why, in the lines with 'creating remote object': %s; whether Kueue's webhook runs on %s: %s",
				logsOfKueue(f.Context), o.Worker.Context, podsOfKueue(o.Worker.Context)),
			Jobs: []*inspect.Job{w.Job()}, Cause: f.Context + " " + o.Cluster, Severity: inspect.Warning,
		}
		if len(without) == len(w.Nominated()) {
			s.Severity = inspect.Error
		}
		if !awaited.isAtWork() {
			s.Remedy += command.Say("; and whether Kueue runs on %s: %s", f.Context, podsOfKueue(f.Context))
		}
		sightings = append(sightings, s)
	}
	return sightings
}

func nominationText(w *waiter) string {
	return fmt.Sprintf("%s: status.nominatedClusterNames of %s is %s", w.Manager.Context, named(workloadObject(w.Manager, w.Workload)),
		strings.Join(w.Nominated(), ", "))
}
