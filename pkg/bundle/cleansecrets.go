package bundle

import (
	"bytes"
	"encoding/base64"
	"encoding/pem"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// removeSecrets removes the data of Secrets inside an object, and reports whether there were any.
func removeSecrets(object map[string]any) (found bool) {
	for _, value := range object {
		switch v := value.(type) {
		case []any:
			for _, item := range v {
				found = removeSecretsIn(item) || found
			}
		default:
			found = removeSecretsIn(v) || found
		}
	}
	return found
}

func removeSecretsIn(value any) bool {
	o, ok := value.(map[string]any)
	if !ok {
		return false
	}
	found := removeSecrets(o)
	if o["kind"] != secrets().kind || o["apiVersion"] != secrets().Version || o["data"] == nil && o["stringData"] == nil {
		return found
	}
	delete(o, "data")
	delete(o, "stringData")
	return true
}

// cutSecret returns what is kept of the Secret of a MultiKueueCluster: its name, and the address
// in its kubeconfig. It drops everything that it cannot parse.
func cutSecret(secret map[string]any) map[string]any {
	metadata := map[string]any{}
	for _, field := range []string{"name", "namespace"} {
		if text, ok, _ := unstructured.NestedString(secret, "metadata", field); ok {
			metadata[field] = text
		}
	}
	cut := map[string]any{"metadata": metadata}
	text, _, _ := unstructured.NestedString(secret, "data", "kubeconfig")
	decoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return cut
	}
	if kubeconfig := cutKubeconfig(decoded); kubeconfig != nil {
		cut["data"] = map[string]any{"kubeconfig": base64.StdEncoding.EncodeToString(kubeconfig)}
	}
	return cut
}

// cutKubeconfig keeps the server and certificate authority of a kubeconfig's current context, or
// those of all clusters if there is none. The kubeconfig is parsed and never used: nothing in it
// is executed.
func cutKubeconfig(text []byte) []byte {
	config, err := clientcmd.Load(text)
	if err != nil {
		return nil
	}
	wanted := ""
	if current, ok := config.Contexts[config.CurrentContext]; ok {
		wanted = current.Cluster
	}
	cut := clientcmdapi.NewConfig()
	for name, cluster := range config.Clusters {
		if _, ok := config.Clusters[wanted]; ok && name != wanted {
			continue
		}
		cut.Clusters[name] = &clientcmdapi.Cluster{
			Server: address(cluster.Server), CertificateAuthorityData: certificates(cluster.CertificateAuthorityData),
		}
	}
	if len(cut.Clusters) == 0 {
		return nil
	}
	if out, err := clientcmd.Write(*cut); err == nil {
		return out
	}
	return nil
}

// certificates returns only the certificates in PEM data.
func certificates(data []byte) []byte {
	var out bytes.Buffer
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			_ = pem.Encode(&out, &pem.Block{Type: block.Type, Bytes: block.Bytes})
		}
	}
	return out.Bytes()
}

// cutProfile keeps the servers and certificate authorities of a ClusterProfile: extensions may
// contain credentials for plugins.
func cutProfile(object map[string]any) {
	status, _ := object["status"].(map[string]any)
	for _, list := range []string{"accessProviders", "credentialProviders"} {
		providers, _ := status[list].([]any)
		for _, provider := range providers {
			p, _ := provider.(map[string]any)
			cluster, _ := p["cluster"].(map[string]any)
			delete(cluster, "extensions")
			delete(cluster, "proxy-url")
		}
	}
}
