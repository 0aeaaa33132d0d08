package inspect

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
)

// Site is what a cluster has for Pods, apart from quota.
type Site struct {
	// Namespaces are the namespaces that were requested by name, nil for one that does not exist.
	Namespaces map[string]*Namespace
	// Nodes are all nodes; nil if not requested. NodesErr is why they could not be listed.
	Nodes    []*Node
	NodesErr error
}

// Node holds the fields of a node that decide whether it could run a Pod.
type Node struct {
	Name        string
	Labels      map[string]string
	Taints      []corev1.Taint
	Allocatable corev1.ResourceList
}

// clone returns a copy that can be extended; nil for nil.
func (s *Site) clone() *Site {
	if s == nil {
		return nil
	}
	c := *s
	c.Namespaces = maps.Clone(s.Namespaces)
	return &c
}
