package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/tracing"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/writing"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/preflight"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/probe"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/rights"
)

// prober submits a Job and reports how far it gets.
type prober struct {
	util.Environment
	flags     *util.GlobalFlags
	probe     probeFlags
	contexts  []fleet.Context
	fleet     *fleet.Fleet
	addresses []kubecontext.Address
	target    *target
	manager   *fleet.Cluster
	report    *inspect.ProbeReport
}

// probeError is returned if a probe did not pass, which was printed.
type probeError struct{ report *inspect.ProbeReport }

// ExitCode is 3.
func (e *probeError) ExitCode() int { return util.ExitFindings }

func (e *probeError) Error() string { return printers.ProbeHeadline(e.report) }

// run probes and returns the report, nil if nothing was started.
func (p *prober) run(ctx context.Context, c choice) (*inspect.ProbeReport, error) {
	var err error
	if p.fleet, err = p.flags.Reach(ctx, p.Environment, p.contexts, nil); err != nil {
		return nil, err
	}
	p.addresses = p.flags.Addresses(p.contexts, p.fleet)
	inventory := read.Read(ctx, p.fleet, read.Want{Setup: true, SetupIn: c.namespace, Addresses: p.addresses, Now: p.Clock.Now})
	if stopped := util.Interrupted(ctx); stopped != nil {
		return nil, stopped
	}
	if p.target, err = chooseTarget(inventory, c); err != nil {
		err = withSetupFix(err, rules.Report(inventory, rules.Options{Reach: p.CommandReach(p.flags)}).Items, c.namespace)
		if several := (*ambiguousError)(nil); errors.As(err, &several) {
			err = &util.UsageError{Err: err, Command: p.DisplayName() + " doctor"}
		}
		if unknown := (*unknownTargetError)(nil); errors.As(err, &unknown) {
			util.ReportErrors(p.ErrOut, unknown.unread)
		}
		return nil, err
	}
	clusters := p.fleet.Clusters()
	p.manager = clusters[slices.IndexFunc(clusters, func(c *fleet.Cluster) bool { return c.Context == p.target.manager })]
	job := p.job()
	p.report = inspect.NewProbeReport()
	p.report.Context, p.report.Namespace, p.report.Queue, p.report.Name = p.manager.Context, job.GetNamespace(), p.target.queue, job.GetName()
	if p.probe.dryRun == writing.DryRunNone {
		if err := p.checkRights(ctx); err != nil {
			return nil, err
		}
		p.removeLeftovers(ctx, inventory)
	}
	if p.probe.allWorkers {
		if err := p.askWorkers(ctx, job); err != nil {
			return nil, err
		}
	}
	if stopped := util.Interrupted(ctx); stopped != nil {
		return nil, stopped
	}
	if p.probe.dryRun != writing.DryRunNone {
		return p.report, p.dryRun(ctx, job)
	}
	p.submit(ctx, job, inventory)
	return p.report, nil
}

// job returns the Job to submit.
func (p *prober) job() *unstructured.Unstructured {
	requests := p.probe.requests
	if len(requests) == 0 {
		requests = p.target.tinyRequests()
	}
	j := probe.Job{
		Namespace: p.target.namespace, Queue: p.target.queue, Suffix: rand.String(5), Image: p.probe.image, Requests: requests,
		Lifetime: p.probe.timeout + cleanupTimeout + 15*time.Second,
	}
	return j.Origin()
}

// checkRights returns an error if the user may not create, see or remove the Job.
func (p *prober) checkRights(ctx context.Context) error {
	jobs := delegation.Job().Resource.GroupResource()
	wanted := []preflight.Right{{What: jobs, Verbs: rights.Verbs(rights.Probe, jobs), Consequence: "doctor --probe submits a Job and removes it", Blocks: true}}
	for _, problem := range preflight.NewProbe(p.manager).Access(ctx, p.target.namespace, wanted) {
		if problem.Blocking {
			text := fmt.Sprintf("context %q: %s", problem.Context, problem.Message)
			if problem.Remedy != "" {
				text += ". To fix it, " + string(problem.Remedy)
			}
			return errors.New(text)
		}
	}
	return nil
}

// removeLeftovers removes the Jobs that earlier probes left behind, on every cluster. Jobs that the
// user may not read or delete do not prevent the probe.
func (p *prober) removeLeftovers(ctx context.Context, inventory *inspect.Inventory) {
	involved, _ := p.target.workerContexts(inventory)
	involved = append(involved, p.target.manager)
	namespace := p.target.namespace
	for _, a := range fleet.Ask(ctx, p.fleet, func(ctx context.Context, c *fleet.Cluster) ([]string, error) {
		found, err := probe.RemoveLeftovers(ctx, c, namespace, p.fleet.Now(c.Context))
		if c != p.manager {
			found.Others = nil
		}
		return leftoverNotes(c.Context, involved, found, err), nil
	}) {
		if a.Err != nil {
			a.Value = leftoverNotes(a.Context, involved, probe.Leftovers{}, a.Err)
		}
		for _, note := range a.Value {
			util.Report(p.ErrOut, "%s", note)
		}
	}
}

// leftoverNotes returns what a user should know about the Jobs of earlier probes on a cluster. err is
// why they could not be read or removed. That they could not be read matters only on clusters that the
// probe involves, and not if the user lacks the right.
func leftoverNotes(name string, involved []string, found probe.Leftovers, err error) (notes []string) {
	add := func(format string, args ...any) {
		notes = append(notes, fmt.Sprintf("note: context %q: ", name)+fmt.Sprintf(format, args...))
	}
	for _, o := range found.Removed {
		add("removed %s, left behind by an earlier probe", probe.Describe(o))
	}
	for _, o := range found.Others {
		add("%s belongs to another probe, which may still run", probe.Describe(o))
	}
	var names []string
	for _, o := range found.Remaining {
		names = append(names, probe.Describe(o))
	}
	switch {
	case len(names) > 0:
		add("cannot remove %s, left behind by an earlier probe: %s", inspect.Some(names), kubecontext.Because(err))
	case err != nil && !apierrors.IsForbidden(err) && slices.Contains(involved, name):
		add("cannot check for Jobs of earlier probes: %s", kubecontext.Because(err))
	}
	return notes
}

// dryRun reports the Job, and lets the server check it if wanted.
func (p *prober) dryRun(ctx context.Context, job *unstructured.Unstructured) error {
	p.report.Result, p.report.DryRun, p.report.Manifest = inspect.ProbeNotRun, p.probe.dryRun, job.Object
	if p.probe.dryRun != writing.DryRunServer {
		return nil
	}
	stored, err := p.manager.Create(ctx, delegation.Job().Resource, job, "", metav1.DryRunAll)
	if err != nil {
		sentence, _ := objection(p.manager.Context, err)
		return errors.New(sentence)
	}
	p.report.Manifest = stored.Object
	return nil
}

// submit creates the Job, follows it, and removes it in any case.
func (p *prober) submit(ctx context.Context, job *unstructured.Unstructured, inventory *inspect.Inventory) {
	workers, unreached := p.workers(inventory)
	clean := &cleaner{Environment: p.Environment, manager: p.manager, workers: workers, unreached: unreached, reach: p.CommandReach(p.flags)}
	probe.Identify(ctx, append([]*fleet.Cluster{p.manager}, workers...), p.target.namespace)
	start := p.Clock.Now()
	util.Report(p.ErrOut, "note: context %q: submitting %s to queue %s", p.manager.Context, probe.Describe(job), p.target.queue)
	created, err := p.manager.CreateOnce(ctx, delegation.Job().Resource, job, "", fleet.NewManager())
	if err != nil {
		p.refused(ctx, clean, err)
		return
	}
	p.report.UID = string(created.GetUID())
	line := newStepLine(p.Environment)
	f := &follower{
		Environment: p.Environment, fleet: p.fleet, report: p.report, line: line,
		tracer: &tracing.Tracer{
			Wanted: read.Wanted{Name: p.report.Name, Namespace: p.report.Namespace}, Addresses: p.addresses,
			Reach: p.CommandReach(p.flags), Confirmer: p.flags.NewConfirmer(), Now: p.Clock.Now,
		},
	}
	f.last = p.report.Observe(map[inspect.ProbeStepName]string{inspect.ProbeCreated: probe.Describe(job) + " on " + p.manager.Context}, start, p.Clock.Now())
	bounded, cancel := context.WithTimeoutCause(ctx, p.probe.timeout, errTimeout)
	err = f.run(bounded)
	cancel()
	line.clear()
	if util.Interrupted(ctx) != nil {
		util.Report(p.ErrOut, "note: removing %s. After a second signal, it ends %ss after its start; if it waits, the next probe deletes it", probe.Describe(job), job.GetAnnotations()[probe.SecondsAnnotation])
	}
	clean.run(ctx, p.report)
	p.conclude(ctx, f, err)
}

// refused reports a Job that the server rejected, or whose creation got no answer.
func (p *prober) refused(ctx context.Context, clean *cleaner, err error) {
	step := p.report.Step(inspect.ProbeCreated)
	step.State, p.report.Result = inspect.StepFailed, inspect.ProbeFailed
	p.report.Message, step.Message = objection(p.manager.Context, err)
	if unknown := (*fleet.UnknownCreationError)(nil); errors.As(err, &unknown) {
		clean.run(ctx, p.report)
		step.State = inspect.StepUnknown
		p.report.Result, p.report.Message = inspect.ProbeUnknown, fmt.Sprintf("%s did not answer whether it created the Job: %s.", p.manager.Context, step.Message)
	}
}

// conclude sets the result of the probe from the reason it ended.
func (p *prober) conclude(ctx context.Context, f *follower, ended error) {
	reason := ""
	switch {
	case errors.Is(ended, errTimeout):
		reason = fmt.Sprintf("not within %s", p.probe.timeout)
	case errors.Is(ended, errBlocked):
		reason = "blocked"
		if t := p.report.Trace; t != nil && t.State == inspect.StateFailed {
			reason = "the Job failed"
		}
	case !errors.Is(ended, errStatusBack):
		reason = ended.Error()
	}
	if f.isUnread {
		p.report.Unchecked = append(p.report.Unchecked, inspect.Unchecked{What: inspect.Everything, Contexts: []string{p.manager.Context}, Reason: "the cluster was not readable when the probe ended", Cluster: true})
	}
	p.report.Conclude(f.isUnread, reason)
	if util.Interrupted(ctx) != nil {
		p.report.Result = inspect.ProbeInterrupted
	}
}

// workers returns the clusters that may get a mirror: those that the queue dispatches to, or all if
// some of them are unknown. unreached are the workers that were not read.
func (p *prober) workers(v *inspect.Inventory) (clusters []*fleet.Cluster, unreached []string) {
	contexts, unreached := p.target.workerContexts(v)
	clusters = slices.DeleteFunc(p.fleet.Clusters(), func(c *fleet.Cluster) bool {
		return c == p.manager || len(unreached) == 0 && len(contexts) > 0 && !slices.Contains(contexts, c.Context)
	})
	return clusters, unreached
}
