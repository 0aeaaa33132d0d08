package plumbing

import (
	"fmt"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func workerKueueTooOld() view.Rule {
	return brokenWorkerRule(view.Rule{Code: "JM007"}, adviseKueueVersion, inspect.PartSecrets, inspect.PartKueue)
}

// adviseKueueVersion advises to change Kueue on the worker, or on the manager if that requests an
// API version that the worker no longer serves: Kueue before 0.16 uses v1beta1, which Kueue 0.20
// does not serve.
func adviseKueueVersion(v *view.View, b brokenWorker, s *view.Sighting) {
	install := onWorker(v, b, "apply", "--server-side", "-f", "https://github.com/kubernetes-sigs/kueue/releases/latest/download/manifests.yaml")
	s.Remedy = command.Say("install Kueue 0.15 or later on %s: %s", b.cluster.Name, install)
	f, context := v.Worker(b.manager, b.cluster.Name)
	isRead := f != nil && f != b.manager
	has, known := false, false
	if isRead {
		has, known = v.HasKueue(f)
	}
	switch {
	case has:
		s.Evidence = append(s.Evidence, fmt.Sprintf("%s: kueue.x-k8s.io is served as %s", context, f.Kueue.Version))
	case known:
		s.Evidence = append(s.Evidence, fmt.Sprintf("%s: kueue.x-k8s.io is not served", context))
	}
	if !strings.Contains(b.active.Message, kueue.Group+"/"+delegation.OldKueueVersion) {
		return
	}
	upgrade := fmt.Sprintf("upgrade Kueue on %s to 0.16 or later: it requests %s, which Kueue 0.20 does not serve", b.manager.Context, delegation.OldKueueVersion)
	switch {
	case has && f.Kueue.Version != delegation.OldKueueVersion:
		s.Remedy = command.Say("%s", upgrade)
	case !known:
		s.Remedy = command.Say("%s; if %s has no Kueue, install it there: %s", upgrade, b.cluster.Name, install)
	}
}
