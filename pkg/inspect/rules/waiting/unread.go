package waiting

import (
	"fmt"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

func workersUnread() view.Rule {
	return view.Rule{
		Code: "JM135", Severity: inspect.Info,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Detect: detectWorkersUnread,
	}
}

func detectWorkersUnread(v *view.View) {
	for w := range unadmitted(v) {
		var unreachable, failed []string
		for _, name := range offeredNames(v, w) {
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
		offered := strings.Join(offeredNames(v, w), ", ")
		v.Report(view.Sighting{
			Object: view.Of(job), Since: w.since,
			Message: "waits for a worker; cannot see why: " + strings.Join(whys, "; "),
			Evidence: []string{
				quote.CheckState(view.OfWorkload(f, w.Workload), *w.Check),
				fmt.Sprintf("%s: %s was offered to %s", f.Context, view.OfWorkload(f, w.Workload).String(), offered),
			},
			Remedy: command.Say("read the workers too: add a context for each to the kubeconfig, or choose it with --contexts"),
			Jobs:   []*inspect.Job{job},
		})
	}
}

// offeredNames returns the MultiKueueClusters that a Workload was offered to.
// If Kueue does not record nominations, these are all clusters of its
// MultiKueueConfig.
func offeredNames(v *view.View, w *waiter) []string {
	if w.Manager.Kueue.TellsNominations() {
		return w.Nominated()
	}
	config, _, known := notOffered(v, w)
	if !known || config == nil {
		return nil
	}
	return config.Spec.Clusters
}
