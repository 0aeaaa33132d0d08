package preflight

import (
	"context"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// maxConcurrent is the maximum number of concurrent requests of one Check.
const maxConcurrent = 12

// memo caches the answers of a cluster, so that each question is asked once, even by concurrent
// Checks. The zero memo is empty.
type memo struct {
	flights singleflight.Group
	answers sync.Map
}

type answer struct {
	value any
	err   error
}

// Probe sends requests to one cluster, and caches the answers.
type Probe struct {
	*fleet.Cluster
	memo *memo
}

// NewProbe returns a Probe with an empty cache.
func NewProbe(c *fleet.Cluster) Probe { return Probe{c, &memo{}} }

// recall returns the cached answer to a question, or asks. It caches errors, too, except when ctx
// is done: the next Check has another context.
func recall[T any](ctx context.Context, p Probe, question string, ask func(context.Context) (T, error)) (T, error) {
	got, _, _ := p.memo.flights.Do(question, func() (any, error) {
		if known, ok := p.memo.answers.Load(question); ok {
			return known, nil
		}
		bounded, cancel := context.WithTimeout(ctx, fleet.RequestTimeout)
		defer cancel()
		value, err := ask(bounded)
		a := answer{value, err}
		if ctx.Err() == nil {
			p.memo.answers.Store(question, a)
		}
		return a, nil
	})
	a, _ := got.(answer)
	value, ok := a.value.(T)
	if !ok && a.err == nil {
		return value, errors.New("two questions were taken for one: " + question)
	}
	return value, a.err
}

// checkFunc is one check.
type checkFunc func(context.Context) []Problem

// runConcurrently runs several checks concurrently, and returns their Problems in the order of the
// checks.
func runConcurrently(ctx context.Context, looks ...checkFunc) []Problem {
	found := make([][]Problem, len(looks))
	var group errgroup.Group
	group.SetLimit(maxConcurrent)
	for i, l := range looks {
		group.Go(func() error {
			found[i] = l(ctx)
			return nil
		})
	}
	_ = group.Wait()
	return slices.Concat(found...)
}
