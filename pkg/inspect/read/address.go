package read

import (
	"encoding/json"
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// kubeconfigFacts are the public facts of a MultiKueueCluster's kubeconfig; a fact is nil if the
// kubeconfig lacks it.
type kubeconfigFacts struct {
	// exists is whether the Secret exists.
	exists     bool
	address    *kubecontext.Address
	credential *kubecontext.Credential
}

// factsIn returns the facts of a kubeconfig in a Secret.
func factsIn(secret map[string]any, kubeconfig []byte) kubeconfigFacts {
	facts := kubeconfigFacts{exists: secret != nil}
	if address, err := AddressIn(kubeconfig); err == nil {
		facts.address = &address
	}
	if credential, ok := CredentialIn(secret, kubeconfig); ok {
		facts.credential = &credential
	}
	return facts
}

// CredentialAnnotation has the public facts of a credential that a snapshot removed from a Secret.
const CredentialAnnotation = "jobmanagedby.github.io/credential"

// CredentialIn returns the public facts of the credential in a MultiKueueCluster's kubeconfig: its
// user and its expiry. ok is false if there are none.
func CredentialIn(secret map[string]any, kubeconfig []byte) (c kubecontext.Credential, ok bool) {
	if text, isKept, _ := unstructured.NestedString(secret, "metadata", "annotations", CredentialAnnotation); isKept {
		return c, json.NewDecoder(strings.NewReader(text)).Decode(&c) == nil && c.Kind != ""
	}
	config, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return c, false
	}
	name := ""
	if current := config.Contexts[config.CurrentContext]; current != nil {
		name = current.AuthInfo
	} else if len(config.AuthInfos) == 1 {
		for only := range config.AuthInfos {
			name = only
		}
	}
	user := config.AuthInfos[name]
	switch {
	case user == nil:
		return c, false
	case len(user.ClientCertificateData) > 0:
		return kubecontext.CertificateFacts(user.ClientCertificateData)
	}
	return kubecontext.TokenFacts(user.Token)
}

// AddressIn returns the API server that a MultiKueueCluster's kubeconfig points to. It does not run
// exec entries, and reads no credentials; CredentialIn reads their public facts.
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
