package rules

import (
	"fmt"
	"slices"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func leftoversKept() Rule {
	return Rule{
		Code: "JM412", Title: "MultiKueue does not clean up on workers", Severity: inspect.Warning,
		Holds: "every manager cleans up on its workers",
		Reads: readsOfInstallations(),
		Why: `Where a Job is deleted while its worker is out of reach, or while the manager restarts, its mirror stays. The
manager's garbage collection deletes such mirrors every gcInterval. With an interval of 0 it never does: mirrors keep
their quota, and may run for good (JM053).`,
		Shows:  `multiKueue.gcInterval in the configuration of the manager's Kueue is 0.`,
		Remedy: `Remove gcInterval from the configuration, which makes it one minute, and restart Kueue.`,
		Link:   "https://kueue.sigs.k8s.io/docs/reference/kueue-config.v1beta2/#MultiKueue",
		Detect: func(v *View) {
			for _, f := range v.managers() {
				if i := v.installation(f); i != nil && !i.CollectsGarbage() {
					v.reportConfig(f, i, "multiKueue.gcInterval", "0", "MultiKueue does not clean up on workers", "remove multiKueue.gcInterval")
				}
			}
		},
	}
}

func readsOfInstallations() []inspect.Part {
	return []inspect.Part{inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartInstallation}
}

// reportConfig reports a value in the configuration of Kueue.
func (v *View) reportConfig(f *inspect.Facts, i *kueue.Installation, field, value, message, change string) {
	object := deploymentOf(f, i)
	v.Report(Sighting{
		Object:   object,
		Message:  fmt.Sprintf("%s: %s is %s", message, field, value),
		Evidence: []string{fmt.Sprintf("%s: %s in the configuration of %s is %s", f.Context, field, named(object), value)},
		Remedy:   command.Say("%s on %s: %s", change, f.Context, reconfigure(f, i)),
	})
}

// workerLostTimeout is how long a manager waits for a worker that it lost (see
// docs/reference/multikueue.md#setup).
const workerLostTimeout = 15 * time.Minute

func finishedDeletedEarly() Rule {
	return Rule{
		Code: "JM413", Title: "a worker deletes finished Workloads early", Severity: inspect.Warning,
		Holds: "workers keep finished Workloads until the manager has seen them",
		Reads: readsOfLinks(inspect.PartInstallation),
		Why: `The manager learns from the copy of the Workload that a Job has finished. If the worker deletes that copy
while the manager does not reach it, the manager takes the Job for lost and runs it again.`,
		Shows: `objectRetentionPolicies.workloads.afterFinished in the configuration of the worker's Kueue is shorter than
15 minutes, for which the manager waits for a worker that it lost.`,
		Remedy: `Raise afterFinished to an hour or more, or remove it; MultiKueue itself deletes the copies.`,
		Link:   "https://kueue.sigs.k8s.io/docs/tasks/manage/setup_object_retention_policy/",
		Detect: func(v *View) {
			var done []string
			for _, l := range v.links() {
				i := v.installation(l.worker)
				if i == nil || slices.Contains(done, l.worker.Context) {
					continue
				}
				if keeps, ok := i.KeepsFinished(); ok && keeps < workerLostTimeout {
					done = append(done, l.worker.Context)
					v.reportConfig(l.worker, i, "objectRetentionPolicies.workloads.afterFinished", keeps.String(),
						"finished Workloads may be deleted before the manager sees them", "raise afterFinished to an hour")
				}
			}
		},
	}
}

func gateOff() Rule {
	return Rule{
		Code: "JM414", Title: "the feature gate MultiKueue is off", Severity: inspect.Error,
		Holds: "the feature gate MultiKueue is on where it is used",
		Reads: readsOfInstallations(),
		Why: `The feature gate MultiKueue is on by default from Kueue 0.9 on. Where somebody has turned it off on the
manager, no controller connects to the workers, and Jobs in its queues wait for good.`,
		Shows: `The configuration of Kueue, or the flag --feature-gates of its Deployment, sets MultiKueue=false on a
cluster with MultiKueueClusters.`,
		Remedy: `Remove the gate from the configuration, and restart Kueue.`,
		Link:   "https://kueue.sigs.k8s.io/docs/installation/#change-the-feature-gates-configuration",
		Detect: func(v *View) {
			for _, f := range v.managers() {
				i := v.installation(f)
				if i == nil {
					continue
				}
				if on, isSet := i.Gate("MultiKueue"); isSet && !on {
					v.reportConfig(f, i, "feature gate MultiKueue", "false", "nothing is dispatched", "remove MultiKueue=false")
				}
			}
		},
	}
}
