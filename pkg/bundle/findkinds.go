package bundle

import (
	"context"
	"errors"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// unknownKinds stands for whatever tells which kinds a cluster serves.
func unknownKinds() schema.GroupResource {
	return schema.GroupResource{Group: everything, Resource: everything}
}

// kindNames are the names of all kinds that may be recorded, as read.Served takes
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
	kinds, err := read.Served(ctx, r.cluster, kindNames())
	r.noteGroups(kinds, err)
	discovery, err := r.cluster.Discovery()
	if err != nil {
		return nil
	}
	schemas := &read.Schemas{Discovery: discovery}
	var wanted []delegation.Kind
	for _, k := range kinds {
		told := servedKind(k)
		if !k.IsUnmanaged() && !k.Discovered {
			// What cannot be found out is taken to be as the table says.
			if lacks, _ := schemas.Lack(ctx, k); lacks {
				told.ManagedBy = ""
			}
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
	r.addOutdated(ctx, discovery, kinds)
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

// addOutdated records the kinds of the table that were not found although they are
// served, in versions that do not have the field.
func (r *reader) addOutdated(ctx context.Context, discovery *fleet.Discovery, found []delegation.Kind) {
	api, err := discovery.API(ctx)
	if err != nil {
		return
	}
	known := func(gvk schema.GroupVersionKind) bool {
		return slices.ContainsFunc(found, func(k delegation.Kind) bool { return k.GroupVersionKind().GroupKind() == gvk.GroupKind() }) ||
			slices.ContainsFunc(r.context.Kinds, func(k ServedKind) bool { return k.gvk().GroupKind() == gvk.GroupKind() })
	}
	for _, row := range delegation.Kinds() {
		if row.IsUnmanaged() {
			continue
		}
		for _, list := range api.Lists {
			gv, err := schema.ParseGroupVersion(list.GroupVersion)
			isServed := func(r metav1.APIResource) bool { return r.Name == row.Resource.Resource }
			if err != nil || gv.Group != row.Resource.Group || known(row.GroupVersionKind()) || !slices.ContainsFunc(list.APIResources, isServed) {
				continue
			}
			row.Resource.Version = gv.Version
			told := servedKind(row)
			told.ManagedBy = ""
			r.context.Kinds = append(r.context.Kinds, told)
		}
	}
}
