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
		profile := ""
		if source := b.cluster.Spec.Source; source != nil && source.ClusterProfileRef != nil {
			profile = " " + source.ClusterProfileRef.Name
		}
		s.Remedy = command.Say("correct ClusterProfile%s in namespace %s on %s, and multiKueue.clusterProfile.accessProviders in the configuration of Kueue there",
			profile, b.manager.KueueHome().Namespace, b.manager.Context)
		if strings.Contains(b.active.Reason, "FeatureDisabled") {
			s.Remedy = command.Say("start Kueue on %s with --feature-gates=MultiKueueClusterProfile=true; or give MultiKueueCluster %s a clusterSource.kubeConfig",
				b.manager.Context, b.cluster.Name)
		}
	})
}
