package read

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Schemas reads the published schemas of a cluster's kinds, each group and version once. It is not
// safe for concurrent use.
type Schemas struct {
	Discovery *fleet.Discovery

	read map[schema.GroupVersion]*delegation.Schemas
}

// noteFieldless marks kinds that the cluster serves without the managedBy field. Unless all is set,
// it checks only known kinds with queued objects without an owner, because only these need the
// field.
func noteFieldless(ctx context.Context, c *fleet.Cluster, f *inspect.Facts, all bool) {
	var schemas *Schemas
	for i := range f.Kinds {
		kind := &f.Kinds[i]
		isQueued := func(j *inspect.Job) bool {
			return j.GetObjectKind().GroupVersionKind() == kind.GroupVersionKind() && j.Queue() != "" && j.ManagedBy.IsBuiltIn() && j.Marks.MultiKueueOrigin == ""
		}
		isRelevant := all || !kind.IsJob() && slices.ContainsFunc(f.Jobs, isQueued)
		if kind.IsUnmanaged() || kind.Discovered || kind.WithoutField || !isRelevant {
			continue
		}
		if schemas == nil {
			discovery, err := c.Discovery()
			if err != nil {
				return
			}
			schemas = &Schemas{Discovery: discovery}
		}
		// If the schema is unknown, the table is taken to be right.
		kind.WithoutField, _ = schemas.Lack(ctx, *kind)
	}
}

// Lack says whether a kind is served without the field that names its owner. Without a schema it
// relies on the table of kinds. It returns the error from reading a schema once.
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
