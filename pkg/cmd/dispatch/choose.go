package dispatch

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/writing"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/dependency"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/preflight"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// candidate is a Job that may be dispatched.
type candidate struct {
	request
	// worker is the worker of the Job, nil before one is chosen. isBound is set if the worker
	// already has the mirror.
	worker  *worker
	isBound bool
	// binding is the result of the search for an earlier dispatch.
	binding binding
	// verdicts are the results of preflight on the checked workers, in their order.
	verdicts []*verdict
}

// verdict is the result of preflight for a Job on a worker.
type verdict struct {
	worker       *worker
	problems     []preflight.Problem
	dependencies []dependency.Object
	// err is set if the cluster does not answer.
	err error
}

// refuses reports whether the Job must not be created on the worker.
func (v *verdict) refuses() bool {
	return v.err != nil || slices.ContainsFunc(v.problems, func(p preflight.Problem) bool { return p.Blocking })
}

// verdictOf returns a worker's verdict, nil for a worker that was not checked.
func (c *candidate) verdictOf(w *worker) *verdict {
	i := slices.IndexFunc(c.verdicts, func(v *verdict) bool { return v.worker == w })
	if i < 0 {
		return nil
	}
	return c.verdicts[i]
}

// refused reports whether no checked worker takes the Job.
func (c *candidate) refused() bool { return len(c.verdicts) > 0 && c.worker == nil }

// isBlockedByOrigin reports whether no other worker can help, because a blocking problem is on the
// origin's cluster.
func (c *candidate) isBlockedByOrigin(origin string) bool {
	return slices.ContainsFunc(c.verdicts, func(v *verdict) bool {
		return slices.ContainsFunc(v.problems, func(p preflight.Problem) bool { return p.Blocking && p.Context == origin })
	})
}

// problems returns the problems of the Job on its worker or, if no worker takes it, on all checked
// workers.
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

// passedOver returns the blocking problems of the workers that were passed over.
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

// allProblems returns the problems of a verdict. A cluster that does not answer is a problem, too.
func (v *verdict) allProblems() []preflight.Problem {
	if v.err == nil {
		return slices.Clone(v.problems)
	}
	return []preflight.Problem{{Context: v.worker.context, Blocking: true, Object: preflight.Object{Label: "API server"}, Message: kubecontext.InContext(v.worker.context, "", v.err).Message()}}
}

// appendNew appends the problems that the list lacks, so that a problem of the origin is reported
// once.
func appendNew(all, more []preflight.Problem) []preflight.Problem {
	for _, p := range more {
		if !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

// choose checks all candidates, and assigns each to the first worker that passes the checks or,
// with --spread, to the one of these with the fewest Jobs. It returns an error for unused Secrets
// if isWholeSelection is set: candidates are then all Jobs that the user selected.
func (o *dispatchOptions) choose(ctx context.Context, workers []*worker, candidates []*candidate, isWholeSelection bool) error {
	o.checkBound(ctx, candidates)
	if o.flags.spread || o.flags.dryRun != writing.DryRunNone {
		o.checkUnassigned(ctx, workers, candidates)
		o.assign(workers, candidates)
	} else {
		for _, w := range workers {
			o.checkUnassigned(ctx, []*worker{w}, candidates)
			o.assign([]*worker{w}, candidates)
		}
	}
	if !isWholeSelection || len(candidates) == 0 {
		return nil
	}
	return unusedSecrets(workers, candidates)
}

// checkBound checks the candidates that already have a mirror, on the worker of the mirror.
func (o *dispatchOptions) checkBound(ctx context.Context, candidates []*candidate) {
	var group errgroup.Group
	group.SetLimit(checkedAtOnce)
	for _, c := range candidates {
		if c.isBound {
			c.worker.jobs++
			c.verdicts = []*verdict{{worker: c.worker}}
			group.Go(func() error { return c.verdicts[0].check(ctx, c.Request, o.CommandReach(o.flags.GlobalFlags)) })
		}
	}
	_ = group.Wait() // Each has its own error.
	for _, c := range candidates {
		if c.isBound && c.verdicts[0].refuses() {
			c.worker = nil
		}
	}
}

// checkUnassigned checks the candidates without a worker on some workers.
func (o *dispatchOptions) checkUnassigned(ctx context.Context, workers []*worker, candidates []*candidate) {
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
				group.Go(func() error { return v.check(ctx, c.Request, o.CommandReach(o.flags.GlobalFlags)) })
			}
		}
	}
	_ = group.Wait() // Each has its own error.
}

// check runs preflight. The commands in its remedies get the flags of this command.
func (v *verdict) check(ctx context.Context, r preflight.Request, reach command.Reach) error {
	v.problems, v.dependencies, v.err = v.worker.check.Check(ctx, r)
	for i := range v.problems {
		v.problems[i].Remedy = v.problems[i].Remedy.Reached(reach)
	}
	return nil
}

// assign assigns candidates without a worker to workers that passed their checks.
func (o *dispatchOptions) assign(workers []*worker, candidates []*candidate) {
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

// unusedSecrets returns an error for Secrets of --with-secret that no Pod needs. It returns nil if
// a Job was not checked, because that Job may need them.
func unusedSecrets(workers []*worker, candidates []*candidate) error {
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
