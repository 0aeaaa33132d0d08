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

// candidate is a Job on its way to be dispatched.
type candidate struct {
	request
	// at is the worker that runs it, or is to; nil as long as there is none. isBound is
	// whether it has its mirror there already.
	at      *worker
	isBound bool
	// home is what was found of an earlier dispatch.
	home home
	// verdicts are those of the workers that were asked, in their order.
	verdicts []*verdict
}

// verdict is what preflight says of a Job on a worker.
type verdict struct {
	worker       *worker
	problems     []preflight.Problem
	dependencies []dependency.Object
	// err is for clusters that cannot be asked at all.
	err error
}

// refuses says whether nothing may be created there.
func (v *verdict) refuses() bool {
	return v.err != nil || slices.ContainsFunc(v.problems, func(p preflight.Problem) bool { return p.Blocking })
}

// of is a worker's verdict, nil if it was not asked.
func (c *candidate) of(w *worker) *verdict {
	i := slices.IndexFunc(c.verdicts, func(v *verdict) bool { return v.worker == w })
	if i < 0 {
		return nil
	}
	return c.verdicts[i]
}

// refused says whether nothing may be created for it.
func (c *candidate) refused() bool { return len(c.verdicts) > 0 && c.at == nil }

// isHopeless says whether no other worker can help: what is wrong is wrong with the origin.
func (c *candidate) isHopeless(origin string) bool {
	return slices.ContainsFunc(c.verdicts, func(v *verdict) bool {
		return slices.ContainsFunc(v.problems, func(p preflight.Problem) bool { return p.Blocking && p.Context == origin })
	})
}

// problems are those that are the Job's own: of the worker that it is given to, or of all
// that were asked, if none takes it.
func (c *candidate) problems() []preflight.Problem {
	if c.at != nil {
		if v := c.of(c.at); v != nil {
			return v.problems
		}
		return nil
	}
	var all []preflight.Problem
	for _, v := range c.verdicts {
		all = appendNew(all, v.told())
	}
	return all
}

// passedOver is why those were that came before the worker that it is given to.
func (c *candidate) passedOver() []preflight.Problem {
	if c.at == nil {
		return nil
	}
	var all []preflight.Problem
	for _, v := range c.verdicts {
		if v.worker != c.at && v.refuses() {
			all = appendNew(all, slices.DeleteFunc(v.told(), func(p preflight.Problem) bool { return !p.Blocking }))
		}
	}
	return all
}

// told are the problems of a verdict; that a cluster cannot be asked is one, too.
func (v *verdict) told() []preflight.Problem {
	if v.err == nil {
		return slices.Clone(v.problems)
	}
	return []preflight.Problem{{Context: v.worker.context, Blocking: true, Object: "API server", Message: kubecontext.InContext(v.worker.context, "", v.err).Message()}}
}

// appendNew leaves out what is there: what is wrong with the origin is told once.
func appendNew(all, more []preflight.Problem) []preflight.Problem {
	for _, p := range more {
		if !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

// choose looks at all candidates, and gives each to the first worker that has nothing
// against it, or, where they are to be spread, to the one of these that has fewest. The
// error is for what concerns none of them, if these are all that the user means.
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

// askBound has preflight look at what has its mirror already, where that is.
func (o *dispatchOptions) askBound(ctx context.Context, candidates []*candidate) {
	var group errgroup.Group
	group.SetLimit(checkedAtOnce)
	for _, c := range candidates {
		if c.isBound {
			c.at.jobs++
			c.verdicts = []*verdict{{worker: c.at}}
			group.Go(func() error { return c.verdicts[0].look(ctx, c.Request, o.flags.ReachFlags()) })
		}
	}
	_ = group.Wait() // Each has its own error.
	for _, c := range candidates {
		if c.isBound && c.verdicts[0].refuses() {
			c.at = nil
		}
	}
}

// ask has preflight look at what is open, on some workers.
func (o *dispatchOptions) ask(ctx context.Context, workers []*worker, candidates []*candidate) {
	var group errgroup.Group
	group.SetLimit(checkedAtOnce)
	for _, c := range candidates {
		if c.at != nil || c.isBound || c.isHopeless(o.origin.Name) {
			continue
		}
		for _, w := range workers {
			v := &verdict{worker: w, err: w.err}
			c.verdicts = append(c.verdicts, v)
			if v.err == nil {
				group.Go(func() error { return v.look(ctx, c.Request, o.flags.ReachFlags()) })
			}
		}
	}
	_ = group.Wait() // Each has its own error.
}

// look asks preflight. The commands of what it advises are to reach what was asked.
func (v *verdict) look(ctx context.Context, r preflight.Request, reach []string) error {
	v.problems, v.dependencies, v.err = v.worker.check.Check(ctx, r)
	for i := range v.problems {
		v.problems[i].Remedy = v.problems[i].Remedy.Reached(reach)
	}
	return nil
}

// give gives Jobs to workers that take them.
func (o *dispatchOptions) give(workers []*worker, candidates []*candidate) {
	for _, c := range candidates {
		if c.at != nil || c.isBound {
			continue
		}
		for _, w := range workers {
			v := c.of(w)
			if v == nil || v.refuses() {
				continue
			}
			if c.at == nil || o.flags.spread && w.jobs < c.at.jobs {
				c.at = w
			}
		}
		if c.at != nil {
			c.at.jobs++
		}
	}
}

// unused says which Secrets no pod needs of those that --with-secret names. It is known only
// where preflight has looked at all Jobs: one that has ended may have needed them.
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
