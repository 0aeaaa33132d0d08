package dispatch

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/writing"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/apiserver"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/dependency"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/preflight"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

const (
	// checkedAtOnce is how many Jobs preflight takes in hand together.
	checkedAtOnce = 8
	// few is how many Jobs are few, and frugal how much memory may be taken beside
	// what is in use where there are more, in percent.
	few, frugal = 50, 40
)

// candidate is a Job on its way to be dispatched.
type candidate struct {
	request
	problems     []preflight.Problem
	dependencies []dependency.Object
	err          error
}

// refused says whether nothing may be created for it.
func (c *candidate) refused() bool {
	return c.err != nil || slices.ContainsFunc(c.problems, func(p preflight.Problem) bool { return p.Blocking })
}

func (o *dispatchOptions) Run(ctx context.Context) error {
	origin, worker, err := o.connect(ctx)
	if err != nil {
		return err
	}
	o.loop.Plan.Context, o.loop.Plan.OriginCluster = origin.Context, origin.ClusterUID
	wanted, err := o.find(ctx, origin)
	if interrupted := util.Interrupted(ctx); interrupted != nil {
		return interrupted
	}
	if err != nil {
		return err
	}
	if err := o.refuseMultiKueue(origin, wanted.requests); err != nil {
		return err
	}
	if len(wanted.requests) > few {
		// Jobs by the hundreds stay in memory as long as this runs; garbage need not.
		debug.SetGCPercent(frugal)
	}
	candidates, ended := o.plan(ctx, worker, wanted)
	candidates = apart(candidates, wanted)
	if o.flags.dryRun != writing.DryRunClient {
		err := o.preflight(ctx, origin, worker, candidates)
		if interrupted := util.Interrupted(ctx); interrupted != nil {
			return interrupted
		}
		if err != nil {
			return err
		}
	}
	if o.flags.dryRun != writing.DryRunNone {
		return util.Joined(append(wanted.errs, o.printPlans(candidates)))
	}
	return o.dispatch(ctx, origin, worker, candidates, ended, wanted.errs)
}

// plan makes the mirrors. What cannot be dispatched becomes an error of wanted.
// Jobs that were dispatched to the same place before, and have ended, are returned
// apart: the same command goes on with the others, and tells their end.
func (o *dispatchOptions) plan(ctx context.Context, worker *apiserver.Side, wanted *wantedJobs) (candidates []*candidate, ended []request) {
	for _, r := range wanted.requests {
		named, unseen := dispatch.MirrorOf(ctx, worker, r.kind, r.Origin, o.flags.namespaceTo)
		if named != nil && named.Here && object.HasFinished(r.kind, r.Origin) && o.flags.dryRun == writing.DryRunNone {
			ended = append(ended, r)
			continue
		}
		how := o.loop.Plan
		how.Kind = r.kind
		made, err := plan.New(r.Origin, how)
		if err == nil {
			err = unseen
		}
		if err == nil && named != nil && !named.Here {
			err = o.elsewhere(ctx, r, named)
		}
		if err != nil {
			wanted.errs = append(wanted.errs, fmt.Errorf("context %s: %w", o.origin.Name, err))
			continue
		}
		r.Plan = made
		candidates = append(candidates, &candidate{request: r})
	}
	return candidates, ended
}

// apart leaves out Jobs whose mirror would be that of another one: with
// --namespace-to, Jobs of several namespaces may have the same name there.
func apart(candidates []*candidate, wanted *wantedJobs) (kept []*candidate) {
	mirrors := map[string]*candidate{}
	for _, c := range candidates {
		mirror := c.Plan.Mirror
		key := c.key(mirror.GetNamespace(), mirror.GetName())
		if other, ok := mirrors[key]; ok {
			wanted.errs = append(wanted.errs, fmt.Errorf("%ss %s/%s and %s/%s would have the same mirror, %s/%s; dispatch them to namespaces of their own",
				strings.ToLower(c.kind.Kind), other.Origin.GetNamespace(), other.Origin.GetName(), c.Origin.GetNamespace(), c.Origin.GetName(), mirror.GetNamespace(), mirror.GetName()))
			continue
		}
		mirrors[key] = c
		kept = append(kept, c)
	}
	return kept
}

// preflight looks at all candidates. The error is for what concerns none of them.
func (o *dispatchOptions) preflight(ctx context.Context, origin, worker *apiserver.Side, candidates []*candidate) error {
	check := &preflight.Checker{Origin: origin, Worker: worker, Dependencies: dependency.Options{ConfigMaps: o.flags.configMaps, Secrets: o.flags.secrets}}
	var group errgroup.Group
	group.SetLimit(checkedAtOnce)
	for _, c := range candidates {
		group.Go(func() error {
			c.problems, c.dependencies, c.err = check.Check(ctx, c.Request)
			return nil
		})
	}
	_ = group.Wait() // Each has its own error.
	if unused := check.UnusedSecrets(); len(unused) > 0 && len(candidates) > 0 {
		return fmt.Errorf("no pod of these Jobs needs the Secrets that --with-secret names: %s", strings.Join(unused, ", "))
	}
	return nil
}

// dispatch creates what has to be created, and lets the loop do the rest.
func (o *dispatchOptions) dispatch(ctx context.Context, origin, worker *apiserver.Side, candidates []*candidate, ended []request, errs []error) error {
	view := writing.NewView(o.Environment, o.flags.GlobalFlags, o.flags.output, len(candidates)+len(ended))
	events := dispatch.NewRecorder(o.Clock, view.Event)
	defer view.Close()
	if o.flags.output == "" {
		o.tellProblems(candidates)
	} else {
		o.recordProblems(events, candidates)
	}
	accepted, refusals := o.sift(candidates)
	errs = append(errs, refusals...)
	if len(o.flags.filenames) > 0 && len(errs) > 0 {
		view.Close()
		return util.Joined(append(errs, errors.New("no Job of the file was created: it is dispatched as a whole or not at all")))
	}
	var tasks []dispatch.Task
	for _, r := range ended {
		tasks = append(tasks, dispatch.Task{Kind: r.kind, Namespace: r.Origin.GetNamespace(), Name: r.Origin.GetName(), UID: r.Origin.GetUID()})
	}
	for _, c := range accepted {
		if err := util.Interrupted(ctx); err != nil {
			view.Close()
			return util.Joined(append(errs, err))
		}
		task, err := o.prepare(ctx, origin, events, c)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		tasks = append(tasks, task)
	}
	if len(tasks) == 0 {
		view.Close()
		return util.Joined(errs)
	}
	o.loop.OriginMinor = writing.Minor(origin)
	outcomes := o.follow(ctx, dispatch.NewLoop(origin, worker, o.loop, o.Clock, events), tasks, view)
	view.Close()
	o.hint(outcomes)
	return util.Joined(append(errs, o.judge(ctx, outcomes)))
}

// sift returns the Jobs that have nothing in their way, and why the others are left
// out.
func (o *dispatchOptions) sift(candidates []*candidate) (accepted []*candidate, errs []error) {
	refused := 0
	for _, c := range candidates {
		switch {
		case c.err != nil:
			errs = append(errs, c.err)
		case c.refused():
			refused++
		default:
			accepted = append(accepted, c)
		}
	}
	if refused > 0 {
		errs = append(errs, &refusedError{noun: nounOf(candidates), refused: refused, total: len(candidates), worker: o.worker.Name})
	}
	return accepted, errs
}

// nounOf is what candidates are called, one by one.
func nounOf(candidates []*candidate) string {
	for _, c := range candidates {
		if c.kind.Kind != candidates[0].kind.Kind {
			return "object"
		}
	}
	return candidates[0].kind.Kind
}

// prepare creates an origin where that is wanted.
func (o *dispatchOptions) prepare(ctx context.Context, origin *apiserver.Side, events *dispatch.Recorder, c *candidate) (dispatch.Task, error) {
	job := c.Origin
	if c.Create {
		created, err := dispatch.CreateOrigin(ctx, origin, c.kind, job)
		if err != nil {
			return dispatch.Task{}, err
		}
		events.Record(dispatch.CreatedEvent(origin, created))
		job = created
	}
	return dispatch.Task{Kind: c.kind, Namespace: job.GetNamespace(), Name: job.GetName(), UID: job.GetUID(), Dependencies: c.dependencies}, nil
}

// follow runs the loop, and has the view move while it does.
func (o *dispatchOptions) follow(ctx context.Context, loop *dispatch.Loop, tasks []dispatch.Task, view *writing.View) []dispatch.Outcome {
	if o.flags.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.flags.timeout, dispatch.ErrTimeout)
		defer cancel()
	}
	done := make(chan []dispatch.Outcome, 1)
	go func() { done <- loop.Run(ctx, tasks) }()
	ticker := o.Clock.NewTicker(util.Tick)
	defer ticker.Stop()
	for {
		select {
		case outcomes := <-done:
			return outcomes
		case <-ticker.C():
			view.Tick()
		}
	}
}

// printPlans prints the mirrors that would be made, and what is in their way.
func (o *dispatchOptions) printPlans(candidates []*candidate) error {
	var plans []*plan.Plan
	for _, c := range candidates {
		plans = append(plans, c.Plan)
	}
	o.tellProblems(candidates)
	if err := printers.Plans(o.Out, o.format, plans, o.table()); err != nil {
		return fmt.Errorf("could not print: %w", err)
	}
	_, errs := o.sift(candidates)
	return util.Joined(errs)
}
