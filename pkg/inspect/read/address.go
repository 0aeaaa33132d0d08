package read

import (
	"errors"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// AddressIn tells which API server a kubeconfig out of a MultiKueueCluster's Secret
// leads to. Nothing else of it is looked at: its credentials are the manager's,
// and its exec entries are not ours to run.
func AddressIn(kubeconfig []byte) (kubecontext.Address, error) {
	config, err := clientcmd.Load(kubeconfig)
	if err != nil {
		// The library's message may quote the text.
		return kubecontext.Address{}, errors.New("its kubeconfig cannot be parsed")
	}
	name := ""
	if c := config.Contexts[config.CurrentContext]; c != nil {
		name = c.Cluster
	} else if len(config.Clusters) == 1 {
		for only := range config.Clusters {
			name = only
		}
	}
	cluster := config.Clusters[name]
	if cluster == nil || cluster.Server == "" {
		return kubecontext.Address{}, errors.New("its kubeconfig names no server")
	}
	return kubecontext.Address{Server: cluster.Server, CA: kubecontext.Fingerprint(cluster.CertificateAuthorityData)}, nil
}
