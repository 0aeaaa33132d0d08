package dispatch

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/writing"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/dependency"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/preflight"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// candidate is a Job that may be dispatched.
type candidate struct {
	request
	// worker is the worker that runs it or will run it; nil while there is none. isBound is set
	// if its mirror is already there.
	worker  *worker
	isBound bool
	// home is the result of the search for an earlier dispatch.
	home home
	// verdicts are those of the workers that were asked, in their order.
	verdicts []*verdict
}

// verdict is the result of preflight for a Job on a worker.
type verdict struct {
	worker       *worker
	problems     []preflight.Problem
	dependencies []dependency.Object
	// err is set if the cluster cannot be asked at all.
	err error
}

// refuses reports whether nothing may be created there.
func (v *verdict) refuses() bool {
	return v.err != nil || slices.ContainsFunc(v.problems, func(p preflight.Problem) bool { return p.Blocking })
}

// verdictOf returns a worker's verdict, nil if it was not asked.
func (c *candidate) verdictOf(w *worker) *verdict {
	i := slices.IndexFunc(c.verdicts, func(v *verdict) bool { return v.worker == w })
	if i < 0 {
		return nil
	}
	return c.verdicts[i]
}

// refused reports whether nothing may be created for it.
func (c *candidate) refused() bool { return len(c.verdicts) > 0 && c.worker == nil }

// isBlockedByOrigin reports whether no other worker can help, because a blocking problem is on the
// origin's cluster.
func (c *candidate) isBlockedByOrigin(origin string) bool {
	return slices.ContainsFunc(c.verdicts, func(v *verdict) bool {
		return slices.ContainsFunc(v.problems, func(p preflight.Problem) bool { return p.Blocking && p.Context == origin })
	})
}

// problems returns the Job's own problems: those of its worker or, if no worker takes it, of all
// that were asked.
func (c *candidate) problems() []preflight.Problem {
	if c.worker != nil {
		if v := c.verdictOf(c.worker); v != nil {
			return v.problems
		}
		return nil
	}
	var all []preflight.Problem
	for _, v := range c.verdicts {
		all = appendNew(all, v.allProblems())
	}
	return all
}

// passedOver returns why the workers before its own were passed over.
func (c *candidate) passedOver() []preflight.Problem {
	if c.worker == nil {
		return nil
	}
	var all []preflight.Problem
	for _, v := range c.verdicts {
		if v.worker != c.worker && v.refuses() {
			all = appendNew(all, slices.DeleteFunc(v.allProblems(), func(p preflight.Problem) bool { return !p.Blocking }))
		}
	}
	return all
}

// allProblems returns the problems of a verdict; a cluster that cannot be asked is a problem,
// too.
func (v *verdict) allProblems() []preflight.Problem {
	if v.err == nil {
		return slices.Clone(v.problems)
	}
	return []preflight.Problem{{Context: v.worker.context, Blocking: true, Object: "API server", Message: kubecontext.InContext(v.worker.context, "", v.err).Message()}}
}

// appendNew appends the problems that are not there yet: a problem of the origin is reported
// once.
func appendNew(all, more []preflight.Problem) []preflight.Problem {
	for _, p := range more {
		if !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

// choose checks all candidates, and gives each to the first worker that takes it or, with
// --spread, to the one with the fewest Jobs among those that take it. The error is about what
// concerns none of the candidates; areAll is set if the user selected no other Jobs.
func (o *dispatchOptions) choose(ctx context.Context, workers []*worker, candidates []*candidate, areAll bool) error {
	o.askBound(ctx, candidates)
	if o.flags.spread || o.flags.dryRun != writing.DryRunNone {
		o.ask(ctx, workers, candidates)
		o.give(workers, candidates)
	} else {
		for _, w := range workers {
			o.ask(ctx, []*worker{w}, candidates)
			o.give([]*worker{w}, candidates)
		}
	}
	if !areAll || len(candidates) == 0 {
		return nil
	}
	return unused(workers, candidates)
}

// askBound checks candidates that have a mirror on the mirror's worker.
func (o *dispatchOptions) askBound(ctx context.Context, candidates []*candidate) {
	var group errgroup.Group
	group.SetLimit(checkedAtOnce)
	for _, c := range candidates {
		if c.isBound {
			c.worker.jobs++
			c.verdicts = []*verdict{{worker: c.worker}}
			group.Go(func() error { return c.verdicts[0].check(ctx, c.Request, o.flags.ReachFlags()) })
		}
	}
	_ = group.Wait() // Each has its own error.
	for _, c := range candidates {
		if c.isBound && c.verdicts[0].refuses() {
			c.worker = nil
		}
	}
}

// ask checks the candidates without a worker on some workers.
func (o *dispatchOptions) ask(ctx context.Context, workers []*worker, candidates []*candidate) {
	var group errgroup.Group
	group.SetLimit(checkedAtOnce)
	for _, c := range candidates {
		if c.worker != nil || c.isBound || c.isBlockedByOrigin(o.origin.Name) {
			continue
		}
		for _, w := range workers {
			v := &verdict{worker: w, err: w.err}
			c.verdicts = append(c.verdicts, v)
			if v.err == nil {
				group.Go(func() error { return v.check(ctx, c.Request, o.flags.ReachFlags()) })
			}
		}
	}
	_ = group.Wait() // Each has its own error.
}

// check runs preflight. The commands in its remedies get the flags of this command.
func (v *verdict) check(ctx context.Context, r preflight.Request, reach []string) error {
	v.problems, v.dependencies, v.err = v.worker.check.Check(ctx, r)
	for i := range v.problems {
		v.problems[i].Remedy = v.problems[i].Remedy.Reached(reach)
	}
	return nil
}

// give gives Jobs to workers that take them.
func (o *dispatchOptions) give(workers []*worker, candidates []*candidate) {
	for _, c := range candidates {
		if c.worker != nil || c.isBound {
			continue
		}
		for _, w := range workers {
			v := c.verdictOf(w)
			if v == nil || v.refuses() {
				continue
			}
			if c.worker == nil || o.flags.spread && w.jobs < c.worker.jobs {
				c.worker = w
			}
		}
		if c.worker != nil {
			c.worker.jobs++
		}
	}
}

// unused returns an error for Secrets of --with-secret that no pod needs. That is known only if
// preflight has checked all Jobs: a Job that has ended may have needed them.
func unused(workers []*worker, candidates []*candidate) error {
	for _, c := range candidates {
		if !slices.ContainsFunc(c.verdicts, func(v *verdict) bool { return v.err == nil }) {
			return nil
		}
	}
	if names := workers[0].check.UnusedSecrets(); len(names) > 0 {
		return fmt.Errorf("no Pod of these Jobs uses these Secrets of --with-secret: %s", strings.Join(names, ", "))
	}
	return nil
}
