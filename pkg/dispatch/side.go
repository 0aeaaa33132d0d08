package dispatch

import (
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// Side is one of the two clusters of a dispatch, with what is needed to work on
// it.
type Side struct {
	// Context is the name of the context that reaches it.
	Context string
	// ClusterUID is its identity; "" where the user may not read that.
	ClusterUID string
	// Client is for everything of a known type, and Dynamic for Jobs: their
	// fields that this build does not know have to survive.
	Client  kubernetes.Interface
	Dynamic dynamic.Interface

	// onAnswer, if it is set, is called after each request for a Job that was
	// answered, in whatever way.
	onAnswer func()
}

// NewSide makes the clients of a cluster.
func NewSide(c *fleet.Cluster) (*Side, error) {
	client, err := c.Kubernetes()
	if err != nil {
		return nil, fleet.InContext(c.Context, "make a client", err)
	}
	objects, err := c.Dynamic()
	if err != nil {
		return nil, fleet.InContext(c.Context, "make a client", err)
	}
	return &Side{Context: c.Context, ClusterUID: c.UID, Client: client, Dynamic: objects}, nil
}
