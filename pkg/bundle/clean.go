package bundle

import (
	"bytes"
	"encoding/base64"
	"encoding/pem"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/kueue"
)

// redacted stands where something was taken away.
const redacted = "REDACTED"

// clean takes away what nobody reads: which fields a manager owns, except those
// of Workloads, for they tell who wrote what of a status.
func clean(object map[string]any, redact bool) {
	metadata, _ := object["metadata"].(map[string]any)
	managers, _ := metadata["managedFields"].([]any)
	for _, m := range managers {
		if entry, ok := m.(map[string]any); ok && object["kind"] != "Workload" {
			delete(entry, "fieldsV1")
		}
	}
	if redact {
		redactValue(object)
		redactHolder(object)
	}
}

// redactValue redacts an object, and all pod templates in it.
func redactValue(value any) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			redactValue(item)
		}
	case map[string]any:
		for key, inner := range v {
			switch key {
			case "managedFields":
				continue
			case "metadata":
				redactAnnotations(inner)
			case "containers", "initContainers", "ephemeralContainers":
				redactEnv(inner)
			}
			redactValue(inner)
		}
	}
}

// redactHolder takes away who holds a Lease, which tends to be a user and a
// machine, but not whether anybody does.
func redactHolder(object map[string]any) {
	spec, _ := object["spec"].(map[string]any)
	if holder, _ := spec["holderIdentity"].(string); object["kind"] == leases().kind && holder != "" {
		spec["holderIdentity"] = redacted
	}
}

func redactAnnotations(metadata any) {
	m, _ := metadata.(map[string]any)
	annotations, _ := m["annotations"].(map[string]any)
	for key := range annotations {
		domain, _, _ := strings.Cut(key, "/")
		switch domain {
		case kueue.Group, "jobmanagedby.github.io", "batch.kubernetes.io":
		default:
			delete(annotations, key)
		}
	}
	if annotations != nil && len(annotations) == 0 {
		delete(m, "annotations")
	}
}

func redactEnv(containers any) {
	list, _ := containers.([]any)
	for _, c := range list {
		container, _ := c.(map[string]any)
		env, _ := container["env"].([]any)
		for _, e := range env {
			if entry, ok := e.(map[string]any); ok && entry["value"] != nil {
				entry["value"] = redacted
			}
		}
	}
}

// cutSecret is what is kept of the Secret of a MultiKueueCluster: its name, and
// where its kubeconfig leads. Whatever cannot be understood is not kept.
func cutSecret(secret map[string]any) (cut map[string]any, kubeconfig []byte) {
	metadata := map[string]any{}
	for _, field := range []string{"name", "namespace"} {
		if text, ok, _ := unstructured.NestedString(secret, "metadata", field); ok {
			metadata[field] = text
		}
	}
	cut = map[string]any{"metadata": metadata}
	text, _, _ := unstructured.NestedString(secret, "data", "kubeconfig")
	decoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return cut, nil
	}
	if kubeconfig = cutKubeconfig(decoded); kubeconfig != nil {
		cut["data"] = map[string]any{"kubeconfig": base64.StdEncoding.EncodeToString(kubeconfig)}
	}
	return cut, kubeconfig
}

// cutKubeconfig keeps the servers and certificate authorities of a kubeconfig:
// that of the current context, or all if there is none. It is parsed and never
// used: nothing in it is executed.
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

// certificates are the certificates in PEM data, and nothing that may stand
// beside them.
func certificates(data []byte) []byte {
	var out bytes.Buffer
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			_ = pem.Encode(&out, &pem.Block{Type: block.Type, Bytes: block.Bytes})
		}
	}
	return out.Bytes()
}
