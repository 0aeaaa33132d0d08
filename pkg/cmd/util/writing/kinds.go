package writing

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// KindFinder finds the kinds that the origins' cluster serves.
type KindFinder struct {
	cluster *fleet.Cluster
	// found are the kinds that were looked up, by the given names.
	found map[string][]delegation.Kind
}

// FindKinds returns a KindFinder for a cluster.
func FindKinds(c *fleet.Cluster) *KindFinder {
	return &KindFinder{cluster: c, found: map[string][]delegation.Kind{}}
}

// served returns the kinds with a name, in the served version.
func (f *KindFinder) served(ctx context.Context, name string) ([]delegation.Kind, error) {
	if name == "" || delegation.Job().IsNamed(name) {
		return []delegation.Kind{delegation.Job()}, nil
	}
	if kinds, known := f.found[name]; known {
		return kinds, nil
	}
	kinds, err := read.Served(ctx, f.cluster, []string{name})
	if err != nil && name == read.AllKinds {
		// An object of an unknown kind would be left out silently.
		return nil, fmt.Errorf("%w. Name the kinds with --kinds", kubecontext.InContext(f.cluster.Context, "find all kinds", err))
	}
	if err != nil && len(kinds) == 0 {
		return nil, kubecontext.InContext(f.cluster.Context, fmt.Sprintf("find the kind %q", name), err)
	}
	f.found[name] = kinds
	return kinds, nil
}

// Named returns the one kind with a name.
func (f *KindFinder) Named(ctx context.Context, name string) (delegation.Kind, error) {
	kinds, err := f.served(ctx, name)
	switch {
	case err != nil:
		return delegation.Kind{}, err
	case len(kinds) == 0:
		return delegation.Kind{}, fmt.Errorf("context %q: no kind %q with a managedBy field. The kinds command lists all; set the namespace with -n", f.cluster.Context, name)
	}
	var names []string
	for _, k := range kinds {
		if !slices.Contains(names, k.String()) {
			names = append(names, k.String())
		}
	}
	if len(names) > 1 {
		return delegation.Kind{}, fmt.Errorf("context %q: %q is ambiguous. Name one of %s", f.cluster.Context, name, strings.Join(names, ", "))
	}
	return kinds[0], nil
}

// Of returns the kind of an object from a file. Known kinds are not looked up, because preflight
// checks whether they are served.
func (f *KindFinder) Of(ctx context.Context, gvk schema.GroupVersionKind) (delegation.Kind, error) {
	k, known := delegation.KindOf(gvk)
	if !known {
		kinds, err := f.served(ctx, strings.ToLower(gvk.GroupKind().String()))
		if err != nil {
			return k, err
		}
		i := slices.IndexFunc(kinds, func(k delegation.Kind) bool { return k.GroupVersionKind().GroupKind() == gvk.GroupKind() })
		if i < 0 {
			return k, fmt.Errorf("context %[3]q does not serve kind %[1]q (%[2]s) with a managedBy field. The kinds command lists what it serves; apply other kinds with kubectl",
				gvk.Kind, gvk.GroupVersion(), f.cluster.Context)
		}
		if k = kinds[i]; k.Resource.Version != gvk.Version {
			return k, fmt.Errorf("context %[3]q serves managedBy of %[1]s in version %[4]s, not in %[2]s. Change apiVersion", gvk.Kind, gvk.GroupVersion(), f.cluster.Context, k.Resource.Version)
		}
	}
	k.Resource.Version = gvk.Version
	return k, nil
}

// Chosen returns the kinds of --kinds. With "all", kinds that cannot be dispatched are left out.
func (f *KindFinder) Chosen(ctx context.Context, names []string, owner delegation.Owner) ([]delegation.Kind, error) {
	var chosen []delegation.Kind
	add := func(k delegation.Kind) {
		if !slices.ContainsFunc(chosen, func(c delegation.Kind) bool { return c.Resource == k.Resource }) {
			chosen = append(chosen, k)
		}
	}
	for _, name := range names {
		if name != read.AllKinds {
			k, err := f.Named(ctx, name)
			if err != nil {
				return nil, err
			}
			add(k)
			continue
		}
		kinds, err := f.served(ctx, name)
		if err != nil {
			return nil, err
		}
		for _, k := range kinds {
			if !k.Template && k.Allows(owner) {
				add(k)
			}
		}
	}
	return chosen, nil
}

// Noun returns the noun for objects of some kinds: "Job", or "JobSet or RayJob".
func Noun(kinds []delegation.Kind) string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.Kind
	}
	return strings.Join(names, " or ")
}
