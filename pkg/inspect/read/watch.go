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
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

const (
	// restful is how many times as long as a reading took is waited before the next one, so
	// that reading takes no more than one part in fifty of a core, and longestRest is the most,
	// since on a slow line a reading takes its time without any work.
	restful     = 50
	longestRest = time.Second
)

// Watcher tells what happens to the objects of a fleet. It reads them again whenever
// something has changed, from what the fleet remembers, and tells how they differ from what
// it has told before: changes that leave everything the model keeps as it was are not told,
// and of what changes several times in a moment, what comes of it.
//
// So it survives what the fleet's memory does: restarts of API servers, closed watches and
// expired resource versions; what happened in between is told when they are back. Lost is
// told where a cluster does not answer, or where a part of it could not be read.
type Watcher struct {
	fleet *fleet.Fleet
	query Query
	clock clock.Clock
	// clusters are those of the fleet, by their contexts.
	clusters map[string]*watched

	mu sync.Mutex
	// first has contexts tell in their order what they begin with.
	first *turns[inspect.Change]
	// changes were told, and not taken so far.
	changes     []inspect.Change
	news, taken chan struct{}
}

// NewWatcher makes one. The fleet is its own from then on.
func NewWatcher(f *fleet.Fleet, q Query, c clock.Clock) *Watcher {
	w := &Watcher{
		fleet: f, query: q, clock: c, clusters: map[string]*watched{},
		news: make(chan struct{}, 1), taken: make(chan struct{}, 1),
	}
	w.first = &turns[inspect.Change]{order: f.Contexts(), waiting: map[string][]inspect.Change{}, done: sets.New[string](), visit: w.put}
	for _, name := range f.Contexts() {
		w.clusters[name] = &watched{tell: w.tell, context: name, told: map[string]map[string]*told{}, lost: sets.New[string]()}
	}
	return w
}

// News tells that there is something to take.
func (w *Watcher) News() <-chan struct{} { return w.news }

// Take returns what has happened since it was called last. What each context begins with
// comes in the order of the fleet. Nobody may change a Job that is told.
func (w *Watcher) Take() []inspect.Change {
	w.mu.Lock()
	defer w.mu.Unlock()
	changes := w.changes
	w.changes = nil
	notify(w.taken)
	return changes
}

// Run watches until ctx is over.
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

// read reads all clusters, and has told what is new.
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

// wait waits until there is a reason to read again: a change, or that what cannot be watched
// is due. Before, all that was told has to be taken: whoever is slow is told less.
func (w *Watcher) wait(ctx context.Context, changed <-chan struct{}, took time.Duration) {
	due := w.clock.NewTimer(fleet.Soon)
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

// tell tells what has happened, at first when its context's turn has come.
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

// endFirst has everything told at once from now on.
func (w *Watcher) endFirst() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.first != nil {
		w.first.end(slices.Collect(maps.Keys(w.clusters))...)
		w.first = nil
	}
}

// put is called under the lock.
func (w *Watcher) put(change inspect.Change) {
	w.changes = append(w.changes, change)
	notify(w.news)
}

// notify sends to a channel that has room for one, unless that is there already.
func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
