package rules

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func priorityClassesDiffer() Rule {
	return Rule{
		Code: "JM407", Title: "WorkloadPriorityClasses of a worker differ", Severity: inspect.Warning,
		Holds: "every worker has the manager's WorkloadPriorityClasses",
		Reads: readsOfLinks(inspect.PartPriorityClasses),
		Why: `A mirror keeps the label that names its WorkloadPriorityClass. Where the worker lacks the class, or gives it
another value, Jobs are ordered and preempted there in another way than on the manager (JM052).`,
		Shows:  `A WorkloadPriorityClass of the manager does not exist on the worker, or its value differs.`,
		Remedy: `Create the class on the worker with the same value.`,
		Link:   "https://kueue.sigs.k8s.io/docs/concepts/workload_priority_class/",
		Detect: func(v *View) {
			for _, l := range v.links() {
				here, isKnown := v.Setup(l.manager, inspect.PartPriorityClasses)
				there, ok := v.Setup(l.worker, inspect.PartPriorityClasses)
				if isKnown && ok {
					reportClasses(v, l, here.PriorityClasses, there.PriorityClasses)
				}
			}
		},
	}
}

func reportClasses(v *View, l link, here, there map[string]int32) {
	var names, evidence []string
	var steps []command.Prose
	for _, name := range slices.Sorted(maps.Keys(here)) {
		value, exists := there[name]
		if exists && value == here[name] {
			continue
		}
		names = append(names, name)
		if exists {
			evidence = append(evidence, fmt.Sprintf("WorkloadPriorityClass %s has the value %d on %s, and %d on %s", name, here[name], l.manager.Context, value, l.worker.Context))
			steps = append(steps, kueue.Kubectl(l.worker.Context, "patch", "WorkloadPriorityClass", "", name).With("--type", "merge", "-p", command.Patch(here[name], "value")).Prose())
			continue
		}
		evidence = append(evidence, fmt.Sprintf("%s: there is no WorkloadPriorityClass %s, which %s has", l.worker.Context, name, l.manager.Context))
		steps = append(steps, command.Kubectl(l.worker.Context, "", "create", "-f", "-").Fed(command.JSON(map[string]any{
			"apiVersion": "kueue.x-k8s.io/" + l.worker.Kueue.Version, "kind": "WorkloadPriorityClass", "metadata": map[string]any{"name": name}, "value": here[name],
		})).Prose())
	}
	if len(names) == 0 {
		return
	}
	v.Report(Sighting{
		Object:   l.object(),
		Message:  fmt.Sprintf("WorkloadPriorityClasses differ on %s: %s", l.name(), inspect.Some(names)),
		Evidence: evidence[:min(enough, len(evidence))], Remedy: command.Join(steps, ", and then "),
	})
}

// firstToKnowField is the first Kubernetes that knows spec.managedBy of Jobs, behind a gate.
const firstToKnowField = "1.30.0"

func managedByDropped() Rule {
	return Rule{
		Code: "JM410", Title: "Kubernetes of a manager drops managedBy", Severity: inspect.Warning,
		Holds: "the Kubernetes of every manager keeps managedBy of Jobs",
		Reads: []inspect.Part{inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartVersion},
		Why: `MultiKueue only dispatches Jobs whose spec.managedBy is its own. Before Kubernetes 1.32 the API server drops
that field unless the feature gate JobManagedBy is on, and before 1.30 always: the check of every Job is then rejected
(JM012). Workers need no such version, since mirrors carry no managedBy.`,
		Shows:  `The API server of a management cluster has a version before 1.32.`,
		Remedy: `Upgrade the management cluster to Kubernetes 1.32 or later, or turn the feature gate JobManagedBy on.`,
		Link:   "https://kubernetes.io/docs/concepts/workloads/controllers/job/#delegation-of-managing-a-job-object-to-external-controller",
		Detect: func(v *View) {
			for _, f := range v.managers() {
				reportDropped(v, f)
			}
		},
	}
}

func reportDropped(v *View, f *inspect.Facts) {
	server := v.Version(f)
	parsed, err := version.ParseGeneric(server)
	if err != nil || !parsed.LessThan(version.MustParseGeneric(firstWithField)) {
		return
	}
	s := Sighting{
		Object:   Object{Context: f.Context, Kind: "Cluster", Name: f.Context},
		Message:  fmt.Sprintf("Kubernetes %s drops managedBy of Jobs unless the feature gate JobManagedBy is on", server),
		Evidence: []string{fmt.Sprintf("%s: the API server is %s", f.Context, server)},
		Remedy: command.Say("upgrade %s to Kubernetes 1.32 or later, or turn the gate on; its version is: %s", f.Context,
			command.Kubectl(f.Context, "", "get", "--raw", "/version")),
	}
	if parsed.LessThan(version.MustParseGeneric(firstToKnowField)) {
		s.Severity, s.Message = inspect.Error, fmt.Sprintf("Kubernetes %s drops managedBy of Jobs", server)
		s.Remedy = command.Say("upgrade %s to Kubernetes 1.32 or later", f.Context)
	}
	v.Report(s)
}

func workerClockOff() Rule {
	return Rule{
		Code: "JM418", Title: "the clocks of a manager and a worker differ", Severity: inspect.Warning,
		Holds: "the clocks of managers and workers agree",
		Reads: readsOfLinks(),
		Why: `The manager copies times from the worker. Where the clocks differ, ttlSecondsAfterFinished of the origin
counts from the wrong moment, tokens may seem to be expired or not valid yet, and all ages are wrong.`,
		Shows:  `The Date headers of the API servers of a manager and one of its workers differ by more than 30 seconds.`,
		Remedy: `Set the clock of the control plane that is off, and let NTP keep it.`,
		Link:   "https://kubernetes.io/docs/concepts/workloads/controllers/ttlafterfinished/#time-skew",
		Detect: func(v *View) {
			for _, l := range v.links() {
				if v.areApart(l.manager, l.worker) {
					s := differ(v, l.manager, l.worker, nil)
					s.Jobs = nil
					v.Report(s)
				}
			}
		},
	}
}
