package recreate

import (
	"context"
	"errors"
	"fmt"
	"regexp"
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
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/rights"
)

// Check finds what would keep a Job from being made anew, without changing
// anything: what the user may not do, and what the API server has against the
// deletion and against the new Job. Everything that it finds is in one error.
// Warnings that only a server can give are added to the Replacement.
func (r *Runner) Check(ctx context.Context, p *Replacement) error {
	asked := preflight.NewProbe(r.Cluster)
	var errs []error
	needed := preflight.Right{
		What: p.kind().Resource.GroupResource(), Verbs: rights.Verbs(rights.Recreate, delegation.Job().Resource.GroupResource()),
		Lacking: fmt.Sprintf("the %s cannot be made anew", p.kind().Kind), Blocks: true,
	}
	for _, problem := range asked.Access(ctx, p.stored.GetNamespace(), []preflight.Right{needed}) {
		if problem.Blocking {
			errs = append(errs, command.Errorf("context %q: %s; %s", problem.Context, problem.Message, problem.Remedy))
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	checks := []func(context.Context, preflight.Probe, *Replacement) error{r.checkMultiKueue}
	if !r.ReadOnly {
		checks = append(checks, r.checkDelete, r.checkCreate)
	}
	for _, check := range checks {
		if err := check(ctx, asked, p); err != nil {
			errs = append(errs, err)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(errs...)
}

// checkDelete has the server do everything to delete the old Job, but delete it.
func (r *Runner) checkDelete(ctx context.Context, _ preflight.Probe, p *Replacement) error {
	err := r.delete(ctx, p.kind(), p.stored, metav1.DryRunAll)
	switch {
	case err == nil:
		return nil
	case apierrors.IsConflict(err):
		// It may still be as it was shown, but for its status. Before it is deleted
		// for good, that is looked at.
		return nil
	case cannotTry(err):
		p.warn("Cannot try the deletion first: %s.", kubecontext.Objection(err))
		return nil
	}
	return r.about("delete the old", p, err)
}

// checkCreate has the server do everything to create the new Job, but store it. It
// has another name there, since its own is taken.
func (r *Runner) checkCreate(ctx context.Context, _ preflight.Probe, p *Replacement) error {
	trial := p.New.DeepCopy()
	trial.SetName("")
	trial.SetGenerateName(trialPrefix(p.New.GetName()))
	stored, err := r.Cluster.Create(ctx, p.kind().Resource, trial, metav1.FieldValidationStrict, metav1.DryRunAll)
	switch {
	case err == nil:
		return r.checkOwner(stored, p)
	case isOwnPlace(err):
		p.warn("The quota of the namespace is used up: the new %s takes the place of the old one, unless somebody else is faster.", p.kind().Kind)
		return nil
	case cannotTry(err):
		p.warn("Cannot try the creation first: %s.", kubecontext.Objection(err))
		return nil
	}
	return r.about("create the new", p, err)
}

// trialPrefix is the beginning of another name, as long as the own one where that is
// possible: the names of an Indexed Job's pods are made of it.
func trialPrefix(name string) string {
	const random = 5
	if prefix := strings.TrimRight(name[:max(0, len(name)-random-1)], "-."); prefix != "" {
		return prefix + "-"
	}
	return "trial-"
}

// checkOwner makes sure that a Job is stored with the owner that was asked for. API
// servers before Kubernetes 1.32 drop managedBy without a word (KEP-4368), and
// Kueue's webhook sets it for Jobs of some queues.
func (r *Runner) checkOwner(stored *unstructured.Unstructured, p *Replacement) error {
	wanted, got := p.options.owner(), object.OwnerOf(p.kind(), stored)
	switch {
	case got == wanted:
		return nil
	case got.IsBuiltIn():
		return fmt.Errorf("context %q: the API server drops %s, so its own controller would run %s%s", r.Cluster.Context, content.Dotted(p.kind().ManagedBy), p.named(), object.NeededFor(p.kind()))
	}
	remedy := command.Say("see what webhooks change %ss: %s", p.kind().Kind, r.Cluster.Kubectl("", "get", "mutatingwebhookconfigurations"))
	if got == delegation.MultiKueue && stored.GetLabels()[delegation.QueueNameLabel] != "" {
		remedy = "remove it from its MultiKueue queue with --queue ''"
	}
	return command.Errorf("context %q: %s would get the owner %s, whatever the manifest says; %s", r.Cluster.Context, p.named(), got, remedy)
}

// isOwnPlace says whether a quota keeps the new Job out only because the old one is
// counted, too.
func isOwnPlace(err error) bool {
	m := regexp.MustCompile(preflight.ExceededQuota).FindStringSubmatch(kubecontext.Objection(err))
	if m == nil || !apierrors.IsForbidden(err) {
		return false
	}
	used, limits := preflight.Quantities(m[3]), preflight.Quantities(m[4])
	for name := range preflight.Quantities(m[2]) {
		limit, isLimited := limits[name]
		if use := used[name]; !isLimited || use.Cmp(limit) > 0 {
			return false
		}
	}
	return true
}

// cannotTry says whether a webhook is in the way of trying, which does not tell what
// would be if it was for good (apiserver: pkg/admission/plugin/webhook/errors).
func cannotTry(err error) bool {
	return apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "does not support dry run")
}

// checkMultiKueue makes sure that Kueue has a look at the new Job, and that none of
// its workers runs the old one. What cannot be read is no obstacle.
func (r *Runner) checkMultiKueue(ctx context.Context, asked preflight.Probe, p *Replacement) error {
	if p.options.Force {
		return nil
	}
	namespace := p.stored.GetNamespace()
	if p.options.owner() == delegation.MultiKueue {
		queue := p.New.GetLabels()[delegation.QueueNameLabel]
		if found, err := asked.Find(ctx, namespace, queue, delegation.KueueResources("localqueues")...); err == nil && found == nil {
			return command.Errorf("context %q: LocalQueue %q does not exist in namespace %q, so Kueue would ignore the new %s. List the queues with %s, or override with --force",
				r.Cluster.Context, queue, namespace, strings.ToLower(p.kind().Kind), r.Cluster.Kubectl(namespace, "get", "localqueues.kueue.x-k8s.io"))
		}
	}
	if queue := p.New.GetLabels()[delegation.QueueNameLabel]; p.options.owner() != delegation.MultiKueue && queue != "" && asked.IsMultiKueues(ctx, namespace, queue) {
		return command.Errorf("context %q: LocalQueue %q gives %ss to MultiKueue, which rejects those of other owners for good. Take the new %s out of it with --queue '', or override with --force",
			r.Cluster.Context, queue, p.kind().Kind, p.kind().Kind)
	}
	if object.OwnerOf(p.kind(), p.stored) != delegation.MultiKueue || object.HasFinished(p.kind(), p.stored) {
		return nil
	}
	for _, name := range p.kind().WorkloadNames(p.stored.GetName(), string(p.stored.GetUID()), "") {
		workload, err := asked.Find(ctx, namespace, name, delegation.KueueResources("workloads")...)
		if err != nil || workload == nil {
			continue
		}
		if cluster := content.StringAt(workload, "status", "clusterName"); cluster != "" {
			return &plan.RefusedError{
				Kind: p.kind().Kind, Origin: object.NameOf(p.stored), Reason: "runs on the worker cluster " + cluster + " of MultiKueue (Workload " + name + ")",
				Remedy: "wait until it ends, or suspend it; --force deletes it there too and loses the work of its Pods",
			}
		}
	}
	return nil
}

// about makes an error for people of one that a request about a Job had. doing is
// what was being done to it, up to its kind.
func (r *Runner) about(doing string, p *Replacement, err error) error {
	doing += " " + strings.ToLower(p.kind().Kind)
	if kubecontext.IsConnection(err) {
		return kubecontext.InContext(r.Cluster.Context, doing+" "+object.NameOf(p.stored), err)
	}
	return fmt.Errorf("context %q: cannot %s %s: %s", r.Cluster.Context, doing, object.NameOf(p.stored), kubecontext.Objection(err))
}

// delete deletes the Job, with its pods, if it is as it was read.
func (r *Runner) delete(ctx context.Context, k delegation.Kind, job *unstructured.Unstructured, dryRun ...string) error {
	return r.Cluster.Delete(ctx, k.Resource, job.GetNamespace(), job.GetName(), fleet.IsAs(job), dryRun...)
}
