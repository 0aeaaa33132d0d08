package recreate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

const (
	// creationTimeout limits how long a creation is retried: the quota of the old Job is released
	// after a delay, and a connection may be lost.
	creationTimeout = 30 * time.Second
	// maxFailures limits how often a creation is tried if the server answers that it failed, for
	// example in a webhook.
	maxFailures = 4
	// retryDelay is the delay between retries.
	retryDelay = 500 * time.Millisecond
)

// Runner recreates Jobs.
type Runner struct {
	Cluster *fleet.Cluster
	// DeletionTimeout limits the wait for the deletion of the old Job. Finalizers can block it for
	// any time.
	DeletionTimeout time.Duration
	// Backup is the file that holds the old Job, for messages.
	Backup string
	// ReadOnly has Check skip the dry runs of the API server, for --dry-run=client.
	ReadOnly bool
	// DescribeHolder describes the dispatcher that serves a Job now; "" if none does. remedy is the fix if
	// cancelling the dispatch does not help.
	DescribeHolder func(ctx context.Context, k delegation.Kind, job *unstructured.Unstructured) (holder string, remedy command.Prose, err error)
	// OnBlocked is called once if finalizers block the deletion of the old Job.
	OnBlocked func(finalizers []string)

	// moved is the last answer to verify and proveGone, if it was that the context reaches another cluster.
	moved *kubecontext.MovedError
}

// NotGoneError means that the old Job was deleted but still exists, so that the new one was not
// created.
type NotGoneError struct{ message command.Prose }

func (e *NotGoneError) Error() string { return string(e.message) }

// Prose returns the text of Error.
func (e *NotGoneError) Prose() command.Prose { return e.message }

// Run deletes the old Job, waits until it is gone, and creates the new one. If that fails, it
// restores the old one. Once the deletion has started, the end of ctx does not interrupt Run;
// only its own time limits do. Call Check and WriteBackup first.
func (r *Runner) Run(ctx context.Context, p *Replacement) (*unstructured.Unstructured, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// MultiKueue or a dispatcher may have started it since Check, while the user read the plan.
	if err := cmp.Or(r.checkWorker(ctx, p), r.checkDispatcher(ctx, p)); err != nil {
		return nil, fmt.Errorf("%w; nothing was changed", err)
	}
	ctx = context.WithoutCancel(ctx)
	if err := r.remove(ctx, p); err != nil {
		return nil, err
	}
	created, err := r.create(ctx, p.New, p)
	unknown := (*fleet.UnknownCreationError)(nil)
	switch {
	case errors.As(err, &unknown) && unknown.Unread != nil:
		return nil, command.Errorf("%w; it may exist nevertheless. %s", r.requestError("create the new", p, err), r.describeBackup(p))
	case apierrors.IsAlreadyExists(err) && r.oldExists(ctx, p):
		return nil, r.notGone(p, "is not gone", "it still exists, although the server reported it gone")
	case apierrors.IsAlreadyExists(err):
		return nil, command.Errorf("%s was deleted, and another client created another one of that name first. To get the old one back, delete that one and run: %s",
			p.describe(), r.restoreCommand())
	case err != nil:
		return nil, r.restore(ctx, p, r.requestError("create the new", p, err))
	}
	if dropped := r.checkOwner(created, p); dropped != nil {
		if err := r.deleteWrong(ctx, p, created); err != nil {
			return nil, command.Errorf("%w; it was created anyway and cannot be deleted: %w; %s", dropped, err, r.describeBackup(p))
		}
		return nil, r.restore(ctx, p, dropped)
	}
	return created, nil
}

// get returns the object with the old Job's name; nil if there is none.
func (r *Runner) get(ctx context.Context, p *Replacement) (*unstructured.Unstructured, error) {
	return r.Cluster.Get(ctx, p.kind().Resource, p.stored.GetNamespace(), p.stored.GetName())
}

// replacedError returns the error for an old Job that another client has deleted.
func (r *Runner) replacedError(p *Replacement) error {
	return fmt.Errorf("context %q: %s was deleted or replaced by another client; nothing was changed", r.Cluster.Context, p.describe())
}

// checkUnchanged returns an error if the replacement of the live Job would differ from the one
// that was shown. Its status may differ.
func (r *Runner) checkUnchanged(live *unstructured.Unstructured, p *Replacement) error {
	if !p.isOld(live) {
		return r.replacedError(p)
	}
	current, err := New(live, p.options)
	if err != nil {
		return fmt.Errorf("context %q: %w; nothing was changed", r.Cluster.Context, err)
	}
	if !apiequality.Semantic.DeepEqual(current.New.Object, p.New.Object) || !apiequality.Semantic.DeepEqual(current.Restore.Object, p.Restore.Object) {
		return fmt.Errorf("context %q: %s changed since it was shown; nothing was changed. Run the command again", r.Cluster.Context, p.describe())
	}
	return nil
}

// waitGone waits until the old Job is proven to be gone. It watches the Job, and reads it again when the
// watch ends.
func (r *Runner) waitGone(ctx context.Context, p *Replacement) error {
	var finalizers []string
	var unproven error
	wasSeen := false
	err := wait.PollUntilContextCancel(ctx, retryDelay, true, func(ctx context.Context) (bool, error) {
		live, err := r.get(ctx, p)
		if err == nil && p.isOld(live) {
			if finalizers == nil && len(live.GetFinalizers()) > 0 && r.OnBlocked != nil {
				r.OnBlocked(live.GetFinalizers())
			}
			wasSeen, finalizers, unproven = true, live.GetFinalizers(), nil
			if !r.watchGone(ctx, p.kind(), live) {
				return false, nil
			}
		}
		if err == nil {
			err = r.proveGone(ctx, p)
		}
		if !wasSeen || ctx.Err() == nil {
			unproven = latest(ctx, unproven, err)
		}
		return err == nil, nil
	})
	switch {
	case err == nil:
		return nil
	case unproven != nil:
		return r.notGone(p, "is not proven to be gone", kubecontext.Because(unproven))
	case len(finalizers) > 0:
		return r.notGone(p, "is not gone", "its finalizers block it: "+strings.Join(finalizers, ", "))
	}
	return r.notGone(p, "is not gone", "it still exists")
}

func (r *Runner) notGone(p *Replacement, state, cause string) error {
	return &NotGoneError{command.Say("context %q: %s was deleted, but %s after %s: %s; the new %s was not created. %s",
		r.Cluster.Context, p.describe(), command.Prose(state), r.DeletionTimeout, cause, strings.ToLower(p.kind().Kind), r.describeBackup(p))}
}

// oldExists reports whether the old Job still exists.
func (r *Runner) oldExists(ctx context.Context, p *Replacement) bool {
	live, err := r.get(ctx, p)
	return err == nil && p.isOld(live)
}

// isAlive reports whether the old Job certainly exists and is not being deleted.
func (r *Runner) isAlive(ctx context.Context, p *Replacement) bool {
	live, err := r.get(ctx, p)
	return err == nil && p.isOld(live) && live.GetDeletionTimestamp() == nil
}

// watchGone watches a Job, and reports whether it was deleted. If not, the watch has ended.
func (r *Runner) watchGone(ctx context.Context, k delegation.Kind, live *unstructured.Unstructured) bool {
	watching, err := r.Cluster.Objects(k.Resource, live.GetNamespace()).Watch(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, live.GetName()).String(), ResourceVersion: live.GetResourceVersion(),
	})
	if err != nil {
		return false
	}
	defer watching.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case event, ok := <-watching.ResultChan():
			if !ok || event.Type == watch.Error {
				return false
			}
			if job, isJob := event.Object.(*unstructured.Unstructured); isJob && event.Type == watch.Deleted && job.GetUID() == live.GetUID() {
				return true
			}
		}
	}
}

// create creates a Job instead of the old one, in its cluster only, and retries errors that may pass. An earlier try,
// whose answer was lost, may have created it.
func (r *Runner) create(ctx context.Context, job *unstructured.Unstructured, p *Replacement) (created *unstructured.Unstructured, err error) {
	bounded, cancel := context.WithTimeout(ctx, creationTimeout)
	defer cancel()
	manager := fleet.NewManager()
	var passing error
	wasUnclear, failed := false, 0
	err = wait.PollUntilContextCancel(bounded, retryDelay, true, func(ctx context.Context) (bool, error) {
		if unproven := r.verify(ctx, p); unproven != nil {
			// A creation without an answer matters more.
			if !wasUnclear {
				passing = latest(ctx, passing, unproven)
			}
			if mayPass(unproven) {
				return false, nil
			}
			return false, passing
		}
		var failure error
		created, failure = r.Cluster.CreateOnce(ctx, p.kind().Resource, job, "", manager)
		if wasUnclear && apierrors.IsAlreadyExists(failure) {
			// An earlier creation may have taken effect after the Job was looked for.
			created, failure = r.findCreated(ctx, p, job, manager, failure)
		}
		unknown := (*fleet.UnknownCreationError)(nil)
		switch {
		case failure == nil:
			return true, nil
		case errors.As(failure, &unknown):
			wasUnclear, passing = true, failure
			return false, ignoreUnread(unknown)
		case kubecontext.IsUnclear(failure):
			// The server has answered that it failed, for example in a webhook.
			wasUnclear, passing = true, failure
			failed++
			if failed == maxFailures {
				return false, failure
			}
			return false, nil
		case kubecontext.IsConnection(failure), isOwnQuota(failure):
			passing = failure
			return false, nil
		}
		return false, failure
	})
	if wait.Interrupted(err) && passing != nil {
		err = passing
	}
	if unknown := (*fleet.UnknownCreationError)(nil); errors.As(err, &unknown) && unknown.Unread == nil {
		return r.findCreated(ctx, p, job, manager, err)
	}
	return created, err
}

// ignoreUnread returns nil for an unknown creation that is worth a retry.
func ignoreUnread(unknown *fleet.UnknownCreationError) error {
	if unknown.Unread == nil || kubecontext.IsConnection(unknown.Unread) {
		return nil
	}
	return unknown
}

// findCreated returns the Job that an earlier try has created, otherwise the error of the last try. Only the cluster
// of the old Job can tell that no try has created one.
func (r *Runner) findCreated(ctx context.Context, p *Replacement, job *unstructured.Unstructured, manager string, failure error) (*unstructured.Unstructured, error) {
	unproven := r.verify(ctx, p)
	found, unread := r.Cluster.Created(ctx, p.kind().Resource, job.GetNamespace(), job.GetName(), manager)
	switch unread = cmp.Or(unproven, unread); {
	case found != nil:
		return found, nil
	case unread != nil:
		return nil, &fleet.UnknownCreationError{What: object.KindAndName(job), Err: failure, Unread: unread}
	}
	return nil, failure
}

// deleteWrong deletes a new Job with a wrong owner, and waits until it is gone.
func (r *Runner) deleteWrong(ctx context.Context, p *Replacement, created *unstructured.Unstructured) error {
	isWrong := func(o *unstructured.Unstructured) bool { return r.checkOwner(o, p) != nil }
	if _, err := r.Cluster.RemoveIf(ctx, p.kind().Resource, created, isWrong); err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, r.DeletionTimeout)
	defer cancel()
	return r.waitGone(bounded, &Replacement{stored: created, options: p.options})
}

// restore creates the old Job again, and returns the combined error.
func (r *Runner) restore(ctx context.Context, p *Replacement, cause error) error {
	if _, err := r.create(ctx, p.Restore, p); err != nil {
		return command.Errorf("%w; and %w; %s", cause, r.requestError("create the old one again, which is deleted:", p, err), r.describeBackup(p))
	}
	return fmt.Errorf("%w; the old one was created again and starts over", cause)
}

// describeBackup describes where the old Job is saved, and how to restore it. While the context reaches another
// cluster, the command would create the Job there, and the old Job or the new one may still run.
func (r *Runner) describeBackup(p *Replacement) command.Prose {
	if r.moved != nil {
		return command.Say("saved the old %s in %s. First %s. Once %s is gone there, this restores it: %s",
			strings.ToLower(p.kind().Kind), r.Backup, r.moved.Return(r.Cluster.Context), p.describe(), r.restoreCommand())
	}
	return command.Say("saved the old %s in %s; once %s is gone, this restores it: %s", strings.ToLower(p.kind().Kind), r.Backup, p.describe(), r.restoreCommand())
}

func (r *Runner) restoreCommand() command.Command { return restoreCommand(r.Cluster.Context, r.Backup) }

// restoreCommand returns the command that restores a Job from a file.
func restoreCommand(contextName, file string) command.Command {
	if strings.HasPrefix(file, "-") {
		// Otherwise the name would be a flag or standard input.
		file = "./" + file
	}
	return command.Kubectl(contextName, "", "create", "-f", file)
}
