package dispatch

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// Ref identifies a Job, or an object of another kind, in one cluster.
type Ref struct {
	// Context is the kubeconfig context of the object's cluster.
	Context string `json:"context"`
	// ClusterUID identifies the cluster.
	ClusterUID string `json:"clusterUID"`
	// APIVersion is the object's API version.
	APIVersion string `json:"apiVersion"`
	// Kind is the object's kind.
	Kind string `json:"kind"`
	// Namespace is the object's namespace.
	Namespace string `json:"namespace"`
	// Name is the object's name.
	Name string `json:"name"`
	// UID is the object's UID.
	UID string `json:"uid"`
	// NamespaceUID is the UID of the namespace, or "" if it is unknown.
	NamespaceUID string `json:"-"`
}

// refOf returns the reference to an object of a cluster.
func refOf(c *fleet.Cluster, o *unstructured.Unstructured) Ref {
	return refTo(c, o.GroupVersionKind(), o.GetNamespace(), o.GetName(), string(o.GetUID()))
}

// RefOf returns the reference to an object of a context about which nothing else is known.
func RefOf(contextName string, o *unstructured.Unstructured) Ref {
	apiVersion, kind := o.GroupVersionKind().ToAPIVersionAndKind()
	return Ref{Context: contextName, APIVersion: apiVersion, Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), UID: string(o.GetUID())}
}

// refTo returns the reference to an object that may not exist.
func refTo(c *fleet.Cluster, gvk schema.GroupVersionKind, namespace, name, uid string) Ref {
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	identity := c.Identity()
	return Ref{
		Context: c.Context, ClusterUID: identity.UID, NamespaceUID: identity.Namespaces[namespace],
		APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name, UID: uid,
	}
}

// String returns namespace/name.
func (r Ref) String() string { return r.Namespace + "/" + r.Name }

// WithKind returns the kind and the name: "job namespace/name".
func (r Ref) WithKind() string { return delegation.Mentioned(r.Kind, r.Namespace, r.Name) }

// place returns the place of the object with a UID, as annotations record it.
func (r Ref) place(uid string) delegation.Place {
	return delegation.Place{ClusterUID: r.ClusterUID, NamespaceUID: r.NamespaceUID, Namespace: r.Namespace, Name: r.Name, UID: uid}
}
