package read

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// Schemas reads what a cluster publishes of the fields of its kinds, each group and version
// once. It is for one goroutine.
type Schemas struct {
	Discovery *fleet.Discovery

	read map[schema.GroupVersion]*delegation.Schemas
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
