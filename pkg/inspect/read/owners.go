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

// Listing lists Jobs by owner, once or repeatedly, and keeps only what the list shows.
type Listing struct {
	Query  Query
	Filter inspect.Filter
	// CountOnly only counts Jobs. Memory use then does not grow with the number of Jobs.
	CountOnly bool
	// IsRepeated keeps Jobs listed while they cannot be read, and offers Early.
	IsRepeated bool

	// last is the last reading.
	last []*inspect.Tally
	mu   sync.Mutex
	// early are the Jobs of the first reading that have arrived, in the order of contexts.
	early []*inspect.Job
}

// Read lists the Jobs of a fleet. others are the Jobs that the filter rejects, which may be mirrors
// of the listed ones; none if it only counts. The caller must not modify the Jobs, except their
// Mirrors.
func (l *Listing) Read(ctx context.Context, f *fleet.Fleet) (list *inspect.OwnerList, others []*inspect.Job) {
	q, distinct, arrive := l.Query.across(ctx, f), f.Distinct(), l.arrivals(f)
	var tallies []*inspect.Tally
	for _, a := range fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) (*inspect.Tally, error) {
		kinds, unserved := q.Served(ctx, c)
		tally := &inspect.Tally{CountOnly: l.CountOnly, Distinct: distinct, Kinds: kinds}
		err := listKinds(ctx, c, q, kinds, unserved, func(j inspect.Job) {
			if l.Filter.Matches(&j) {
				arrive.add(c.Context, tally.Add(j))
			} else {
				tally.Hide(j)
			}
		}, nil)
		arrive.end(c.Context)
		if partial := (*ListError)(nil); errors.As(err, &partial) {
			tally.Partial(partial.gaps())
			err = nil
		}
		return tally, err
	}) {
		tally := a.Value
		if tally == nil {
			tally = &inspect.Tally{}
		}
		tally.Context, tally.Err = a.Context, a.Err
		tallies = append(tallies, tally)
	}
	// Requests that were given up may continue; their Jobs are dropped.
	arrive.stop()
	if l.IsRepeated {
		inspect.KeepUnread(tallies, l.last)
		l.mu.Lock()
		l.last, l.early = tallies, nil
		l.mu.Unlock()
	}
	return inspect.MergeTallies(tallies), inspect.HiddenJobs(tallies)
}

// arrivals orders the Jobs of the first reading of a watch by context; nil otherwise.
func (l *Listing) arrivals(f *fleet.Fleet) *contextOrder[*inspect.Job] {
	if !l.IsRepeated || l.last != nil {
		return nil
	}
	return &contextOrder[*inspect.Job]{
		order: f.Contexts(), waiting: map[string][]*inspect.Job{}, done: sets.New[string](),
		visit: func(j *inspect.Job) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.early = append(l.early, j)
		},
	}
}

// Early lists the Jobs that have arrived during the first reading: those of the first context, and
// those of another once all contexts before it have answered. So the order of rows does not depend
// on which context answers first. Mirrors are unknown.
func (l *Listing) Early() *inspect.OwnerList {
	l.mu.Lock()
	defer l.mu.Unlock()
	var tallies []*inspect.Tally
	for _, j := range l.early {
		if n := len(tallies); n == 0 || tallies[n-1].Context != j.Context {
			tallies = append(tallies, &inspect.Tally{Context: j.Context})
		}
		tallies[len(tallies)-1].Add(*j)
	}
	return inspect.MergeTallies(tallies)
}

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
