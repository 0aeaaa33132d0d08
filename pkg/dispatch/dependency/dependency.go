// Package dependency copies ConfigMaps and Secrets that a mirror's Pods need from the origin's
// cluster to the worker. Mirrors share the copies, which are deleted with the last of these
// mirrors. Package preflight decides what is needed and what may be copied.
package dependency

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// Kinds of objects that can be copied.
const (
	ConfigMap = "ConfigMap"
	Secret    = "Secret"
)

// Object is an object that a mirror's Pods need, and that is copied from the origin's cluster.
type Object struct {
	// Kind is "ConfigMap" or "Secret".
	Kind string
	// Namespace and Name are those on the origin's cluster. The copy has the mirror's namespace
	// and the same name.
	Namespace, Name string
}

// String returns the kind, and namespace/name on the origin's cluster.
func (d Object) String() string { return delegation.Named(d.Kind, d.Namespace, d.Name) }

// ContentOf returns the fields of a ConfigMap or Secret that its users see.
func ContentOf(o *unstructured.Unstructured) map[string]any {
	content := map[string]any{}
	for _, field := range []string{"data", "binaryData", "type"} {
		switch value := o.Object[field].(type) {
		case nil:
		case map[string]any:
			if len(value) > 0 {
				content[field] = value
			}
		default:
			content[field] = value
		}
	}
	return content
}

// HowToRemove returns the command that deletes a conflicting copy.
func HowToRemove(worker *fleet.Cluster, kind, namespace, name string) command.Prose {
	return command.Say("once no Job there needs it: %s", worker.Kubectl(namespace, "delete", strings.ToLower(kind), name))
}

// Resource returns the resource of ConfigMap or Secret.
func Resource(kind string) schema.GroupVersionResource {
	if kind == Secret {
		return corev1.SchemeGroupVersion.WithResource("secrets")
	}
	return corev1.SchemeGroupVersion.WithResource("configmaps")
}

// Options select the missing objects to copy to the worker.
type Options struct {
	// ConfigMaps is whether to copy the ConfigMaps that the Pods name.
	ConfigMaps bool
	// Secrets are the names of the Secrets to copy.
	Secrets []string
}

// Allows reports whether a missing object may be copied.
func (o Options) Allows(kind, name string) bool {
	if kind == Secret {
		return slices.Contains(o.Secrets, name)
	}
	return o.ConfigMaps
}
