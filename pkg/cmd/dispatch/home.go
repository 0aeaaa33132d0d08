package dispatch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/writing"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// home is where a Job has its mirror already.
type home struct {
	// at is nil where it has none.
	at *worker
	// away is what it says of its mirror, as each of the workers sees it, where it is on none
	// of them.
	away []*dispatch.Mirror
	// err is why it cannot be dispatched to any of the workers, or why that is not known.
	err error
}

// homes finds out which Jobs have mirrors already, and where. Each stays there, whichever
// worker comes before.
func (o *dispatchOptions) homes(ctx context.Context, origin *fleet.Cluster, workers []*worker, requests []request) []home {
	found := make([]home, len(requests))
	var group errgroup.Group
	group.SetLimit(checkedAtOnce)
	for i, r := range requests {
		group.Go(func() error {
			found[i] = o.homeOf(ctx, origin, workers, r)
			return nil
		})
	}
	_ = group.Wait() // Each has its own error.
	return found
}

func (o *dispatchOptions) homeOf(ctx context.Context, origin *fleet.Cluster, workers []*worker, r request) home {
	var away []*dispatch.Mirror
	var perhaps *worker
	var unseen error
	for _, w := range reached(workers) {
		named, err := dispatch.MirrorOf(ctx, w.cluster, r.kind, r.Origin, o.flags.namespaceTo)
		switch {
		case err != nil:
			unseen = err
			continue
		case named == nil:
			return o.unnoted(ctx, origin, workers, r)
		case named.Here && named.Worker == delegation.CertainlySame:
			return home{at: w}
		case named.Here && perhaps == nil:
			perhaps = w
		}
		away = append(away, named)
		if named.Worker == delegation.CertainlySame {
			return home{err: fmt.Errorf("%s is dispatched to %s/%s on %s already; --namespace-to %s goes on with that",
				object.KindAndName(r.Origin), named.Namespace, named.Name, w.context, named.Namespace)}
		}
	}
	switch {
	case perhaps != nil:
		return home{at: perhaps}
	case unseen != nil:
		return home{err: unseen}
	}
	return home{away: away}
}

// unnoted looks for the mirror of a Job that names none, where there are several workers:
// whoever dispatched it may have been killed in between, and a second mirror would run
// beside the first.
func (o *dispatchOptions) unnoted(ctx context.Context, origin *fleet.Cluster, workers []*worker, r request) home {
	if r.Origin.GetUID() == "" || !o.isList() {
		return home{}
	}
	var there []*worker
	unseen := unreached(workers)
	for _, w := range reached(workers) {
		is, err := dispatch.Unnoted(ctx, w.cluster, r.kind, r.Origin, o.flags.namespaceTo)
		switch {
		case err != nil:
			unseen = append(unseen, w.context)
		case is:
			there = append(there, w)
		}
	}
	switch {
	case len(there) == 1:
		return home{at: there[0]}
	case len(there) > 1:
		return home{err: fmt.Errorf("%s has mirrors on %s and on %s, and names none of them; cancel ends them all", object.KindAndName(r.Origin), there[0].context, there[1].context)}
	case len(unseen) == 0:
		return home{}
	}
	begun, err := dispatch.WasBegun(ctx, origin, r.kind, r.Origin)
	switch {
	case err != nil:
		return home{err: fmt.Errorf("%s: it could not be seen whether it was dispatched before: %w", object.KindAndName(r.Origin), err)}
	case begun:
		return home{err: fmt.Errorf("%s: its dispatch was begun before, and it cannot be seen whether it has a mirror on %s; try again when that can be looked at, or leave it out of --to if it is known to have none",
			object.KindAndName(r.Origin), strings.Join(unseen, ", "))}
	}
	return home{}
}

// elsewhere tells where a Job is dispatched to already, which is none of the workers that
// can be asked. named is what it says of its mirror, as each of them sees it.
func (o *dispatchOptions) elsewhere(ctx context.Context, workers []*worker, r request, named []*dispatch.Mirror) error {
	origin := object.KindAndName(r.Origin)
	isAsked := func(name string) bool {
		return name == o.origin.Name || slices.ContainsFunc(workers, func(w *worker) bool { return w.context == name })
	}
	where := ""
	if all, err := fleet.Load(o.flags.Kube, fleet.Selection{All: true}); err == nil {
		// What does not answer is not the one that is looked for.
		clusters, _, _ := writing.Connect(ctx, o.Environment, o.flags.GlobalFlags, all)
		for _, name := range slices.Sorted(maps.Keys(clusters)) {
			if !isAsked(name) && where == "" && named[0].IsOn(ctx, clusters[name], r.kind) {
				where = name
			}
		}
	}
	i := slices.IndexFunc(named, func(m *dispatch.Mirror) bool { return m.Worker == delegation.PerhapsSame })
	switch {
	case where == "" && i >= 0:
		return fmt.Errorf("%s %s", origin, named[i].Unknown(reached(workers)[i].context))
	case where == "":
		where = "the cluster " + named[0].ClusterUID
		if names := unreached(workers); len(names) > 0 {
			where += " (which may be that of " + strings.Join(names, ", ") + ", where nobody answers)"
		}
	}
	return fmt.Errorf("%s is dispatched to %s/%s on %s already; go on with it there, or end that first with cancel", origin, named[0].Namespace, named[0].Name, where)
}
