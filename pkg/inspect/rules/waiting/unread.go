package waiting

import (
	"fmt"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
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
		var unreachable, reasons []string
		for _, name := range offeredNames(v, w) {
			switch worker, known := v.Worker(w.Manager, name); {
			case worker != nil:
			case known == "":
				unreachable = append(unreachable, name)
			case v.Failed(known) != nil:
				reasons = append(reasons, "cannot read "+known+": "+kubecontext.InContext(known, "", v.Failed(known)).Message())
			default:
				reasons = append(reasons, known+" "+inspect.NotSelected)
			}
		}
		if len(unreachable) > 0 {
			reasons = append([]string{"no context reaches " + strings.Join(unreachable, ", ")}, reasons...)
		}
		if len(reasons) == 0 {
			continue
		}
		f, job := w.Manager, w.Job()
		offered := strings.Join(offeredNames(v, w), ", ")
		v.Report(view.Sighting{
			Object: view.Of(job), Since: w.since,
			Message: "waits for a worker; cannot see why: " + strings.Join(reasons, "; "),
			Evidence: []string{
				quote.CheckState(view.OfWorkload(f, w.Workload), *w.Check),
				fmt.Sprintf("%s: %s was offered to %s", f.Context, view.OfWorkload(f, w.Workload).String(), offered),
			},
			Remedy: command.Say("add a context for each worker to the kubeconfig; or select it with --contexts"),
			Jobs:   []*inspect.Job{job},
		})
	}
}

// offeredNames returns the MultiKueueClusters that a Workload was offered to.
// If Kueue does not record nominations, these are all clusters of its
// MultiKueueConfig.
func offeredNames(v *view.View, w *waiter) []string {
	if w.Manager.Kueue.RecordsNominations() {
		return w.Nominated()
	}
	config, _, known := notOffered(v, w)
	if !known || config == nil {
		return nil
	}
	return config.Spec.Clusters
}
