package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/writing"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/manifest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

const (
	// fewJobs is the number of Jobs up to which memory does not matter. For more Jobs,
	// frugalGCPercent limits the garbage, in percent of the memory in use.
	fewJobs, frugalGCPercent = 50, 40
)

func (o *dispatchOptions) Run(ctx context.Context) error {
	// A mistake in a file must show before clusters do not answer.
	if len(o.flags.filenames) > 0 {
		var err error
		if o.manifests, err = manifest.Read(ctx, o.flags.filenames, o.In); err != nil {
			return cmp.Or(util.Interrupted(ctx), err)
		}
	}
	origin, workers, err := o.connect(ctx)
	if err != nil {
		return err
	}
	var mirrors plan.Options
	wanted, err := o.find(ctx, origin)
	if err == nil {
		mirrors, err = o.identify(ctx, origin, workers, wanted.requests)
	}
	if interrupted := util.Interrupted(ctx); interrupted != nil {
		return interrupted
	}
	if err != nil {
		return err
	}
	if err := o.refuseMultiKueue(ctx, origin, wanted.requests); err != nil {
		return err
	}
	if len(wanted.requests) > fewJobs {
		// Hundreds of Jobs stay in memory until the end, so less garbage may accumulate.
		debug.SetGCPercent(frugalGCPercent)
	}
	candidates, ended := o.plan(ctx, origin, workers, mirrors, wanted)
	candidates = dropSharedMirrors(candidates, wanted)
	if o.flags.dryRun != writing.DryRunClient || o.hasSeveralWorkers() {
		err := o.choose(ctx, workers, candidates, len(candidates) == len(wanted.requests))
		if interrupted := util.Interrupted(ctx); interrupted != nil {
			return interrupted
		}
		if err != nil {
			return err
		}
	}
	if o.flags.dryRun != writing.DryRunNone {
		return util.JoinErrors(append(wanted.errs, o.printPlans(candidates)))
	}
	return o.dispatch(ctx, origin, workers, mirrors, candidates, ended, wanted.errs)
}

// identify reads the UIDs of the namespaces of the Jobs and their mirrors, which identify the
// clusters if kube-system may not be read. It returns how mirrors are planned.
func (o *dispatchOptions) identify(ctx context.Context, origin *fleet.Cluster, workers []*worker, requests []request) (mirrors plan.Options, err error) {
	for _, r := range requests {
		if err := origin.LearnNamespaces(ctx, r.Origin.GetNamespace()); err != nil {
			return plan.Options{}, err
		}
		for _, w := range reached(workers) {
			if err := w.cluster.LearnNamespaces(ctx, cmp.Or(o.flags.namespaceTo, r.Origin.GetNamespace())); err != nil && !o.hasSeveralWorkers() {
				return plan.Options{}, err
			}
		}
	}
	return o.mirrorOptions(origin), nil
}

// plan plans the mirrors. A Job that cannot be dispatched becomes an error of wanted. Finished Jobs
// of an earlier dispatch to the same place are returned as ended: the command only reports their
// end.
func (o *dispatchOptions) plan(ctx context.Context, origin *fleet.Cluster, workers []*worker, mirrors plan.Options, wanted *wantedJobs) (candidates, ended []*candidate) {
	bindings := o.findBindings(ctx, origin, workers, wanted.requests)
	for i, r := range wanted.requests {
		c := &candidate{request: r, worker: bindings[i].worker, isBound: bindings[i].worker != nil, binding: bindings[i]}
		if c.isBound && object.HasFinished(r.kind, r.Origin) && o.flags.dryRun == writing.DryRunNone {
			ended = append(ended, c)
			continue
		}
		mirrors.Kind = r.kind
		planned, err := plan.New(r.Origin, mirrors)
		if err == nil {
			err = bindings[i].err
		}
		if err != nil {
			wanted.errs = append(wanted.errs, fmt.Errorf("context %q: %w", o.origin.Name, err))
			continue
		}
		c.Plan = planned
		candidates = append(candidates, c)
	}
	return candidates, ended
}

// dropSharedMirrors drops Jobs whose mirror would have the name of another mirror. With
// --namespace-to, Jobs of several namespaces may have the same name.
func dropSharedMirrors(candidates []*candidate, wanted *wantedJobs) (kept []*candidate) {
	mirrors := map[string]*candidate{}
	for _, c := range candidates {
		mirror := c.Plan.Mirror
		key := c.key(mirror.GetNamespace(), mirror.GetName())
		if other, ok := mirrors[key]; ok {
			wanted.errs = append(wanted.errs, fmt.Errorf("%ss %s/%s and %s/%s would share the mirror %s/%s. Dispatch them to separate namespaces",
				strings.ToLower(c.kind.Kind), other.Origin.GetNamespace(), other.Origin.GetName(), c.Origin.GetNamespace(), c.Origin.GetName(), mirror.GetNamespace(), mirror.GetName()))
			continue
		}
		mirrors[key] = c
		kept = append(kept, c)
	}
	return kept
}

// notDispatched returns the error for Jobs that an interrupt left out.
func notDispatched(left []*candidate) error {
	var names []string
	for _, c := range left {
		names = append(names, c.Origin.GetNamespace()+"/"+c.Origin.GetName())
	}
	return fmt.Errorf("interrupted before these were dispatched: %s. Run the same command again", inspect.Some(names))
}

// dispatch creates the missing objects and runs the loop.
func (o *dispatchOptions) dispatch(ctx context.Context, origin *fleet.Cluster, workers []*worker, mirrors plan.Options, candidates, ended []*candidate, errs []error) error {
	defer writing.IgnoreBrokenPipe()()
	view := writing.NewView(o.Environment, o.flags.GlobalFlags, o.flags.output, len(candidates)+len(ended))
	events := dispatch.NewRecorder(o.Clock, view.Event)
	defer view.Close()
	if o.flags.output == "" {
		o.printProblems(candidates)
	} else {
		o.recordProblems(events, candidates)
	}
	accepted, refusals := o.splitAccepted(candidates)
	errs = append(errs, refusals...)
	if len(o.flags.filenames) > 0 && len(errs) > 0 {
		view.Close()
		return util.JoinErrors(append(errs, errors.New("no Job was created: a file is dispatched completely or not at all")))
	}
	var tasks []dispatch.Task
	for _, c := range ended {
		tasks = append(tasks, taskOf(c, c.Origin))
	}
	for i, c := range accepted {
		if err := util.Interrupted(ctx); err != nil {
			if len(tasks) == 0 {
				view.Close()
				return util.JoinErrors(append(errs, err))
			}
			// The loop ends the tasks, and prints how to resume the origins that were created.
			errs = append(errs, notDispatched(accepted[i:]))
			break
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
		return util.JoinErrors(errs)
	}
	loop := dispatch.NewLoop(origin, reached(workers)[0].cluster, o.loopOptions(mirrors, writing.Minor(ctx, origin)), o.Clock, events)
	outcomes := o.follow(ctx, loop, tasks, view)
	view.Close()
	o.printOutcomes(outcomes)
	o.printNextCommands(outcomes)
	return util.JoinErrors(append(errs, o.resultError(ctx, outcomes), view.Err()))
}

// taskOf returns the task of a Job on its worker.
func taskOf(c *candidate, job *unstructured.Unstructured) dispatch.Task {
	t := dispatch.Task{
		Kind: c.kind, Namespace: job.GetNamespace(), Name: job.GetName(), UID: job.GetUID(), Plan: c.Plan, Worker: c.worker.cluster,
		Mirror: c.binding.mirror, Cleared: c.binding.cleared,
	}
	if v := c.verdictOf(c.worker); v != nil {
		t.Dependencies = v.dependencies
	}
	return t
}

// prepare creates the origin if needed.
func (o *dispatchOptions) prepare(ctx context.Context, origin *fleet.Cluster, events *dispatch.Recorder, c *candidate) (dispatch.Task, error) {
	job := c.Origin
	if c.Create {
		created, err := dispatch.CreateOrigin(ctx, origin, c.kind, job)
		if err != nil {
			return dispatch.Task{}, err
		}
		events.Record(dispatch.CreatedEvent(origin, created))
		job = created
	}
	return taskOf(c, job), nil
}

// follow runs the loop and updates the view.
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
