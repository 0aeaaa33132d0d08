package read

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Each calls visit for each Job of a fleet, one call at a time. Jobs of the first context are
// visited as they arrive, those of another once all contexts before it have answered, so the order
// is fixed. Unlike Owners, it does not detect that two contexts show the same Jobs. It returns what
// could not be read.
func Each(ctx context.Context, f *fleet.Fleet, q Query, visit func(inspect.Job)) []inspect.ContextError {
	visits := &contextOrder[inspect.Job]{order: f.Contexts(), waiting: map[string][]inspect.Job{}, done: sets.New[string](), visit: visit}
	answers := fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) (*ListError, error) {
		err := List(ctx, c, q, func(j inspect.Job) { visits.add(c.Context, j) })
		visits.end(c.Context)
		if partial := (*ListError)(nil); errors.As(err, &partial) {
			return partial, nil
		}
		return nil, err
	})
	// Requests that were given up may continue; their Jobs are dropped.
	visits.end(f.Contexts()...)
	var errs []inspect.ContextError
	for _, a := range answers {
		if a.Err != nil {
			errs = append(errs, inspect.NewContextError(a.Err))
		}
		if a.Value == nil {
			continue
		}
		for _, err := range a.Value.All() {
			errs = append(errs, inspect.NewContextError(kubecontext.InContext(a.Context, "", err)))
		}
	}
	return errs
}

// contextOrder orders the visits by context. A nil one visits nothing.
type contextOrder[T any] struct {
	mu sync.Mutex
	// order are the contexts that are not done, the current one first.
	order   []string
	done    sets.Set[string]
	waiting map[string][]T
	visit   func(T)
}

func (t *contextOrder[T]) add(at string, v T) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case len(t.order) == 0:
	case t.order[0] == at:
		t.visit(v)
	default:
		t.waiting[at] = append(t.waiting[at], v)
	}
}

// end marks contexts as done, and visits what the next ones have waiting.
func (t *contextOrder[T]) end(contexts ...string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done.Insert(contexts...)
	for len(t.order) > 0 && t.done.Has(t.order[0]) {
		if t.order = t.order[1:]; len(t.order) == 0 {
			return
		}
		for _, v := range t.waiting[t.order[0]] {
			t.visit(v)
		}
		delete(t.waiting, t.order[0])
	}
}

// stop ends all visits.
func (t *contextOrder[T]) stop() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.order, t.waiting = nil, nil
}
