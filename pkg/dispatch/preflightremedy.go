package dispatch

import (
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/command"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kubectl starts a command for a person: on this cluster, and in a namespace, or
// in none if that is "".
func (s *Side) kubectl(namespace, format string, args ...any) string {
	return command.Kubectl(s.Context, namespace, format, args...)
}

// removeCopy says how to get rid of a copy that is in the way.
func removeCopy(worker *Side, kind, namespace, name string) string {
	return "once no Job there needs it any more: " + worker.kubectl(namespace, "delete %s %s", strings.ToLower(kind), name)
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
