package read

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Kinds returns the kinds that can be delegated on each cluster of a fleet, with counts of their
// objects by owner. It ignores the kinds of the query.
func Kinds(ctx context.Context, f *fleet.Fleet, q Query) *inspect.KindList {
	list := inspect.NewKindList()
	type read struct {
		kinds []inspect.ServedKind
		gaps  []inspect.Gap
	}
	for _, a := range fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) (read, error) {
		kinds, gaps := readKinds(ctx, c, q)
		return read{kinds, gaps}, context.Cause(ctx)
	}) {
		list.Items = append(list.Items, a.Value.kinds...)
		if a.Err != nil {
			// The gaps then have the same reason.
			list.Errors = append(list.Errors, inspect.NewContextError(a.Err))
			continue
		}
		for _, gap := range a.Value.gaps {
			list.Errors = append(list.Errors, inspect.NewPartError(a.Context, gap.Part, gap.Err))
		}
	}
	list.Unchecked = inspect.UncheckedOf(list.Errors)
	return list
}

// readKinds reads one cluster. gaps are the parts that could not be read.
func readKinds(ctx context.Context, c *fleet.Cluster, q Query) (all []inspect.ServedKind, gaps []inspect.Gap) {
	s := newKindSearch(ctx, c, []string{AllKinds})
	s.verify = true
	s.run(ctx)
	if err := s.err(); err != nil {
		gaps = append(gaps, inspect.Gap{Part: inspect.PartKinds, Err: err})
	}
	for _, kind := range s.kinds {
		all = append(all, servedKind(c, kind))
	}
	failed := make([]error, len(all))
	var group errgroup.Group
	group.SetLimit(kindsAtOnce)
	for i, kind := range s.kinds {
		group.Go(func() error {
			all[i].Owners, failed[i] = countOwners(ctx, c, q, kind)
			return nil
		})
	}
	// The errors are in failed.
	_ = group.Wait()
	if s.discoveryErr != nil {
		// Without discovery it was only likely that a kind is served.
		all, failed = slices.DeleteFunc(all, func(k inspect.ServedKind) bool { return k.Owners == nil }), nil
	}
	for _, kind := range s.without {
		k := servedKind(c, kind)
		k.ManagedBy, k.Allowed = "", nil
		all = append(all, k)
	}
	slices.SortStableFunc(all, func(a, b inspect.ServedKind) int {
		// Known kinds come first, in the order of the table.
		return cmp.Or(cmp.Compare(rankOf(a), rankOf(b)), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Resource, b.Resource))
	})
	for i, err := range failed {
		if err != nil {
			gaps = append(gaps, inspect.Gap{Part: inspect.PartOf(s.kinds[i]), Err: err})
		}
	}
	return all, gaps
}

// rankOf returns the position of a kind in the table; unknown kinds come last.
func rankOf(k inspect.ServedKind) int {
	rows := delegation.Kinds()
	i := slices.IndexFunc(rows, func(row delegation.Kind) bool {
		return row.Kind == k.Kind && row.Resource.GroupResource().String() == k.Resource
	})
	if i < 0 {
		return len(rows)
	}
	return i
}

func servedKind(c *fleet.Cluster, k delegation.Kind) inspect.ServedKind {
	return inspect.ServedKind{
		Context: c.Context, ClusterUID: c.UID(),
		Kind: k.Kind, APIVersion: k.Resource.GroupVersion().String(), Resource: k.Resource.GroupResource().String(),
		ManagedBy: strings.Join(k.ManagedBy, "."), Template: k.Template,
		Allowed: slices.Clone(k.Allowed), Reserved: k.Reserved, Defaulted: k.Defaulted, Change: k.Change,
		Discovered: k.Discovered, Since: k.Since,
	}
}

// countOwners counts the objects of a kind by owner. It reads them in chunks and keeps none.
func countOwners(ctx context.Context, c *fleet.Cluster, q Query, kind delegation.Kind) ([]inspect.KindOwner, error) {
	counts := map[delegation.Owner]int{}
	if err := eachOfKind(ctx, c, q, &kind, func(_ string, r *read) { counts[r.job.ManagedBy]++ }); err != nil {
		return nil, &kindError{Kind: kind, Err: &kubecontext.Error{Doing: q.doing("list", &kind, c), Err: err}}
	}
	return inspect.KindOwners(counts), nil
}
