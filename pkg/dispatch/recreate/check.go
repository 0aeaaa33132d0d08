package recreate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/preflight"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/refusal"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/rights"
)

// Check finds what would keep a Job from being recreated: missing rights, and objections of the
// API server to the deletion or the new Job. It changes nothing. It returns all problems in one
// error, and adds the warnings of the server to the Replacement.
func (r *Runner) Check(ctx context.Context, p *Replacement) error {
	if err := r.Cluster.Identify(ctx, p.stored.GetNamespace()); err != nil {
		return err
	}
	var errs []error
	needed := preflight.Right{
		What: p.kind().Resource.GroupResource(), Verbs: rights.Verbs(rights.Recreate, delegation.Job().Resource.GroupResource()),
		Consequence: fmt.Sprintf("the %s cannot be created again", p.kind().Kind), Blocks: true,
	}
	for _, problem := range preflight.NewProbe(r.Cluster).Access(ctx, p.stored.GetNamespace(), []preflight.Right{needed}) {
		if problem.Blocking {
			errs = append(errs, command.Errorf("context %q: %s; %s", problem.Context, problem.Message, problem.Remedy))
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	checks := []func(context.Context, *Replacement) error{r.checkMultiKueue, r.checkDispatcher}
	if !r.ReadOnly {
		checks = append(checks, r.checkDelete, r.checkCreate)
	}
	for _, check := range checks {
		if err := check(ctx, p); err != nil {
			errs = append(errs, err)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(errs...)
}

// checkDelete deletes the old Job in a dry run.
func (r *Runner) checkDelete(ctx context.Context, p *Replacement) error {
	err := r.delete(ctx, p.kind(), p.stored, metav1.DryRunAll)
	switch {
	case err == nil:
		return nil
	case apierrors.IsConflict(err):
		// Only its status may have changed since it was shown. Run checks that before the
		// deletion.
		return nil
	case kubecontext.IsDryRunUnsupported(err):
		p.warn("Cannot try the deletion first: %s.", kubecontext.Objection(err))
		return nil
	}
	return r.requestError("delete the old", p, err)
}

// checkCreate creates the new Job in a dry run, with another name, because its own is taken.
func (r *Runner) checkCreate(ctx context.Context, p *Replacement) error {
	trial := p.New.DeepCopy()
	trial.SetName("")
	trial.SetGenerateName(dryRunPrefix(p.New.GetName()))
	stored, err := r.Cluster.Create(ctx, p.kind().Resource, trial, metav1.FieldValidationStrict, metav1.DryRunAll)
	switch {
	case err == nil:
		return r.checkOwner(stored, p)
	case isOwnQuota(err):
		p.warn("The quota of the namespace is used up. The new %s needs the quota of the old one; another object may take it first.", p.kind().Kind)
		return nil
	case kubecontext.IsDryRunUnsupported(err):
		p.warn("Cannot try the creation first: %s.", kubecontext.Objection(err))
		return nil
	}
	return r.requestError("create the new", p, err)
}

// dryRunPrefix returns the prefix of a generated name, if possible with the length of the Job's
// name: the names of an Indexed Job's Pods contain it.
func dryRunPrefix(name string) string {
	const random = 5
	if prefix := strings.TrimRight(name[:max(0, len(name)-random-1)], "-."); prefix != "" {
		return prefix + "-"
	}
	return "trial-"
}

// checkOwner checks that the server stores the requested owner. API servers before Kubernetes
// 1.32 silently drop managedBy (KEP-4368), and Kueue's webhook sets it for Jobs in some queues.
func (r *Runner) checkOwner(stored *unstructured.Unstructured, p *Replacement) error {
	wanted, got := p.options.owner(), object.OwnerOf(p.kind(), stored)
	switch {
	case got == wanted:
		return nil
	case got.IsBuiltIn():
		return fmt.Errorf("context %q: the API server drops %s, so its own controller would run %s%s", r.Cluster.Context, content.Dotted(p.kind().ManagedBy), p.describe(), object.NeededFor(p.kind()))
	}
	remedy := command.Say("list the webhooks that may change %ss: %s", p.kind().Kind, r.Cluster.Kubectl("", "get", "mutatingwebhookconfigurations"))
	if got == delegation.MultiKueue && stored.GetLabels()[delegation.QueueNameLabel] != "" {
		remedy = "remove it from its MultiKueue queue with --queue ''"
	}
	return command.Errorf("context %q: %s would get the owner %s, whatever the manifest says; %s", r.Cluster.Context, p.describe(), got, remedy)
}

// isOwnQuota reports whether a quota excludes the new Job only because it still counts the old
// one. A quota that is too small for the new Job alone excludes it for good.
func isOwnQuota(err error) bool {
	m := refusal.ExceededQuota.FindStringSubmatch(kubecontext.Objection(err))
	if m == nil || !apierrors.IsForbidden(err) {
		return false
	}
	used, limits := refusal.Quantities(m[3]), refusal.Quantities(m[4])
	for name, requested := range refusal.Quantities(m[2]) {
		limit, isLimited := limits[name]
		if use := used[name]; !isLimited || use.Cmp(limit) > 0 || requested.Cmp(limit) > 0 {
			return false
		}
	}
	return true
}

// checkMultiKueue checks that Kueue will not ignore the new Job, and that no worker runs the old
// one: see checkWorker. It warns about objects that it cannot read.
func (r *Runner) checkMultiKueue(ctx context.Context, p *Replacement) error {
	if p.options.Force {
		return nil
	}
	probe, namespace := preflight.NewProbe(r.Cluster), p.stored.GetNamespace()
	if p.options.owner() == delegation.MultiKueue {
		queue := p.New.GetLabels()[delegation.QueueNameLabel]
		found, err := probe.Find(ctx, namespace, queue, delegation.KueueResources("localqueues")...)
		switch {
		case err != nil:
			p.warn("Cannot read LocalQueue %s: if it does not exist, Kueue ignores the new %s: %s.", queue, p.kind().Kind, kubecontext.Because(err))
		case found == nil:
			return command.Errorf("context %q: LocalQueue %q does not exist in namespace %q, so Kueue would ignore the new %s. List the queues with %s, or override with --force",
				r.Cluster.Context, queue, namespace, strings.ToLower(p.kind().Kind), r.Cluster.Kubectl(namespace, "get", "localqueues.kueue.x-k8s.io"))
		}
	}
	if queue := p.New.GetLabels()[delegation.QueueNameLabel]; p.options.owner() != delegation.MultiKueue && queue != "" && probe.IsMultiKueues(ctx, namespace, queue) {
		return command.Errorf("context %q: LocalQueue %q gives %ss to MultiKueue, which rejects those of other owners. Remove the new %s from it with --queue '', or override with --force",
			r.Cluster.Context, queue, p.kind().Kind, p.kind().Kind)
	}
	return r.checkWorker(ctx, p)
}

// checkWorker checks that MultiKueue does not run the old Job on a worker. The status of the Job
// shows that late, or never if the worker is unreachable.
func (r *Runner) checkWorker(ctx context.Context, p *Replacement) error {
	if p.options.Force || object.OwnerOf(p.kind(), p.stored) != delegation.MultiKueue || object.HasFinished(p.kind(), p.stored) {
		return nil
	}
	workloads, err := workloadsOf(ctx, r.Cluster, p.stored)
	if err != nil {
		p.warn("Cannot read the Workloads of %s: MultiKueue may run it on a worker, where it is deleted, too: %s.", p.describe(), kubecontext.Because(err))
		return nil
	}
	on, cluster := runningOn(workloads)
	if on == nil {
		return nil
	}
	return &plan.RefusedError{
		Kind: p.kind().Kind, Origin: object.NameOf(p.stored), Reason: "runs on the worker cluster " + cluster + " of MultiKueue (Workload " + on.GetName() + ")",
		Remedy: command.Say("wait until it ends, or %s; --force deletes it there too and loses the work of its Pods", deactivate(r.Cluster.Context, on)),
	}
}

// checkDispatcher checks that no dispatcher serves the old Job. The Job shows that only once its mirror
// exists.
func (r *Runner) checkDispatcher(ctx context.Context, p *Replacement) error {
	if r.DescribeHolder == nil || p.options.Force || object.OwnerOf(p.kind(), p.stored).IsBuiltIn() || object.HasFinished(p.kind(), p.stored) {
		return nil
	}
	holder, remedy, err := r.DescribeHolder(ctx, p.kind(), p.stored)
	if err != nil {
		p.warn("Cannot read the Lease of %s: a dispatcher may serve it now: %s.", p.describe(), kubecontext.Because(err))
		return nil
	}
	if holder == "" {
		return nil
	}
	if remedy == "" {
		remedy = command.Say("end the dispatch first: %s, or override with --force: the dispatcher then deletes its mirror", cancelFor(p.stored, p.options))
	}
	return &plan.RefusedError{Kind: p.kind().Kind, Origin: object.NameOf(p.stored), Reason: "cannot be recreated now: " + holder, Remedy: remedy}
}

// requestError returns the error of a request for a Job. doing is the verb phrase before the
// kind.
func (r *Runner) requestError(doing string, p *Replacement, err error) error {
	doing += " " + strings.ToLower(p.kind().Kind)
	if kubecontext.IsConnection(err) {
		return kubecontext.InContext(r.Cluster.Context, doing+" "+object.NameOf(p.stored), err)
	}
	return fmt.Errorf("context %q: cannot %s %s: %s", r.Cluster.Context, doing, object.NameOf(p.stored), kubecontext.Objection(err))
}

// delete deletes the Job and its Pods, if the Job is unchanged.
func (r *Runner) delete(ctx context.Context, k delegation.Kind, job *unstructured.Unstructured, dryRun ...string) error {
	return r.Cluster.Delete(ctx, k.Resource, job.GetNamespace(), job.GetName(), fleet.IsAs(job), dryRun...)
}
