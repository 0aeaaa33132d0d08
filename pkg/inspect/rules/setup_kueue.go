package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// installation returns how Kueue runs on a cluster, nil where that is unknown.
func (v *View) installation(f *inspect.Facts) *kueue.Installation {
	known, _ := v.Setup(f, inspect.PartInstallation)
	return known.Installation
}

// deploymentOf is Kueue's Deployment as the object of a finding.
func deploymentOf(f *inspect.Facts, i *kueue.Installation) Object {
	return Object{Context: f.Context, APIVersion: "apps/v1", Kind: "Deployment", Namespace: i.Namespace, Name: i.Deployment}
}

// reconfigure is how to change the configuration of an installation.
func reconfigure(f *inspect.Facts, i *kueue.Installation) command.Prose {
	restart := command.Kubectl(f.Context, i.Namespace, "rollout", "restart", "deployment", i.Deployment)
	if i.ConfigMap == "" {
		return command.Kubectl(f.Context, i.Namespace, "edit", "deployment", i.Deployment).Prose()
	}
	return command.Say("%s, and then %s", command.Kubectl(f.Context, i.Namespace, "edit", "configmap", i.ConfigMap), restart)
}

func integrationLacking() Rule {
	return Rule{
		Code: "JM408", Title: "a worker's Kueue does not handle a kind of the manager", Severity: inspect.Warning,
		Holds: "every worker's Kueue handles the kinds that the manager's does",
		Reads: readsOfLinks(inspect.PartInstallation),
		Why: `A mirror is created suspended, and the Kueue of the worker resumes it. Where integrations.frameworks of the
worker lacks the kind, nobody does: the Workload is admitted, and the mirror never starts.`,
		Shows: `integrations.frameworks in the configuration of the manager's Kueue names an integration that the
worker's does not.`,
		Remedy: `Add the integration to the configuration of the worker's Kueue and restart it; or remove it from the
manager's.`,
		Link: "https://kueue.sigs.k8s.io/docs/reference/kueue-config.v1beta2/#Integrations",
		Detect: func(v *View) {
			for _, l := range v.links() {
				here, there := v.installation(l.manager), v.installation(l.worker)
				if here != nil && there != nil {
					reportIntegrations(v, l, here, there)
				}
			}
		},
	}
}

func reportIntegrations(v *View, l link, here, there *kueue.Installation) {
	wanted, isKnown := here.Frameworks()
	has, ok := there.Frameworks()
	if !isKnown || !ok {
		return
	}
	missing := slices.DeleteFunc(wanted, func(name string) bool { return slices.Contains(has, name) })
	if len(missing) == 0 {
		return
	}
	v.Report(Sighting{
		Object:  l.object(),
		Message: fmt.Sprintf("Kueue on %s does not handle %s", l.name(), inspect.Some(missing)),
		Evidence: []string{
			fmt.Sprintf("%s: integrations.frameworks has %s", l.manager.Context, strings.Join(missing, ", ")),
			fmt.Sprintf("%s: integrations.frameworks is %s", l.worker.Context, strings.Join(has, ", ")),
		},
		Remedy: command.Say("add %s to integrations.frameworks on %s: %s", strings.Join(missing, ", "), l.worker.Context, reconfigure(l.worker, there)),
	})
}

// annotationsSince is the first minor version of Kueue that names the Workload of a mirror in an
// annotation, which older workers ignore (JM040).
const annotationsSince = 18

func workerKueueOlder() Rule {
	return Rule{
		Code: "JM409", Title: "a worker's Kueue is older than the manager's", Severity: inspect.Warning,
		Holds: "no worker's Kueue is older than the manager's",
		Reads: readsOfLinks(inspect.PartInstallation),
		Why: `The manager writes Workloads and mirrors that the worker's Kueue has to understand. From 0.18 on, it names
the Workload of a mirror in an annotation, which a worker before 0.18 ignores: it creates a second Workload, and the Job
never runs (JM040). Fields that an older worker does not know are dropped without a word.`,
		Shows: `The tag of the image of Kueue's Deployment has a lower minor version on the worker. The Deployment is the
one behind the Service that Kueue's webhooks name.`,
		Remedy: `Upgrade Kueue on the workers first, and on the manager last.`,
		Link:   "https://github.com/kubernetes-sigs/kueue/issues/10098",
		Detect: func(v *View) {
			for _, l := range v.links() {
				here, there := v.installation(l.manager), v.installation(l.worker)
				if here != nil && there != nil {
					reportOlderKueue(v, l, here, there)
				}
			}
		},
	}
}

func reportOlderKueue(v *View, l link, here, there *kueue.Installation) {
	newer, isKnown := here.Minor()
	older, ok := there.Minor()
	if !isKnown || !ok || older >= newer {
		return
	}
	s := Sighting{
		Object:  l.object(),
		Message: fmt.Sprintf("Kueue on %s is %s, older than %s on the manager", l.name(), there.Version, here.Version),
		Evidence: []string{
			fmt.Sprintf("%s: Deployment %s/%s runs Kueue %s", l.manager.Context, here.Namespace, here.Deployment, here.Version),
			fmt.Sprintf("%s: Deployment %s/%s runs Kueue %s", l.worker.Context, there.Namespace, there.Deployment, there.Version),
		},
		Remedy: command.Say("upgrade Kueue on %s: %s", l.worker.Context, command.Kubectl(l.worker.Context, "", "apply", "--server-side", "-f",
			"https://github.com/kubernetes-sigs/kueue/releases/download/"+here.Version+"/manifests.yaml")),
	}
	on, isSet := here.Gate("WorkloadIdentifierAnnotations")
	if newer >= annotationsSince && older < annotationsSince && (on || !isSet) {
		s.Severity = inspect.Error
		s.Message += "; it ignores the annotation that names a mirror's Workload"
	}
	v.Report(s)
}

func originShared() Rule {
	return Rule{
		Code: "JM411", Title: "two managers share a worker and an origin", Severity: inspect.Error,
		Holds: "managers that share a worker have different origins",
		Reads: readsOfLinks(inspect.PartInstallation),
		Why: `A manager deletes what it finds on a worker with its own multiKueue.origin and without a Workload of its
own. Two managers with one origin take each other's mirrors for leftovers and delete them, about once a minute (JM060).`,
		Shows: `MultiKueueClusters of two managers lead to one worker, and multiKueue.origin of both has the same value,
which is multikueue if nobody sets it.`,
		Remedy: `Set multiKueue.origin to different values. Let the Jobs of the manager end first, as mirrors with the old
value are left behind.`,
		Link: "https://kueue.sigs.k8s.io/docs/reference/kueue-config.v1beta2/#MultiKueue",
		Detect: func(v *View) {
			links := v.links()
			for i, a := range links {
				for _, b := range links[i+1:] {
					if a.manager != b.manager && a.worker == b.worker {
						reportSharedOrigin(v, a, b)
					}
				}
			}
		},
	}
}

func reportSharedOrigin(v *View, a, b link) {
	here, there := v.installation(a.manager), v.installation(b.manager)
	if here == nil || there == nil {
		return
	}
	one, isKnown := here.Origin()
	other, ok := there.Origin()
	if !isKnown || !ok || one != other {
		return
	}
	v.Report(Sighting{
		Object: b.object(), Cause: a.manager.Context + " " + b.manager.Context,
		Message: fmt.Sprintf("%s and %s share worker %s and the origin %s", a.manager.Context, b.manager.Context, b.name(), one),
		Evidence: []string{
			fmt.Sprintf("%s: multiKueue.origin is %s; MultiKueueCluster %s leads to %s", a.manager.Context, one, a.cluster.Name, a.worker.Context),
			fmt.Sprintf("%s: multiKueue.origin is %s; MultiKueueCluster %s leads to %s", b.manager.Context, other, b.cluster.Name, b.worker.Context),
		},
		Remedy: command.Say("set another multiKueue.origin on %s: %s", b.manager.Context, reconfigure(b.manager, there)),
	})
}

func kueueDown() Rule {
	return Rule{
		Code: "JM415", Title: "Kueue does not run", Severity: inspect.Error,
		Holds: "Kueue runs on managers and workers",
		Reads: readsOfLinks(inspect.PartInstallation),
		Why: `Kueue has to run on both sides: on the manager it dispatches, on the worker it admits. Where it does not run
on a worker, Jobs wait without a reason (JM031). Where its webhooks do not answer, nobody can create Jobs.`,
		Shows:  `The Deployment behind the Service of Kueue's webhooks has no ready replica.`,
		Remedy: `See why its Pods do not start, or scale the Deployment up.`,
		Link:   "https://kueue.sigs.k8s.io/docs/installation/",
		Detect: func(v *View) {
			var done []*inspect.Facts
			for _, l := range v.links() {
				for _, f := range []*inspect.Facts{l.manager, l.worker} {
					if i := v.installation(f); i != nil && i.Ready == 0 && !slices.Contains(done, f) {
						done = append(done, f)
						reportDown(v, f, i)
					}
				}
			}
		},
	}
}

func reportDown(v *View, f *inspect.Facts, i *kueue.Installation) {
	object := deploymentOf(f, i)
	s := Sighting{
		Object:   object,
		Message:  fmt.Sprintf("Kueue does not run on %s: no replica is ready", f.Context),
		Evidence: []string{fmt.Sprintf("%s: %s wants %s, and 0 are ready", f.Context, named(object), inspect.Count(int(i.Replicas), "replica"))},
		Remedy: command.Say("see why its Pods do not start: %s; and what it logs: %s", command.Kubectl(f.Context, i.Namespace, "get", "pods"),
			command.Kubectl(f.Context, i.Namespace, "logs", "deployment/"+i.Deployment)),
	}
	if i.Replicas == 0 {
		s.Remedy = command.Say("scale it up: %s", command.Kubectl(f.Context, i.Namespace, "scale", "deployment", i.Deployment, "--replicas=1"))
	}
	v.Report(s)
}
