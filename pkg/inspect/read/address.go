package read

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kfields "k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// kubeconfigFacts are the public facts of a MultiKueueCluster's kubeconfig; a fact is nil if the
// kubeconfig lacks it.
type kubeconfigFacts struct {
	// namespace is that of its Secret, "" if it has none.
	namespace  string
	address    *kubecontext.Address
	credential *kubecontext.Credential
	// noCredential is why there is no credential; nil if there is one.
	noCredential error
}

// factsIn returns the facts of a kubeconfig in a Secret.
func factsIn(secret map[string]any, kubeconfig []byte) kubeconfigFacts {
	facts := kubeconfigFacts{}
	facts.namespace, _, _ = unstructured.NestedString(secret, "metadata", "namespace")
	if address, err := AddressIn(kubeconfig); err == nil {
		facts.address = &address
	}
	if credential, ok := credentialIn(secret, kubeconfig); ok {
		facts.credential = &credential
	} else {
		facts.noCredential = whyNoCredential(secret, kubeconfig)
	}
	return facts
}

// Why a credential cannot be checked.
var (
	errNoFacts      = errors.New("the kubeconfig has neither a client certificate nor a JSON Web Token")
	errNoSecret     = errors.New("the kubeconfig is not in a Secret")
	errSecretGone   = errors.New("the Secret does not exist")
	errNoKubeconfig = errors.New("the Secret has no valid kubeconfig")
	errNoUsers      = errors.New("the kubeconfig has no users, which snapshots do not keep")
)

func whyNoCredential(secret map[string]any, kubeconfig []byte) error {
	config, err := clientcmd.Load(kubeconfig)
	switch {
	case secret == nil:
		return errSecretGone
	case err != nil || len(config.Clusters) == 0:
		return errNoKubeconfig
	case len(config.AuthInfos) == 0:
		return errNoUsers
	}
	return errNoFacts
}

// credentialAnnotation has the public facts of a credential that a snapshot removed from a Secret.
const credentialAnnotation = "jobmanagedby.github.io/credential"

// credentialIn returns the public facts of the credential in a MultiKueueCluster's kubeconfig: its
// user and its expiry. ok is false if there are none.
func credentialIn(secret map[string]any, kubeconfig []byte) (c kubecontext.Credential, ok bool) {
	if text, isKept, _ := unstructured.NestedString(secret, "metadata", "annotations", credentialAnnotation); isKept {
		return c, json.NewDecoder(strings.NewReader(text)).Decode(&c) == nil && c.Kind != ""
	}
	config, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return c, false
	}
	user := config.AuthInfos[currentIn(config).AuthInfo]
	switch {
	case user == nil:
		return c, false
	case len(user.ClientCertificateData) > 0:
		return kubecontext.CertificateFacts(user.ClientCertificateData)
	}
	return kubecontext.TokenFacts(user.Token)
}

// currentIn returns the context that a kubeconfig's readers use: the current one. Without it, the only
// cluster and the only user count.
func currentIn(config *clientcmdapi.Config) *clientcmdapi.Context {
	if current := config.Contexts[config.CurrentContext]; current != nil {
		return current
	}
	only := &clientcmdapi.Context{}
	if len(config.Clusters) == 1 {
		only.Cluster = slices.Collect(maps.Keys(config.Clusters))[0]
	}
	if len(config.AuthInfos) == 1 {
		only.AuthInfo = slices.Collect(maps.Keys(config.AuthInfos))[0]
	}
	return only
}

// AddressIn returns the API server that a MultiKueueCluster's kubeconfig points to. It does not run
// exec entries, and reads no credentials; credentialIn reads their public facts.
func AddressIn(kubeconfig []byte) (kubecontext.Address, error) {
	config, err := clientcmd.Load(kubeconfig)
	if err != nil {
		// The library's message may quote the text.
		return kubecontext.Address{}, errors.New("its kubeconfig cannot be parsed")
	}
	cluster := config.Clusters[currentIn(config).Cluster]
	if cluster == nil || cluster.Server == "" {
		return kubecontext.Address{}, errors.New("its kubeconfig names no server")
	}
	return kubecontext.Address{Server: cluster.Server, CA: kubecontext.Fingerprint(cluster.CertificateAuthorityData)}, nil
}

// KubeconfigSecret returns the Secret with a MultiKueueCluster's kubeconfig. It is in Kueue's
// default namespace, otherwise, if Kueue is installed in another one, the only Secret of that name
// with a kubeconfig. Both results are nil if there is none. The Secret holds credentials: callers
// that keep it must remove them.
func KubeconfigSecret(ctx context.Context, c *fleet.Cluster, name string) (secret map[string]any, kubeconfig []byte, err error) {
	secrets := corev1.SchemeGroupVersion.WithResource("secrets")
	ctx = fleet.WithoutCache(ctx)
	found, err := Get[map[string]any](ctx, c, secrets, kueue.Namespace, name)
	if err != nil {
		return nil, nil, err
	}
	if found != nil {
		return *found, kubeconfigOf(*found), nil
	}
	var all []map[string]any
	byName := metav1.ListOptions{FieldSelector: kfields.OneTermEqualSelector("metadata.name", name).String()}
	err = listObjects(ctx, c, secrets, "", byName, func(s *map[string]any) {
		if len(kubeconfigOf(*s)) > 0 {
			all = append(all, *s)
		}
	})
	if err != nil || len(all) != 1 {
		return nil, nil, err
	}
	return all[0], kubeconfigOf(all[0]), nil
}

// kubeconfigOf returns the kubeconfig in a Secret, nil if there is none or it is invalid.
func kubeconfigOf(secret map[string]any) []byte {
	text, _, _ := unstructured.NestedString(secret, "data", "kubeconfig")
	kubeconfig, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	return kubeconfig
}

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
