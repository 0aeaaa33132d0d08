package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/podtemplate"
)

// refsIn returns the objects of its own namespace to which a Pod spec refers. It recognizes
// references by the names of fields anywhere, so it also finds those of future kinds of volumes.
func refsIn(pod map[string]any) map[podtemplate.Ref]bool {
	found := map[podtemplate.Ref]bool{}
	if account, _ := pod["serviceAccountName"].(string); account != "" && account != "default" {
		found[podtemplate.Ref{Kind: "ServiceAccount", Name: account}] = true
	}
	walkNames(pod, func(kind, name string) { found[podtemplate.Ref{Kind: kind, Name: name}] = true })
	return found
}

func walkNames(value any, found func(kind, name string)) {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			walkNames(element, found)
		}
	case map[string]any:
		for field, inner := range v {
			kind, key := nameIn(field)
			for _, o := range content.Objects(inner) {
				if name, _ := o[key].(string); kind != "" && name != "" {
					found(kind, name)
				}
			}
			walkNames(inner, found)
		}
		for field, kind := range map[string]string{
			"secretName": "Secret", "claimName": "PersistentVolumeClaim",
			"resourceClaimName": "ResourceClaim", "resourceClaimTemplateName": "ResourceClaimTemplate",
		} {
			if name, _ := v[field].(string); name != "" {
				found(kind, name)
			}
		}
	}
}

// nameIn returns the kind to which an object in a field of that name refers, and the key with its
// name. Both are "" for other fields.
func nameIn(field string) (kind, key string) {
	switch field {
	case "configMap", "configMapRef", "configMapKeyRef":
		return "ConfigMap", "name"
	case "secret", "secretRef", "secretKeyRef", "nodePublishSecretRef", "imagePullSecrets":
		return "Secret", "name"
	case "schedulingGroup":
		return "PodGroup", "podGroupName"
	}
	return "", ""
}

// labelSelector decodes a selector; nil if there is none.
func labelSelector(value any) *metav1.LabelSelector {
	object, isMap := value.(map[string]any)
	if !isMap {
		return nil
	}
	selector := &metav1.LabelSelector{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, selector); err != nil {
		return nil
	}
	return selector
}
