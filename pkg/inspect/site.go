package inspect

import (
	"maps"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/podfit"
)

// Site is what a cluster has for Pods, apart from quota.
type Site struct {
	// Namespaces are the namespaces that were requested by name, nil for one that does not exist.
	Namespaces map[string]*Namespace
	// Nodes are all nodes; nil if not requested. NodesErr is why they could not be listed.
	Nodes    []*podfit.Node
	NodesErr error
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
