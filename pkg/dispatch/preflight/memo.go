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

// atOnce is how many questions one Check has open at a time.
const atOnce = 12

// memo remembers what a cluster has answered, so that each question is asked once,
// however many Checks have it at the same time. The zero memo remembers nothing
// yet.
type memo struct {
	flights singleflight.Group
	answers sync.Map
}

type answer struct {
	value any
	err   error
}

// Probe asks one cluster, and remembers what it has answered.
type Probe struct {
	*fleet.Cluster
	memo *memo
}

// NewProbe makes one that has not asked anything yet.
func NewProbe(c *fleet.Cluster) Probe { return Probe{c, &memo{}} }

// recall returns what was answered to the question before, and otherwise asks.
// Errors are answers too, but not that ctx was over: the next Check has another.
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

// look is one thing that is looked at.
type look func(context.Context) []Problem

// together looks at several things at once, and returns what is found in their
// order.
func together(ctx context.Context, looks ...look) []Problem {
	found := make([][]Problem, len(looks))
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i, l := range looks {
		group.Go(func() error {
			found[i] = l(ctx)
			return nil
		})
	}
	_ = group.Wait()
	return slices.Concat(found...)
}
