package rules

import (
	"fmt"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// setupPage is the page that says how a manager is given access to its workers.
const setupPage = "https://kueue.sigs.k8s.io/docs/tasks/manage/setup_multikueue/"

func kubeconfigMissing() Rule {
	return Rule{
		Code: "JM001", Title: "a worker's kubeconfig cannot be read",
		Holds: "the manager can read the kubeconfig of every worker",
		Why: `A MultiKueueCluster names a Secret in Kueue's own namespace, or a file in the manager's container, that
holds the kubeconfig of the worker. The Secret does not exist, is in another namespace, or keeps the kubeconfig under
another key than kubeconfig; or the file is missing or outside /etc/multikueue/kubeconfigs. A Secret that does
not exist is not asked for again until somebody makes it. A manager that restarts in this state also forgets the Jobs that run on that worker (kueue
issue 13238).`,
		Shows: `The MultiKueueCluster's condition Active is False with reason BadKubeConfig; the message says what is
missing.`,
		Remedy: `Put the kubeconfig under the key kubeconfig of a Secret of that name in the namespace that Kueue runs in.
The change is seen at once.`,
		Link: setupPage,
	}.ofBroken(func(_ *View, b brokenWorker, s *Sighting) {
		s.Remedy = putKubeconfig(b.manager, b.cluster, b.cluster.Name+".kubeconfig").Prose()
		if b.cluster.SecretName() == "" {
			s.Remedy = command.Say("put the kubeconfig of %s where clusterSource of MultiKueueCluster %s says it is, in the Kueue manager's container on %s",
				b.cluster.Name, b.cluster.Name, b.manager.Context)
		}
	})
}

// putKubeconfig is the command that writes a worker's Secret from a file, whether or
// not there is one.
func putKubeconfig(manager *inspect.Facts, c *kueue.MultiKueueCluster, file string) command.Command {
	write := command.Kubectl(manager.Context, kueue.Namespace, "create", "secret", "generic", c.SecretName(), "--from-file=kubeconfig="+file, "--dry-run=client", "-o", "yaml")
	return command.Kubectl(manager.Context, "", "apply", "-f", "-").FedBy(write)
}

// newKubeconfig is what to do where a worker's kubeconfig has to be replaced.
func newKubeconfig(b brokenWorker, by string) command.Prose {
	switch {
	case b.cluster.SecretName() != "":
		return command.Say("%s, and then %s", by, putKubeconfig(b.manager, b.cluster, b.cluster.Name+".kubeconfig"))
	case b.cluster.Spec.Source != nil && b.cluster.Spec.Source.ClusterProfileRef != nil:
		return command.Say("%s, and give it to ClusterProfile %s on %s", by, b.cluster.Spec.Source.ClusterProfileRef.Name, b.manager.Context)
	}
	return command.Say("%s, and replace the file that MultiKueueCluster %s on %s names", by, b.cluster.Name, b.manager.Context)
}

// renewCredentials is how to give a manager new credentials for a worker.
func renewCredentials(b brokenWorker) command.Prose {
	return newKubeconfig(b, fmt.Sprintf("make new credentials for the manager on %s and write them to %s.kubeconfig", b.cluster.Name, b.cluster.Name))
}

func kubeconfigRefused() Rule {
	return Rule{
		Code: "JM002", Title: "Kueue refuses a worker's kubeconfig",
		Holds: "Kueue accepts the kubeconfig of every worker",
		Why: `Kueue takes no kubeconfig that could read files of the manager or run programs in it, or that does not
check the server's certificate. It refuses tokenFile, exec plugins, auth providers, user name and password,
insecure-skip-tls-verify, a certificate-authority that is a file, and a server that is neither a host name nor an
address. A kubeconfig that cannot be parsed is refused in the same way.`,
		Shows: `The MultiKueueCluster's condition Active is False with reason InsecureKubeConfig; the message names the
rule that was broken.`,
		Remedy: `Write a kubeconfig with certificate-authority-data and with a token, or with client-certificate-data and
client-key-data, and replace the Secret's content.`,
		Link: "https://github.com/kubernetes-sigs/kueue/pull/7439",
	}.ofBroken(func(_ *View, b brokenWorker, s *Sighting) {
		s.Remedy = newKubeconfig(b, fmt.Sprintf("write %s.kubeconfig with inline certificate-authority-data and a token or client certificate", b.cluster.Name))
	})
}

func credentialsRefused() Rule {
	return Rule{
		Code: "JM003", Title: "a worker rejects the manager's credentials",
		Holds: "every worker accepts the manager's credentials",
		Why: `The worker answers, and does not know who the manager is: the token or the client certificate in the
kubeconfig has expired or was revoked, or its service account was deleted. Tokens of service accounts that kubectl
create token makes last an hour unless told otherwise.`,
		Shows: `The MultiKueueCluster's condition Active is False with reason ClientConnectionFailed, and the message says
Unauthorized, asks for credentials, or speaks of system:anonymous.`,
		Remedy: `Make new credentials on the worker and replace the content of the Secret; Kueue watches it and connects
again.`,
		Link: "https://github.com/kubernetes-sigs/kueue/issues/9280",
	}.ofBroken(func(_ *View, b brokenWorker, s *Sighting) { s.Remedy = renewCredentials(b) })
}

func clusterProfileUnusable() Rule {
	return Rule{
		Code: "JM010", Title: "a worker's ClusterProfile cannot be used",
		Holds: "the ClusterProfile of every worker is usable",
		Why: `The MultiKueueCluster names a ClusterProfile in place of a kubeconfig. That takes the manager's feature gate
MultiKueueClusterProfile, which is off by default, a ClusterProfile of that name in Kueue's namespace, and an access
provider in the manager's configuration that knows how to log in to it.`,
		Shows: `The MultiKueueCluster's condition Active is False with reason MultiKueueClusterProfileFeatureDisabled,
BadClusterProfile or BadRestConfig.`,
		Remedy: `Turn the feature gate on, correct the name of the ClusterProfile or of the provider, or give the
MultiKueueCluster a kubeconfig Secret.`,
		Link: "https://github.com/kubernetes-sigs/kueue/tree/main/keps/693-multikueue",
	}.ofBroken(func(_ *View, b brokenWorker, s *Sighting) {
		profile := ""
		if source := b.cluster.Spec.Source; source != nil && source.ClusterProfileRef != nil {
			profile = " " + source.ClusterProfileRef.Name
		}
		s.Remedy = command.Say("correct ClusterProfile%s in namespace %s on %s, and multiKueue.clusterProfile.accessProviders in the Kueue manager's configuration",
			profile, kueue.Namespace, b.manager.Context)
		if strings.Contains(b.active.Reason, "FeatureDisabled") {
			s.Remedy = command.Say("start the Kueue manager on %s with --feature-gates=MultiKueueClusterProfile=true, or give MultiKueueCluster %s a clusterSource.kubeConfig",
				b.manager.Context, b.cluster.Name)
		}
	})
}
