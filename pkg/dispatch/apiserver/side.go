// Package apiserver asks the API servers of a dispatch, that of the origin and that of the
// mirror, and writes to them: a Side is one of the two. What it asks is bounded in time,
// its errors say which cluster they are from, and what it changes or removes is named by
// its uid.
//
// What is written, and why, it does not know: it has no plan, and judges no status.
package apiserver

import (
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// Side is one of the two clusters of a dispatch, with what is needed to work on
// it.
type Side struct {
	// Context is the name of the context that reaches it.
	Context string
	// ClusterUID is its identity; "" where the user may not read that. Stamp is by what it
	// may be known again then.
	ClusterUID, Stamp string
	// Client is for everything of a known type, and Dynamic for Jobs: their
	// fields that this build does not know have to survive.
	Client  kubernetes.Interface
	Dynamic dynamic.Interface

	// OnAnswer, if it is set, is called after each request for a Job that was
	// answered, in whatever way.
	OnAnswer func()
}

// NewSide makes the clients of a cluster.
func NewSide(c *fleet.Cluster) (*Side, error) {
	client, err := c.Kubernetes()
	if err != nil {
		return nil, kubecontext.InContext(c.Context, "make a client", err)
	}
	objects, err := c.Dynamic()
	if err != nil {
		return nil, kubecontext.InContext(c.Context, "make a client", err)
	}
	return &Side{Context: c.Context, ClusterUID: c.UID, Stamp: c.Stamp, Client: client, Dynamic: objects}, nil
}

// Cluster is which one it is, as far as that is known.
func (s *Side) Cluster() delegation.Cluster {
	return delegation.Cluster{UID: s.ClusterUID, Stamp: s.Stamp}
}

// Kubectl starts a command for a person: on this cluster, and in a namespace, or
// in none if that is "".
func (s *Side) Kubectl(namespace string, words ...string) command.Command {
	return command.Kubectl(s.Context, namespace, words...)
}
