package read

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/cache"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

const (
	// restful is the ratio of the pause after a reading to its duration, so that readings use at
	// most a fiftieth of a core. longestRest limits the pause, because on a slow connection a
	// reading takes long without work.
	restful     = 50
	longestRest = time.Second
)

// Watcher reports changes of a fleet's objects. After each change it reads all objects from the
// fleet's cache and reports the differences from what it reported before. It omits changes that the
// model does not keep, and reports only the result of several quick changes.
//
// So it survives whatever the cache survives: restarts of API servers, closed watches and expired
// resource versions. Changes in between are reported afterwards. Lost reports a cluster that does
// not answer, or a part that could not be read.
type Watcher struct {
	fleet *fleet.Fleet
	query Query
	clock clock.Clock
	// clusters are the clusters of the fleet, by context.
	clusters map[string]*watched

	mu sync.Mutex
	// first orders the initial reports by context.
	first *contextOrder[inspect.Change]
	// changes were reported and not taken yet.
	changes     []inspect.Change
	news, taken chan struct{}
}

// NewWatcher returns a Watcher for a fleet, which the Watcher must then have for itself.
func NewWatcher(f *fleet.Fleet, q Query, c clock.Clock) *Watcher {
	w := &Watcher{
		fleet: f, query: q, clock: c, clusters: map[string]*watched{},
		news: make(chan struct{}, 1), taken: make(chan struct{}, 1),
	}
	w.first = &contextOrder[inspect.Change]{order: f.Contexts(), waiting: map[string][]inspect.Change{}, done: sets.New[string](), visit: w.put}
	for _, name := range f.Contexts() {
		w.clusters[name] = &watched{tell: w.tell, context: name, reports: map[string]map[string]*report{}, lost: sets.New[string]()}
	}
	return w
}

// News receives a value if there are changes to take.
func (w *Watcher) News() <-chan struct{} { return w.news }

// Take returns the changes since the last call. The initial reports are in the order of the fleet.
// Jobs in the changes must not be modified.
func (w *Watcher) Take() []inspect.Change {
	w.mu.Lock()
	defer w.mu.Unlock()
	changes := w.changes
	w.changes = nil
	notify(w.taken)
	return changes
}

// Run watches until ctx ends.
func (w *Watcher) Run(ctx context.Context) {
	changed := w.fleet.Remember(ctx)
	for {
		start := w.clock.Now()
		w.read(ctx)
		w.wait(ctx, changed, w.clock.Since(start))
		if ctx.Err() != nil {
			return
		}
		w.fleet.Again(ctx)
	}
}

// read reads all clusters, and reports the changes.
func (w *Watcher) read(ctx context.Context) {
	query := w.query.Across(ctx, w.fleet)
	answers := fleet.Ask(ctx, w.fleet, func(ctx context.Context, c *fleet.Cluster) (struct{}, error) {
		return struct{}{}, w.clusters[c.Context].look(ctx, c, query)
	})
	w.endFirst()
	if ctx.Err() != nil {
		return
	}
	asked := sets.New[string]()
	for _, a := range answers {
		asked.Insert(a.Context)
		if a.Err != nil {
			w.clusters[a.Context].lose(a.Err)
		}
	}
	for name, cluster := range w.clusters {
		if !asked.Has(name) {
			cluster.joined()
		}
	}
}

// wait waits for a reason to read again: a change, or the time for objects that cannot be watched.
// It first waits until all changes were taken, so that a slow consumer gets fewer changes.
func (w *Watcher) wait(ctx context.Context, changed <-chan struct{}, took time.Duration) {
	due := w.clock.NewTimer(cache.Soon)
	defer due.Stop()
	for !w.isTaken() {
		select {
		case <-ctx.Done():
			return
		case <-w.taken:
		}
	}
	rest := w.clock.NewTimer(min(restful*took, longestRest))
	defer rest.Stop()
	select {
	case <-ctx.Done():
		return
	case <-rest.C():
	}
	select {
	case <-ctx.Done():
	case <-changed:
	case <-due.C():
	}
}

func (w *Watcher) isTaken() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.changes) == 0
}

// tell reports a change, initially in the order of contexts.
func (w *Watcher) tell(change inspect.Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.first == nil {
		w.put(change)
		return
	}
	w.first.add(change.Context, change)
	if change.Type == inspect.Synced {
		w.first.end(change.Context)
	}
}

// endFirst ends the initial order.
func (w *Watcher) endFirst() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.first != nil {
		w.first.end(slices.Collect(maps.Keys(w.clusters))...)
		w.first = nil
	}
}

// put must be called under the lock.
func (w *Watcher) put(change inspect.Change) {
	w.changes = append(w.changes, change)
	notify(w.news)
}

// notify sends to a channel with a buffer of one, unless it is full.
func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
