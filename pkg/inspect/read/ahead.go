package read

import (
	"context"
	"sync"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Ahead are lists of Jobs that are begun while something else is still read, and that
// nobody waits for before they are asked for. The zero value has none.
type Ahead struct {
	mu    sync.Mutex
	lists map[string]*begunList
	stops []context.CancelFunc
}

// begunList is what comes in of a cluster's Jobs. It may be looked at once done is closed.
type begunList struct {
	done      chan struct{}
	facts     *inspect.Facts
	unsettled unsettledJobs
	err       error
}

// Stop ends what was begun and is not done.
func (a *Ahead) Stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, stop := range a.stops {
		stop()
	}
}

// begin begins to list the Jobs of a cluster, as long as ctx lasts. What is watched is
// asked for once, and there is nothing to be gained.
func (a *Ahead) begin(ctx context.Context, c *fleet.Cluster, q Query) {
	if a == nil || c.IsWatched() {
		return
	}
	ctx, stop := context.WithCancel(ctx)
	list := &begunList{done: make(chan struct{}), facts: factsOf(c)}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lists == nil {
		a.lists = map[string]*begunList{}
	}
	a.lists[c.Context], a.stops = list, append(a.stops, stop)
	go func() {
		defer close(list.done)
		list.err = listInto(ctx, list.facts, c, q, list.unsettled.add)
	}()
}

// take is what listInto would read of a cluster, if that was begun.
func (a *Ahead) take(ctx context.Context, c *fleet.Cluster) (list *begunList, err error) {
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
