package fleet

import (
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

// Kubernetes makes a client for all of the built-in API that talks protobuf.
func (c *Cluster) Kubernetes() (kubernetes.Interface, error) {
	return kubernetes.NewForConfigAndClient(c.protobuf(), c.http)
}

// Dynamic makes a client for objects of any kind, whose unknown fields survive.
func (c *Cluster) Dynamic() (dynamic.Interface, error) {
	return dynamic.NewForConfigAndClient(dynamic.ConfigFor(c.config), c.http)
}
