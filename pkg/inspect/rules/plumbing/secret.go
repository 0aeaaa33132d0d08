package plumbing

import (
	"fmt"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

func kubeconfigMissing() view.Rule {
	return brokenWorkerRule(view.Rule{Code: "JM001", Covers: []string{"JM044"}}, func(_ *view.View, b brokenWorker, s *view.Sighting) {
		s.Remedy = advice.ReplaceKubeconfig(b.manager, b.cluster, fmt.Sprintf("write the kubeconfig of the worker to %s.kubeconfig", b.cluster.Name))
		if b.cluster.SecretName() == "" {
			s.Remedy = command.Say("write the kubeconfig of %s to the path in clusterSource of MultiKueueCluster %s, in the container of Kueue on %s",
				b.cluster.Name, b.cluster.Name, b.manager.Context)
		}
	})
}

func kubeconfigRefused() view.Rule {
	return brokenWorkerRule(view.Rule{Code: "JM002", Covers: []string{"JM044"}}, func(_ *view.View, b brokenWorker, s *view.Sighting) {
		if secret := b.cluster.SecretName(); secret != "" && strings.Contains(b.active.Message, "failed to parse kubeconfig") {
			s.Message = fmt.Sprintf("%s cannot use %s: Secret %s/%s has no valid kubeconfig", b.manager.Context, b.cluster.Name, b.manager.KueueHome().Namespace, secret)
		}
		s.Remedy = advice.ReplaceKubeconfig(b.manager, b.cluster, fmt.Sprintf("write %s.kubeconfig with inline certificate-authority-data and a token or client certificate", b.cluster.Name))
	})
}

func credentialsRefused() view.Rule {
	return brokenWorkerRule(view.Rule{Code: "JM003"}, func(_ *view.View, b brokenWorker, s *view.Sighting) {
		s.Remedy = advice.RenewCredentials(b.manager, b.cluster)
	})
}

func clusterProfileUnusable() view.Rule {
	return brokenWorkerRule(view.Rule{Code: "JM010", Covers: []string{"JM044"}}, func(_ *view.View, b brokenWorker, s *view.Sighting) {
		s.Remedy = repairProfile(b)
	})
}

// repairProfile returns how to make the ClusterProfile of a worker usable. Kueue gives three reasons: the gate is off, it
// cannot get the ClusterProfile, or no access provider makes a kubeconfig of it (kueue:
// pkg/controller/admissionchecks/multikueue/multikueuecluster.go).
func repairProfile(b brokenWorker) command.Prose {
	home, profile := b.manager.KueueHome(), strings.TrimSpace("ClusterProfile "+b.cluster.ProfileName())
	switch b.active.Reason {
	case "MultiKueueClusterProfileFeatureDisabled":
		return command.Say("start Kueue on %s with --feature-gates=MultiKueueClusterProfile=true; or give MultiKueueCluster %s a clusterSource.kubeConfig",
			b.manager.Context, b.cluster.Name)
	case "BadRestConfig":
		return command.Say("correct multiKueue.clusterProfile.accessProviders in the configuration of Kueue on %s: %s", b.manager.Context, home.Reconfigure(b.manager.Context))
	}
	if strings.Contains(b.active.Message, "not found") {
		return command.Say("create %s in namespace %s on %s, or name another one: %s", profile, home.Namespace, b.manager.Context, advice.KubectlObject(b.object(), "edit"))
	}
	return command.Say("check that %s exists in namespace %s on %s, and that Kueue may read it: %s",
		profile, home.Namespace, b.manager.Context, command.Kubectl(b.manager.Context, home.Namespace, "get", "clusterprofiles.multicluster.x-k8s.io"))
}
