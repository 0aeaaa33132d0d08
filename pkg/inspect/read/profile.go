package read

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// clusterProfile is a ClusterProfile (sigs.k8s.io/cluster-inventory-api), which says how to reach a
// cluster. The list credentialProviders is the older name of accessProviders.
type clusterProfile struct {
	Status struct {
		AccessProviders     []accessProvider `json:"accessProviders"`
		CredentialProviders []accessProvider `json:"credentialProviders"`
	} `json:"status"`
}

type accessProvider struct {
	Cluster struct {
		Server string `json:"server"`
		CA     []byte `json:"certificate-authority-data"`
	} `json:"cluster"`
}

// address returns the API server of the cluster. ok is false if no provider names one, or if they
// disagree.
func (p *clusterProfile) address() (a kubecontext.Address, ok bool) {
	for _, provider := range slices.Concat(p.Status.AccessProviders, p.Status.CredentialProviders) {
		c := provider.Cluster
		switch {
		case c.Server == "":
		case a.Server != "" && !kubecontext.SameServer(a.Server, c.Server):
			return kubecontext.Address{}, false
		case a.Server == "" || a.CA == "":
			a = kubecontext.Address{Server: c.Server, CA: kubecontext.Fingerprint(c.CA)}
		}
	}
	return a, a.Server != ""
}

// addressInProfile returns the API server that a ClusterProfile in Kueue's namespace points to; nil
// if unknown.
func addressInProfile(ctx context.Context, c *fleet.Cluster, name string) (*kubecontext.Address, error) {
	profiles := schema.GroupVersionResource{Group: "multicluster.x-k8s.io", Version: "v1alpha1", Resource: "clusterprofiles"}
	profile, err := Get[clusterProfile](ctx, c, profiles, kueue.Namespace, name)
	if err != nil || profile == nil {
		return nil, err
	}
	if address, ok := profile.address(); ok {
		return &address, nil
	}
	return nil, nil
}
