package bundle

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// unknownKinds stands for whatever tells which kinds a cluster serves.
func unknownKinds() schema.GroupResource {
	return schema.GroupResource{Group: everything, Resource: everything}
}

// kindNames are the names of all kinds that may be recorded, as read.Query takes
// them.
func kindNames() []string {
	names := []string{read.AllKinds}
	for _, k := range delegation.Kinds() {
		if k.IsUnmanaged() {
			names = append(names, k.Name)
		}
	}
	return names
}

// isWanted says whether the objects of a kind are to be recorded.
func (o *Options) isWanted(k delegation.Kind) bool {
	return len(o.Kinds) == 0 || slices.ContainsFunc(o.Kinds, func(name string) bool {
		return name == read.AllKinds && !k.IsUnmanaged() || k.IsNamed(name)
	})
}

// findKinds finds out which kinds the cluster serves beside Jobs, and returns those
// whose objects are to be recorded. Of the others it is recorded that they are there.
func (r *reader) findKinds(ctx context.Context) []delegation.Kind {
	kinds, err := r.options.query.Served(ctx, r.cluster)
	r.noteGroups(kinds, err)
	discovery, err := r.cluster.Discovery()
	if err != nil {
		return nil
	}
	schemas := &read.Schemas{Discovery: discovery}
	var wanted []delegation.Kind
	for _, k := range kinds {
		told := servedKind(k)
		lacks := k.WithoutField
		if !k.IsUnmanaged() && !k.Discovered && !lacks {
			// What cannot be found out is taken to be as the table says.
			lacks, _ = schemas.Lack(ctx, k)
		}
		if lacks {
			told.ManagedBy = ""
		}
		switch {
		case k.IsJob() && told.ManagedBy != "":
			// Every cluster serves them like this.
			continue
		case k.Resource == pods().GroupVersionResource:
			wanted = append(wanted, k)
			continue
		case !k.IsJob() && r.options.isWanted(k):
			wanted = append(wanted, k)
		case !k.IsJob():
			told.Omitted = true
		}
		r.context.Kinds = append(r.context.Kinds, told)
	}
	return wanted
}

// noteGroups records of which groups it is not known what they serve.
func (r *reader) noteGroups(found []delegation.Kind, err error) {
	var partial *read.GroupsError
	if !errors.As(err, &partial) {
		unknown := unknownKinds()
		r.note(resource{GroupVersionResource: unknown.WithVersion("")}, err)
		return
	}
	for gv, err := range partial.Failed {
		if slices.ContainsFunc(found, func(k delegation.Kind) bool { return k.Resource.Group == gv.Group }) {
			// What was found of it counts for more.
			continue
		}
		if gv.Version != "" {
			r.context.Served = append(r.context.Served, gv.String())
		}
		r.note(resource{GroupVersionResource: schema.GroupVersionResource{Group: gv.Group, Resource: everything}}, err)
	}
}
