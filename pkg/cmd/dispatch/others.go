package dispatch

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/writing"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// otherContexts are the contexts of the kubeconfig that are neither the origin's nor workers.
type otherContexts struct {
	clusters []*worker
	// unreached are contexts that do not answer.
	unreached []string
}

// otherContextsOf returns a function that returns the other contexts. Its first call connects to
// them.
func (o *dispatchOptions) otherContextsOf(ctx context.Context, workers []*worker) func() *otherContexts {
	return sync.OnceValue(func() *otherContexts {
		found := &otherContexts{}
		all, err := fleet.Load(o.flags.Kube, fleet.Selection{All: true})
		if err != nil {
			return found // With --server and similar flags there is only one context.
		}
		all = slices.DeleteFunc(all, func(c fleet.Context) bool {
			isWorker := func(w *worker) bool { return w.context == c.Name }
			return c.Name == o.origin.Name || slices.ContainsFunc(workers, isWorker)
		})
		o.flags.ConfigureClients(o.Environment, all)
		clusters, failed, opened, err := writing.Reach(ctx, o.Environment, o.flags.GlobalFlags, all)
		if err != nil {
			return found
		}
		for _, name := range slices.Sorted(maps.Keys(clusters)) {
			found.clusters = append(found.clusters, &worker{context: name, cluster: clusters[name], routes: opened.Routes(name)})
		}
		found.unreached = slices.Sorted(maps.Keys(failed))
		return found
	})
}
