package rules

import (
	"fmt"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

func workersUnread() Rule {
	return Rule{
		Code: "JM135", Title: "waits for a worker that was not read", Severity: inspect.Info,
		Holds: "every worker that a Job waits for was read",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `Kueue on the management cluster has reserved quota for the Job and offered it to workers, and none has
admitted it. Why shows only on those workers: the management cluster keeps no reason. No context of the kubeconfig
reaches them, or they do not answer, so the Job may wait its turn or wait for ever.`,
		Shows: `The Workload has QuotaReserved=True and MultiKueue's check is Pending. A cluster that it was offered to
was not read, and none that was read has admitted it.`,
		Remedy: `Add a context for the worker to the kubeconfig, choose it with --contexts, or ask somebody who can read it.`,
		Link:   "https://kueue.sigs.k8s.io/docs/concepts/multikueue/",
		Detect: detectWorkersUnread,
	}
}

func detectWorkersUnread(v *View) {
	for w := range v.untaken() {
		var unreachable, failed []string
		for _, name := range v.offeredNames(w) {
			switch worker, known := v.Worker(w.Manager, name); {
			case worker != nil:
			case known == "":
				unreachable = append(unreachable, name)
			default:
				failed = append(failed, known)
			}
		}
		if len(unreachable) == 0 && len(failed) == 0 {
			continue
		}
		var whys []string
		if len(unreachable) > 0 {
			whys = append(whys, "no context reaches "+strings.Join(unreachable, ", "))
		}
		if len(failed) > 0 {
			whys = append(whys, "cannot read "+strings.Join(failed, ", "))
		}
		f, job := w.Manager, w.Job()
		offered := strings.Join(v.offeredNames(w), ", ")
		v.Report(Sighting{
			Object: Of(job), Since: w.since,
			Message: "waits for a worker; cannot see why: " + strings.Join(whys, "; "),
			Evidence: []string{
				checkText(workloadObject(f, w.Workload), *w.Check),
				fmt.Sprintf("%s: %s was offered to %s", f.Context, named(workloadObject(f, w.Workload)), offered),
			},
			Remedy: command.Say("read the workers too: add a context for each to the kubeconfig, or choose it with --contexts"),
			Jobs:   []*inspect.Job{job},
		})
	}
}

// offeredNames are the MultiKueueClusters that a Workload was offered to. Where Kueue does not
// write that down, they are all of its configuration.
func (v *View) offeredNames(w *waiter) []string {
	if w.Manager.Kueue.TellsNominations() {
		return w.Nominated()
	}
	config, _, known := v.notOffered(w)
	if !known || config == nil {
		return nil
	}
	return config.Spec.Clusters
}
