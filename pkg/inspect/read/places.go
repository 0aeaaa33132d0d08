package read

import (
	"context"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// places returns the places that marks point to, with the UIDs of the objects there.
func places(clusters []*inspect.Facts) []delegation.Place {
	var found []delegation.Place
	seen := sets.New[delegation.Place]()
	add := func(p delegation.Place) {
		if p.Name != "" && !seen.Has(p) {
			seen.Insert(p)
			found = append(found, p)
		}
	}
	for _, f := range clusters {
		for _, j := range f.Jobs {
			if j.Marks == nil {
				continue
			}
			origin := j.Marks.Origin
			origin.UID = j.Marks.OriginUID
			add(origin)
			add(j.Marks.Mirror)
		}
		if f.Past != nil {
			for _, p := range f.Past.Places {
				add(p)
			}
		}
	}
	return found
}

// learnPlaces reads the UIDs of the namespaces that identify the clusters of places, where the
// UIDs of the clusters do not: the writer of a mark or this user may not read kube-system.
func learnPlaces(ctx context.Context, f *fleet.Fleet, clusters []*inspect.Facts) {
	unnamed, all := sets.New[string](), sets.New[string]()
	for _, p := range places(clusters) {
		if p.NamespaceUID == "" {
			continue
		}
		all.Insert(p.Namespace)
		if p.ClusterUID == "" {
			unnamed.Insert(p.Namespace)
		}
	}
	missing, known := map[string][]string{}, map[string]*inspect.Facts{}
	for _, facts := range clusters {
		if facts.Err != nil {
			continue
		}
		wanted := unnamed
		if facts.ClusterUID == "" {
			wanted = all
		}
		for _, namespace := range sets.List(wanted) {
			if facts.Namespaces[namespace].UID == "" {
				missing[facts.Context] = append(missing[facts.Context], namespace)
			}
		}
		known[facts.Context] = facts
	}
	if len(missing) == 0 {
		return
	}
	for _, a := range fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) (map[string]string, error) {
		for _, namespace := range missing[c.Context] {
			// A namespace that cannot be read identifies nothing. A snapshot may lack one of several.
			_ = c.LearnNamespaces(ctx, namespace)
		}
		return c.Identity().Namespaces, nil
	}) {
		if facts := known[a.Context]; facts != nil && len(a.Value) > 0 {
			facts.NamespaceUIDs = a.Value
		}
	}
}
