package plumbing

import (
	"fmt"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

// workerWithoutKueue returns a worker that its manager cannot use, and that answers our requests but
// does not serve Kueue's API; nil for all others. The manager's message may be older than that.
func workerWithoutKueue(v *view.View, b brokenWorker) *inspect.Facts {
	if fault := view.ClusterFault(b.active); fault != "JM004" && fault != "JM007" {
		return nil
	}
	f, context := v.Worker(b.manager, b.cluster.Name)
	if f == nil || f == b.manager || addressesDiffer(v, context, v.ServerOf(b.manager, b.cluster.Name)) {
		return nil
	}
	if has, known := v.HasKueue(f); has || !known || !f.NoKueue {
		return nil
	}
	return f
}

// describeWithoutKueue describes a worker without Kueue, and the Jobs that it has lost. Without
// Kueue, neither time nor the network makes it usable.
func describeWithoutKueue(v *view.View, b brokenWorker, worker *inspect.Facts, s *view.Sighting) {
	s.Message = fmt.Sprintf("%s cannot use worker %s: %s has no Kueue", b.manager.Context, b.cluster.Name, worker.Context)
	var lost []string
	for _, submission := range v.Submissions() {
		j := submission.Job()
		if submission.Manager == b.manager && submission.Chosen() == b.cluster.Name && !submission.IsFinished() && v.IsMissing(worker, j, j.Namespace, j.Name) {
			lost = append(lost, j.Namespace+"/"+j.Name)
		}
	}
	slices.Sort(lost)
	if len(lost) > 0 {
		s.Message += fmt.Sprintf("; it lost %s: %s", inspect.Count(len(lost), "Job"), inspect.Some(lost))
		for _, name := range lost[:min(len(lost), quote.MostLines)] {
			s.Evidence = append(s.Evidence, fmt.Sprintf("%s: there is no Job %s, although MultiKueue gave it to %s", worker.Context, name, b.cluster.Name))
		}
		s.Evidence = append(s.Evidence, "MultiKueue restarts lost Jobs on another worker after workerLostTimeout, by default 15 minutes")
	}
	s.Covers = append(s.Covers, "JM043", "JM048")
	s.Remedy = command.Say("install Kueue 0.15 or later on %s: %s", b.cluster.Name, installKueue(v, b))
}

// installKueue returns the command that installs Kueue on a worker.
func installKueue(v *view.View, b brokenWorker) command.Command {
	return onWorker(v, b, "apply", "--server-side", "-f", "https://github.com/kubernetes-sigs/kueue/releases/latest/download/manifests.yaml")
}
