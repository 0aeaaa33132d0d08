package setup

import (
	"fmt"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func leftoversKept() view.Rule {
	return view.Rule{
		Code: "JM412", Severity: inspect.Warning,
		Reads: readsOfInstallations(),
		Detect: func(v *view.View) {
			for _, f := range v.Managers() {
				if i := v.Installation(f); i != nil && !i.CollectsGarbage() {
					reportConfig(v, f, i, "multiKueue.gcInterval", "0", "MultiKueue does not clean up on workers", "remove multiKueue.gcInterval")
				}
			}
		},
	}
}

func readsOfInstallations() []inspect.Part {
	return []inspect.Part{inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartInstallation}
}

// reportConfig reports a value in the configuration of Kueue.
func reportConfig(v *view.View, f *inspect.Facts, i *kueue.Installation, field, value, message, change string) {
	object := deploymentOf(f, i)
	v.Report(view.Sighting{
		Object:   object,
		Message:  fmt.Sprintf("%s: %s is %s", message, field, value),
		Evidence: []string{fmt.Sprintf("%s: %s in the configuration of %s is %s", f.Context, field, object.String(), value)},
		Remedy:   command.Say("%s on %s: %s", change, f.Context, i.Reconfigure(f.Context)),
	})
}

func finishedDeletedEarly() view.Rule {
	return view.Rule{
		Code: "JM413", Severity: inspect.Warning,
		Reads: view.ReadsOfLinks(inspect.PartInstallation),
		Detect: func(v *view.View) {
			var done []string
			for _, l := range v.Links() {
				i := v.Installation(l.Worker)
				if i == nil || slices.Contains(done, l.Worker.Context) {
					continue
				}
				if keeps, ok := i.KeepsFinished(); ok && keeps < view.WorkerLostTimeout {
					done = append(done, l.Worker.Context)
					reportConfig(v, l.Worker, i, "objectRetentionPolicies.workloads.afterFinished", keeps.String(),
						"finished Workloads may be deleted before the manager sees them", "raise afterFinished to an hour")
				}
			}
		},
	}
}

func gateOff() view.Rule {
	return view.Rule{
		Code: "JM414", Severity: inspect.Error,
		Reads: readsOfInstallations(),
		Detect: func(v *view.View) {
			for _, f := range v.Managers() {
				i := v.Installation(f)
				if i == nil {
					continue
				}
				if on, isSet := i.Gate("MultiKueue"); isSet && !on {
					reportConfig(v, f, i, "feature gate MultiKueue", "false", "nothing is dispatched", "remove MultiKueue=false")
				}
			}
		},
	}
}
