package dispatch

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/apiserver"
)

// removeCopy says how to get rid of a copy that is in the way.
func removeCopy(worker *apiserver.Side, kind, namespace, name string) string {
	return "once no Job there needs it any more: " + worker.Kubectl(namespace, "delete %s %s", strings.ToLower(kind), name)
}

// dataResource is the resource of ConfigMaps or Secrets.
func dataResource(kind string) schema.GroupVersionResource {
	if kind == kindSecret {
		return corev1.SchemeGroupVersion.WithResource("secrets")
	}
	return corev1.SchemeGroupVersion.WithResource("configmaps")
}

// Kinds of what may be copied.
const (
	kindConfigMap = "ConfigMap"
	kindSecret    = "Secret"
)
