package read

import (
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/cache"
)

// objectsOf returns the source of a query's objects of any kind, as JSON.
func objectsOf(c *fleet.Cluster, q Query, kind *delegation.Kind) cache.Source[read] {
	slim, names, labels := newSlimmer(kind), interner{}, newLabelSets(q.Labels)
	source := fleet.Objects(c, kind.Resource, q.namespace(c), q.selected(kind), func(o *slimObject) (string, read) {
		r, err := slim.read(o)
		r.err = err
		names.intern(&r.job)
		r.job.Labels = labels.of(o.Metadata.Labels)
		return cache.ObjectKey(o.Metadata.Namespace, o.Metadata.Name), r
	})
	// The result depends on the field with the owner, so it is part of the key.
	source.Key += "\n" + strings.Join(append([]string{strings.Join(kind.ManagedBy, ".")}, q.Labels...), "\n")
	return source
}
