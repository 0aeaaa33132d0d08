// Package dependency copies what a mirror's pods need, ConfigMaps and Secrets, from the
// origin's cluster to the worker, shares the copies among mirrors, and has them removed
// with the last of these. It copies what it is told to: what is needed, and what of it may
// be copied, is found out by package preflight.
package dependency

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// Kinds of what may be copied.
const (
	ConfigMap = "ConfigMap"
	Secret    = "Secret"
)

// Object is an object that a mirror's pods need, and that is copied from the
// origin's cluster.
type Object struct {
	// Kind is "ConfigMap" or "Secret".
	Kind string
	// Namespace and Name are where it is on the origin's cluster; on the worker it
	// has the mirror's namespace and the same name.
	Namespace, Name string
}

// String is how people are told of it, as it is on the origin's cluster.
func (d Object) String() string { return d.Kind + " " + d.Namespace + "/" + d.Name }

// ContentOf is what of a ConfigMap or Secret its users see.
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

// HowToRemove tells people how to get rid of a copy that is in the way.
func HowToRemove(worker *fleet.Cluster, kind, namespace, name string) command.Prose {
	return command.Say("once no Job there needs it any more: %s", worker.Kubectl(namespace, "delete", strings.ToLower(kind), name))
}

// Resource is the resource of objects of one of the two kinds.
func Resource(kind string) schema.GroupVersionResource {
	if kind == Secret {
		return corev1.SchemeGroupVersion.WithResource("secrets")
	}
	return corev1.SchemeGroupVersion.WithResource("configmaps")
}

// Options say what else is copied to the worker, if it is missing
// there.
type Options struct {
	// ConfigMaps is whether those that the pods name are copied.
	ConfigMaps bool
	// Secrets are the names of those that may be copied.
	Secrets []string
}

// Allows says whether an object that is missing on the worker may be copied.
func (o Options) Allows(kind, name string) bool {
	if kind == Secret {
		return slices.Contains(o.Secrets, name)
	}
	return o.ConfigMaps
}
