package setup

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// deploymentOf returns Kueue's Deployment as the object of a finding.
func deploymentOf(f *inspect.Facts, i *kueue.Installation) view.Object {
	return view.Object{Context: f.Context, APIVersion: "apps/v1", Kind: "Deployment", Namespace: i.Namespace, Name: i.Deployment}
}

func integrationLacking() view.Rule {
	return view.Rule{
		Code: "JM408", Severity: inspect.Warning,
		Reads: view.ReadsOfLinks(inspect.PartInstallation),
		Detect: func(v *view.View) {
			for _, l := range v.Links() {
				here, there := v.Installation(l.Manager), v.Installation(l.Worker)
				if here != nil && there != nil {
					reportIntegrations(v, l, here, there)
				}
			}
		},
	}
}

func reportIntegrations(v *view.View, l view.Link, here, there *kueue.Installation) {
	wanted, isKnown := here.Frameworks()
	has, ok := there.Frameworks()
	if !isKnown || !ok {
		return
	}
	missing := slices.DeleteFunc(wanted, func(name string) bool { return slices.Contains(has, name) })
	if len(missing) == 0 {
		return
	}
	var evidence, add []string
	byField := kueue.ByField(missing)
	for _, field := range slices.Sorted(maps.Keys(byField)) {
		names := strings.Join(byField[field], ", ")
		evidence = append(evidence, fmt.Sprintf("%s: %s has %s", l.Manager.Context, field, names))
		add = append(add, names+" to "+field)
	}
	v.Report(view.Sighting{
		Object:   l.Object(),
		Message:  fmt.Sprintf("Kueue on %s does not handle %s", l.Name(), inspect.Some(missing)),
		Evidence: append(evidence, fmt.Sprintf("%s: enabled are %s", l.Worker.Context, strings.Join(has, ", "))),
		Remedy:   command.Say("add %s on %s: %s", strings.Join(add, ", and "), l.Worker.Context, there.Reconfigure(l.Worker.Context)),
	})
}

// annotationsSince is the first minor version of Kueue that names the
// Workload of a mirror in an annotation. Older workers ignore the annotation
// (JM040).
const annotationsSince = 18

func workerKueueOlder() view.Rule {
	return view.Rule{
		Code: "JM409", Severity: inspect.Warning,
		Reads: view.ReadsOfLinks(inspect.PartInstallation),
		Detect: func(v *view.View) {
			for _, l := range v.Links() {
				here, there := v.Installation(l.Manager), v.Installation(l.Worker)
				if here != nil && there != nil {
					reportOlderKueue(v, l, here, there)
				}
			}
		},
	}
}

func reportOlderKueue(v *view.View, l view.Link, here, there *kueue.Installation) {
	newer, isKnown := here.Minor()
	older, ok := there.Minor()
	if !isKnown || !ok || older >= newer {
		return
	}
	s := view.Sighting{
		Object:  l.Object(),
		Message: fmt.Sprintf("Kueue on %s is %s, older than %s on the manager", l.Name(), there.Version, here.Version),
		Evidence: []string{
			fmt.Sprintf("%s: Deployment %s/%s runs Kueue %s", l.Manager.Context, here.Namespace, here.Deployment, here.Version),
			fmt.Sprintf("%s: Deployment %s/%s runs Kueue %s", l.Worker.Context, there.Namespace, there.Deployment, there.Version),
		},
		Remedy: command.Say("upgrade Kueue on %s: %s", l.Worker.Context, command.Kubectl(l.Worker.Context, "", "apply", "--server-side", "-f",
			"https://github.com/kubernetes-sigs/kueue/releases/download/"+here.Version+"/manifests.yaml")),
	}
	on, isSet := here.Gate("WorkloadIdentifierAnnotations")
	if newer >= annotationsSince && older < annotationsSince && (on || !isSet) {
		s.Severity = inspect.Error
		s.Message += "; it ignores the annotation that names a mirror's Workload"
	}
	v.Report(s)
}

func originShared() view.Rule {
	return view.Rule{
		Code: "JM411", Severity: inspect.Error,
		Reads: view.ReadsOfLinks(inspect.PartInstallation),
		Detect: func(v *view.View) {
			links := v.Links()
			for i, a := range links {
				for _, b := range links[i+1:] {
					if a.Manager != b.Manager && a.Worker == b.Worker {
						reportSharedOrigin(v, a, b)
					}
				}
			}
		},
	}
}

func reportSharedOrigin(v *view.View, a, b view.Link) {
	here, there := v.Installation(a.Manager), v.Installation(b.Manager)
	if here == nil || there == nil {
		reportSharedWorker(v, a, b)
		return
	}
	one, isKnown := here.Origin()
	other, ok := there.Origin()
	if !isKnown || !ok {
		reportSharedWorker(v, a, b)
		return
	}
	if one != other {
		return
	}
	v.Report(view.Sighting{
		Object: b.Object(), Cause: a.Manager.Context + " " + b.Manager.Context,
		Message: fmt.Sprintf("%s and %s share worker %s and the origin %s", a.Manager.Context, b.Manager.Context, b.Name(), one),
		Evidence: []string{
			fmt.Sprintf("%s: multiKueue.origin is %s; MultiKueueCluster %s points to %s", a.Manager.Context, one, a.Cluster.Name, a.Worker.Context),
			fmt.Sprintf("%s: multiKueue.origin is %s; MultiKueueCluster %s points to %s", b.Manager.Context, other, b.Cluster.Name, b.Worker.Context),
		},
		Remedy: separate(a, b, "set another multiKueue.origin"),
	})
}

// reportSharedWorker reports two managers with a common worker, of which at least one has an unknown
// configuration. By default, both have the same origin.
func reportSharedWorker(v *view.View, a, b view.Link) {
	v.Report(view.Sighting{
		Object: b.Object(), Cause: a.Manager.Context + " " + b.Manager.Context, Severity: inspect.Warning,
		Message: fmt.Sprintf("%s and %s share worker %s; cannot tell whether multiKueue.origin differs", a.Manager.Context, b.Manager.Context, b.Name()),
		Evidence: []string{
			fmt.Sprintf("%s: MultiKueueCluster %s points to %s", a.Manager.Context, a.Cluster.Name, a.Worker.Context),
			fmt.Sprintf("%s: MultiKueueCluster %s points to %s", b.Manager.Context, b.Cluster.Name, b.Worker.Context),
		},
		Remedy: command.Say("if multiKueue.origin is the same on both, %s", separate(a, b, "set another one")),
	})
}

// separate returns how to change the origin of b, which shares a worker and the origin with a. The garbage collection of a
// deletes the mirrors with the old value within a minute (kueue: multikueuecluster.go, runGC). It does so before the change,
// too: to wait for the Jobs of b is in vain. Without garbage collection, the mirrors would be left behind (JM059).
func separate(a, b view.Link, change string) command.Prose {
	context, worker := b.Manager.Context, b.Worker.Context
	reconfigure := b.Manager.KueueHome().Reconfigure(context)
	if setup := a.Manager.Setup; setup != nil && setup.Installation != nil && !setup.Installation.CollectsGarbage() {
		return command.Say("wait until no Job of %s runs on %s (its mirrors keep the old value), then %s on %s: %s", context, worker, change, context, reconfigure)
	}
	return command.Say("%s on %s at once (its Jobs on %s start again): %s", change, context, worker, reconfigure)
}

func kueueDown() view.Rule {
	return view.Rule{
		Code: "JM415", Severity: inspect.Error,
		Reads: view.ReadsOfLinks(inspect.PartInstallation),
		Detect: func(v *view.View) {
			var done []*inspect.Facts
			for _, l := range v.Links() {
				for _, f := range []*inspect.Facts{l.Manager, l.Worker} {
					if i := v.Installation(f); i != nil && i.Ready == 0 && !slices.Contains(done, f) {
						done = append(done, f)
						reportDown(v, f, i)
					}
				}
			}
		},
	}
}

func reportDown(v *view.View, f *inspect.Facts, i *kueue.Installation) {
	object := deploymentOf(f, i)
	s := view.Sighting{
		Object:   object,
		Message:  fmt.Sprintf("Kueue does not run on %s: no replica is ready", f.Context),
		Evidence: []string{fmt.Sprintf("%s: %s has %s, of which 0 are ready", f.Context, object.String(), inspect.Count(int(i.Replicas), "replica"))},
		Remedy: command.Say("check why its Pods do not start: %s; read its log: %s", command.Kubectl(f.Context, i.Namespace, "get", "pods"),
			i.ShowLogs(f.Context)),
	}
	if i.Replicas == 0 {
		s.Remedy = command.Say("scale it up: %s", command.Kubectl(f.Context, i.Namespace, "scale", "deployment", i.Deployment, "--replicas=1"))
	}
	v.Report(s)
}
