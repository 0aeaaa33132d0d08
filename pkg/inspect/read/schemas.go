package read

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Schemas reads what a cluster publishes of the fields of its kinds, each group and version
// once. It is for one goroutine.
type Schemas struct {
	Discovery *fleet.Discovery

	read map[schema.GroupVersion]*delegation.Schemas
}

// noteFieldless notes which kinds are served without the field, of those of the table that
// a queue holds objects of which have no owner: only there it matters, but to whom all is
// told.
func noteFieldless(ctx context.Context, c *fleet.Cluster, f *inspect.Facts, all bool) {
	var schemas *Schemas
	for i := range f.Kinds {
		kind := &f.Kinds[i]
		isQueued := func(j *inspect.Job) bool {
			return j.GetObjectKind().GroupVersionKind() == kind.GroupVersionKind() && j.Queue() != "" && j.ManagedBy.IsBuiltIn() && j.Marks.MultiKueueOrigin == ""
		}
		isTold := all || !kind.IsJob() && slices.ContainsFunc(f.Jobs, isQueued)
		if kind.IsUnmanaged() || kind.Discovered || kind.WithoutField || !isTold {
			continue
		}
		if schemas == nil {
			discovery, err := c.Discovery()
			if err != nil {
				return
			}
			schemas = &Schemas{Discovery: discovery}
		}
		// What cannot be found out is taken to be as the table says.
		kind.WithoutField, _ = schemas.Lack(ctx, *kind)
	}
}

// Lack says whether a kind is served without the field that names its owner. Where no
// schema tells, what the table of kinds says is believed. The error is why a schema could
// not be read, told once.
func (s *Schemas) Lack(ctx context.Context, k delegation.Kind) (bool, error) {
	gv := k.Resource.GroupVersion()
	schemas, isRead := s.read[gv]
	var err error
	if !isRead {
		var document []byte
		if document, err = s.Discovery.Schemas(ctx, gv); err == nil && document != nil {
			schemas, err = delegation.ParseSchemas(document)
		}
		if s.read == nil {
			s.read = map[schema.GroupVersion]*delegation.Schemas{}
		}
		s.read[gv] = schemas
	}
	return schemas != nil && schemas.Lacks(k.GroupVersionKind(), k.ManagedBy), err
}
