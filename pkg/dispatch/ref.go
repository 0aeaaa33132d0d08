package dispatch

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// Ref names a Job of one cluster, or an object of another kind.
type Ref struct {
	// Context is where the object is.
	Context string `json:"context"`
	// ClusterUID identifies the cluster.
	ClusterUID string `json:"clusterUID"`
	// APIVersion is that of the object.
	APIVersion string `json:"apiVersion"`
	// Kind is that of the object.
	Kind string `json:"kind"`
	// Namespace is that of the object.
	Namespace string `json:"namespace"`
	// Name is that of the object.
	Name string `json:"name"`
	// UID is that of the object.
	UID string `json:"uid"`
	// NamespaceUID is that of the namespace, "" if it is unknown.
	NamespaceUID string `json:"-"`
}

// refOf names an object of a cluster.
func refOf(c *fleet.Cluster, o *unstructured.Unstructured) Ref {
	return refTo(c, o.GroupVersionKind(), o.GetNamespace(), o.GetName(), string(o.GetUID()))
}

// RefOf names an object of a context of which nothing else is known.
func RefOf(contextName string, o *unstructured.Unstructured) Ref {
	apiVersion, kind := o.GroupVersionKind().ToAPIVersionAndKind()
	return Ref{Context: contextName, APIVersion: apiVersion, Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), UID: string(o.GetUID())}
}

// refTo names an object of a cluster that may not be there.
func refTo(c *fleet.Cluster, gvk schema.GroupVersionKind, namespace, name, uid string) Ref {
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	identity := c.Identity()
	return Ref{
		Context: c.Context, ClusterUID: identity.UID, NamespaceUID: identity.Namespaces[namespace],
		APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name, UID: uid,
	}
}

// String is how people are told of it: namespace/name.
func (r Ref) String() string { return r.Namespace + "/" + r.Name }

// WithKind is the same with the kind in front: "job namespace/name".
func (r Ref) WithKind() string { return strings.ToLower(r.Kind) + " " + r.String() }

// place is what an annotation says of the object that has that uid.
func (r Ref) place(uid string) delegation.Place {
	return delegation.Place{ClusterUID: r.ClusterUID, NamespaceUID: r.NamespaceUID, Namespace: r.Namespace, Name: r.Name, UID: uid}
}
