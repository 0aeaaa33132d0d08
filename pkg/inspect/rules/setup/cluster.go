package setup

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func priorityClassesDiffer() view.Rule {
	return view.Rule{
		Code: "JM407", Severity: inspect.Warning,
		Reads: view.ReadsOfLinks(inspect.PartPriorityClasses),
		Detect: func(v *view.View) {
			for _, l := range v.Links() {
				here, isKnown := v.Setup(l.Manager, inspect.PartPriorityClasses)
				there, ok := v.Setup(l.Worker, inspect.PartPriorityClasses)
				if isKnown && ok {
					reportClasses(v, l, here.PriorityClasses, there.PriorityClasses)
				}
			}
		},
	}
}

func reportClasses(v *view.View, l view.Link, here, there map[string]int32) {
	if l.Worker.Kueue == nil {
		return // JM007, or the Kueue API could not be read
	}
	var names, evidence []string
	var steps []command.Prose
	for _, name := range slices.Sorted(maps.Keys(here)) {
		value, exists := there[name]
		if exists && value == here[name] {
			continue
		}
		names = append(names, name)
		if exists {
			evidence = append(evidence, fmt.Sprintf("WorkloadPriorityClass %s has the value %d on %s, and %d on %s", name, here[name], l.Manager.Context, value, l.Worker.Context))
			steps = append(steps, command.Say("give WorkloadPriorityClass %s on %s the same value: %s", name, l.Worker.Context,
				kueue.Patch(l.Worker.Context, "WorkloadPriorityClass", "", name, here[name], "value")))
			continue
		}
		evidence = append(evidence, fmt.Sprintf("%s: there is no WorkloadPriorityClass %s, which %s has", l.Worker.Context, name, l.Manager.Context))
		create := command.Kubectl(l.Worker.Context, "", "create", "-f", "-").Fed(command.JSON(map[string]any{
			"apiVersion": "kueue.x-k8s.io/" + l.Worker.Kueue.Version, "kind": "WorkloadPriorityClass", "metadata": map[string]any{"name": name}, "value": here[name],
		}))
		steps = append(steps, command.Say("create WorkloadPriorityClass %s on %s: %s", name, l.Worker.Context, create))
	}
	if len(names) == 0 {
		return
	}
	v.Report(view.Sighting{
		Object:   l.Object(),
		Message:  fmt.Sprintf("WorkloadPriorityClasses differ on %s: %s", l.Name(), inspect.Some(names)),
		Evidence: evidence[:min(quote.MostLines, len(evidence))], Remedy: command.Join(steps, ", and then "),
	})
}

// firstToKnowField is the first version of Kubernetes that has spec.managedBy
// of Jobs, behind a feature gate.
const firstToKnowField = "1.30.0"

func managedByDropped() view.Rule {
	return view.Rule{
		Code: "JM410", Severity: inspect.Warning,
		Reads: []inspect.Part{inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartVersion},
		Detect: func(v *view.View) {
			for _, f := range v.Managers() {
				reportDropped(v, f)
			}
		},
	}
}

func reportDropped(v *view.View, f *inspect.Facts) {
	server := v.Version(f)
	parsed, err := version.ParseGeneric(server)
	if err != nil || !parsed.LessThan(version.MustParseGeneric(view.FirstWithManagedBy)) {
		return
	}
	s := view.Sighting{
		Object:   view.Object{Context: f.Context, Kind: "Cluster", Name: f.Context},
		Message:  fmt.Sprintf("Kubernetes %s drops managedBy of Jobs unless the feature gate JobManagedBy is on", server),
		Evidence: []string{fmt.Sprintf("%s: the API server is %s", f.Context, server)},
		Remedy: command.Say("upgrade %s to Kubernetes 1.32 or later, or enable the feature gate; check its version with: %s", f.Context,
			command.Kubectl(f.Context, "", "get", "--raw", "/version")),
	}
	if parsed.LessThan(version.MustParseGeneric(firstToKnowField)) {
		s.Severity, s.Message = inspect.Error, fmt.Sprintf("Kubernetes %s drops managedBy of Jobs", server)
		s.Remedy = command.Say("upgrade %s to Kubernetes 1.32 or later", f.Context)
	}
	v.Report(s)
}

func workerClockOff() view.Rule {
	return view.Rule{
		Code: "JM418", Severity: inspect.Warning,
		Reads: view.ReadsOfLinks(),
		Detect: func(v *view.View) {
			for _, l := range v.Links() {
				if view.ClocksApart(l.Manager, l.Worker) {
					s := view.DescribeSkew(v, l.Manager, l.Worker, nil)
					s.Jobs = nil
					v.Report(s)
				}
			}
		},
	}
}
