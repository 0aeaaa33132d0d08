package read

import (
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// objectsOf is where the objects of a query come from that are of any kind, as JSON.
func objectsOf(c *fleet.Cluster, q Query, kind *delegation.Kind) fleet.Source[read] {
	slim, names := newSlimmer(kind), interner{}
	source := fleet.Objects(c, kind.Resource, q.namespace(c), q.selected(kind), func(o *slimObject) (string, read) {
		r, err := slim.read(o)
		r.err = err
		names.intern(&r.job)
		return fleet.ObjectKey(o.Metadata.Namespace, o.Metadata.Name), r
	})
	// What is made of objects depends on where their owner stands.
	source.Key += "\n" + strings.Join(kind.ManagedBy, ".")
	return source
}
