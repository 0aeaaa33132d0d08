package inspect

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
)

// Site is what a cluster has for pods, whatever its queues give them.
type Site struct {
	// Namespaces are those that were asked for by name, nil for one that is not there.
	Namespaces map[string]*Namespace
	// Nodes are all nodes; nil where nobody asked. NodesErr is why they could not be listed.
	Nodes    []*Node
	NodesErr error
}

// Node is what tells whether a node could take a pod.
type Node struct {
	Name        string
	Labels      map[string]string
	Taints      []corev1.Taint
	Allocatable corev1.ResourceList
}

// clone is a copy to which can be added; nil of nil.
func (s *Site) clone() *Site {
	if s == nil {
		return nil
	}
	c := *s
	c.Namespaces = maps.Clone(s.Namespaces)
	return &c
}
