package read

import (
	"context"
	"sync"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Ahead prefetches Job lists while other objects are still being read. The zero value has no lists.
type Ahead struct {
	mu    sync.Mutex
	lists map[string]*prefetchedList
	stops []context.CancelFunc
}

// prefetchedList is the prefetched list of a cluster's Jobs. Its results are valid once done is closed.
type prefetchedList struct {
	done      chan struct{}
	facts     *inspect.Facts
	unsettled unsettledJobs
	err       error
}

// Stop cancels unfinished lists.
func (a *Ahead) Stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, stop := range a.stops {
		stop()
	}
}

// begin starts to list the Jobs of a cluster until ctx ends. It does nothing if the cluster is
// watched, because a watch already has them.
func (a *Ahead) begin(ctx context.Context, c *fleet.Cluster, q Query) {
	if a == nil || c.IsWatched() {
		return
	}
	ctx, stop := context.WithCancel(ctx)
	list := &prefetchedList{done: make(chan struct{}), facts: factsOf(c)}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lists == nil {
		a.lists = map[string]*prefetchedList{}
	}
	a.lists[c.Context], a.stops = list, append(a.stops, stop)
	go func() {
		defer close(list.done)
		list.err = listInto(ctx, list.facts, c, q, list.unsettled.add)
	}()
}

// take waits for the prefetched list of a cluster and returns it; nil if there is none.
func (a *Ahead) take(ctx context.Context, c *fleet.Cluster) (list *prefetchedList, err error) {
	if a == nil {
		return nil, nil
	}
	a.mu.Lock()
	list = a.lists[c.Context]
	delete(a.lists, c.Context)
	a.mu.Unlock()
	if list == nil {
		return nil, nil
	}
	select {
	case <-list.done:
		return list, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
