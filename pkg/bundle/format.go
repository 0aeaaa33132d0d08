package bundle

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

const (
	// APIVersion is the version of a bundle's format. Fields are only ever added
	// to it.
	APIVersion = "jobmanagedby.github.io/v1alpha1"
	// Kind is the kind of a bundle's table of contents.
	Kind = "Snapshot"
	// contents is the name of the file that holds it.
	contents = "snapshot.yaml"
	// everything stands for all resources of a group.
	everything = "*"
)

// Snapshot is a bundle's table of contents.
type Snapshot struct {
	metav1.TypeMeta `json:",inline"`
	// TakenAt is when the last object was read.
	TakenAt  metav1.Time `json:"takenAt"`
	Contexts []Context   `json:"contexts"`
	// Others are addresses that are none of Contexts': those of contexts that
	// reach the same cluster as one of them and go by its name here, and those of
	// contexts that were left out and that a MultiKueueCluster leads to.
	Others []Address `json:"others,omitempty"`
	// Partial tells that there were more contexts than these.
	Partial bool `json:"partial,omitempty"`
}

// Address is where a context's cluster is.
type Address struct {
	Name   string `json:"name"`
	Server string `json:"server"`
	CA     string `json:"ca,omitempty"`
}

// Context is what a bundle tells of one context beside its objects.
type Context struct {
	Name   string `json:"name"`
	Server string `json:"server,omitempty"`
	// CA is the kubecontext.Fingerprint of the certificate authority.
	CA         string `json:"ca,omitempty"`
	ClusterUID string `json:"clusterUID,omitempty"`
	// Version is what the API server calls itself, such as v1.36.3.
	Version string `json:"version,omitempty"`
	// Namespace is the context's own, "default" where it is not told.
	Namespace string `json:"namespace,omitempty"`
	// File holds the objects. Contexts of one cluster may share it.
	File string `json:"file,omitempty"`
	// Objects is how many File holds, so that it is noticed where some are
	// missing; where it is not told, any number is right.
	Objects *int `json:"objects,omitempty"`
	// Error and Code tell why there is no File. Where Code is not told, it is
	// Unreachable.
	Error string           `json:"error,omitempty"`
	Code  kubecontext.Code `json:"code,omitempty"`
	// ClockSkewSeconds is how far the cluster's clock was ahead of ours, where it
	// was noticeably so.
	ClockSkewSeconds float64 `json:"clockSkewSeconds,omitempty"`
	// Namespaces are those whose objects were read, none where all were.
	Namespaces []string `json:"namespaces,omitempty"`
	// Served are groups and versions that the server serves, such as batch/v1, so
	// that no objects can be told from no API. v1, batch/v1 and those of the
	// objects in File need not be told.
	Served []string `json:"served,omitempty"`
	// Kinds are the kinds that can be delegated and that the server serves, beside Jobs:
	// none, where nobody asked.
	Kinds []ServedKind `json:"kinds,omitempty"`
	// Recorded are resources that were read beside those that every bundle holds, so
	// that there being none can be told from nobody having looked.
	Recorded []string `json:"recorded,omitempty"`
	// Unread are the resources that could not be read.
	Unread []Unread `json:"unread,omitempty"`
}

// Unread is a resource that could not be read, and what the server said to that.
type Unread struct {
	// Resource is its plural and group, such as workloads.kueue.x-k8s.io; with *
	// for the plural it is the whole group, and *.* is which kinds there are.
	Resource string        `json:"resource"`
	Status   metav1.Status `json:"status"`
}

// Absent says that the server does not serve it, which is nothing wrong.
func (u *Unread) Absent() bool { return u.Status.Code == http.StatusNotFound }

// Failed returns the resources that could not be read although they are there.
func (c *Context) Failed() []Unread {
	var failed []Unread
	for _, u := range c.Unread {
		if !u.Absent() {
			failed = append(failed, u)
		}
	}
	return failed
}
