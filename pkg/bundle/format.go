package bundle

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

const (
	// APIVersion is the version of the format. Fields are only ever added to it.
	APIVersion = "jobmanagedby.github.io/v1alpha1"
	// Kind is the kind of the table of contents.
	Kind = "Snapshot"
	// contents is the name of its file.
	contents = "snapshot.yaml"
	// everything means all resources of a group.
	everything = "*"
)

// Snapshot is the table of contents of a snapshot.
type Snapshot struct {
	metav1.TypeMeta `json:",inline"`
	// TakenAt is when the last object was read.
	TakenAt  metav1.Time `json:"takenAt"`
	Contexts []Context   `json:"contexts"`
	// Others are addresses outside of Contexts: those of contexts that reach a recorded cluster
	// and have another name here, and those of omitted contexts that a MultiKueueCluster points
	// to.
	Others []Address `json:"others,omitempty"`
	// Partial is whether there were more contexts.
	Partial bool `json:"partial,omitempty"`
}

// Address is the address of a context's cluster.
type Address struct {
	Name   string `json:"name"`
	Server string `json:"server"`
	CA     string `json:"ca,omitempty"`
}

// Context has the facts about one context besides its objects.
type Context struct {
	Name   string `json:"name"`
	Server string `json:"server,omitempty"`
	// CA is the kubecontext.Fingerprint of the certificate authority.
	CA         string `json:"ca,omitempty"`
	ClusterUID string `json:"clusterUID,omitempty"`
	// Version is the version of the API server, such as v1.36.3.
	Version string `json:"version,omitempty"`
	// Namespace is the context's namespace; "" means "default".
	Namespace string `json:"namespace,omitempty"`
	// File has the objects. Contexts of one cluster may share it.
	File string `json:"file,omitempty"`
	// Objects is the number of objects in File, to detect missing ones; nil skips the check.
	Objects *int `json:"objects,omitempty"`
	// Error and Code are the reason for a missing File. An empty Code means Unreachable.
	Error string           `json:"error,omitempty"`
	Code  kubecontext.Code `json:"code,omitempty"`
	// ClockSkewSeconds is how far the cluster's clock was ahead of ours, if that was noticeable.
	ClockSkewSeconds float64 `json:"clockSkewSeconds,omitempty"`
	// Namespaces are the namespaces that were read; none means all.
	Namespaces []string `json:"namespaces,omitempty"`
	// Served are groups and versions that the server serves, such as batch/v1, so that an API
	// without objects differs from a missing API. v1, batch/v1 and those of the objects in File
	// may be omitted.
	Served []string `json:"served,omitempty"`
	// Kinds are the delegable kinds that the server serves besides Jobs; none if they were not
	// requested.
	Kinds []ServedKind `json:"kinds,omitempty"`
	// Recorded are resources that were read besides those that every snapshot has, so that no
	// objects differ from not read.
	Recorded []string `json:"recorded,omitempty"`
	// Unread are the resources that could not be read.
	Unread []Unread `json:"unread,omitempty"`
}

// Unread is a resource that could not be read, with the server's answer.
type Unread struct {
	// Resource is the plural and group, such as workloads.kueue.x-k8s.io. "*" as the plural means
	// the whole group, and "*.*" the list of kinds.
	Resource string        `json:"resource"`
	Status   metav1.Status `json:"status"`
}

// isUnserved reports whether the server does not serve the resource, which is not an error.
func (u *Unread) isUnserved() bool { return u.Status.Code == http.StatusNotFound }

// Failed returns the resources that exist and could not be read.
func (c *Context) Failed() []Unread {
	var failed []Unread
	for _, u := range c.Unread {
		if !u.isUnserved() {
			failed = append(failed, u)
		}
	}
	return failed
}
