package recreate

import (
	"context"
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
	// creationWithin bounds how long a creation is tried: the quota that the old Job
	// took is not free at once, and a connection may be lost.
	creationWithin = 30 * time.Second
	// untilAgain is the time between two tries of something that may pass.
	untilAgain = 500 * time.Millisecond
)

// Runner makes Jobs anew.
type Runner struct {
	Cluster *fleet.Cluster
	// Gone bounds how long the old Job may take to be gone once it is deleted:
	// finalizers can hold it for any time.
	Gone time.Duration
	// Backup is the file that holds the old Job, for messages.
	Backup string
	// ReadOnly has Check skip the dry runs of the API server, for --dry-run=client.
	ReadOnly bool
	// Held is called once if the old Job is held by finalizers.
	Held func(finalizers []string)
}

// NotGoneError says that the old Job is still there, although it was deleted, and
// that the new one was not created for that.
type NotGoneError struct{ message command.Prose }

func (e *NotGoneError) Error() string { return string(e.message) }

// Prose is what Error returns.
func (e *NotGoneError) Prose() command.Prose { return e.message }

// Run deletes the old Job, waits until it is gone, and creates the new one; where
// that fails, it creates the old one again. Once the deletion has begun, it is not
// interrupted by the end of ctx: it goes on until it is done, or its own bounds are
// over. What it needs is to be looked at by Check first, and the old Job to be in the
// file Backup.
func (r *Runner) Run(ctx context.Context, p *Replacement) (*unstructured.Unstructured, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	if err := r.remove(ctx, p); err != nil {
		return nil, err
	}
	created, err := r.create(ctx, p.New, p)
	switch {
	case apierrors.IsAlreadyExists(err) && r.isThere(ctx, p):
		return nil, r.notGone(p, "it still exists, although the server reported it gone")
	case apierrors.IsAlreadyExists(err):
		return nil, command.Errorf("%s was deleted, and another client created another one of that name first. To get the old one back, delete that one and run: %s",
			p.named(), r.restoreCommand())
	case err != nil:
		return nil, r.restore(ctx, p, r.about("create the new", p, err))
	}
	if dropped := r.checkOwner(created, p); dropped != nil {
		if err := r.takeBack(ctx, p, created); err != nil {
			return nil, command.Errorf("%w; it was created anyway, and cannot be deleted: %w; %s", dropped, err, r.where(p))
		}
		return nil, r.restore(ctx, p, dropped)
	}
	return created, nil
}

// remove deletes the old Job, if but for its status it still is what was shown, and
// returns when it is gone.
func (r *Runner) remove(ctx context.Context, p *Replacement) error {
	bounded, cancel := context.WithTimeout(ctx, r.Gone)
	defer cancel()
	stored, unclear := p.stored, error(nil)
	err := wait.PollUntilContextCancel(bounded, untilAgain, true, func(ctx context.Context) (bool, error) {
		err := r.delete(ctx, p.kind(), stored)
		switch {
		case err == nil:
			return true, nil
		case kubecontext.IsConnection(err):
			unclear = err
			return false, nil
		case !apierrors.IsConflict(err) && !apierrors.IsNotFound(err):
			return false, r.notDeleted(p, err, unclear != nil)
		}
		live, isDeleted, failure := r.reread(ctx, p, err, unclear != nil)
		if live != nil {
			stored = live
		}
		return isDeleted, failure
	})
	switch {
	case wait.Interrupted(err) && unclear != nil:
		return command.Errorf("%w; it may be deleted. %s", r.about("delete the old", p, unclear), r.where(p))
	case wait.Interrupted(err):
		return fmt.Errorf("context %q: %s changes faster than it can be deleted; nothing was changed", r.Cluster.Context, p.named())
	case err != nil:
		return err
	}
	return r.waitGone(bounded, p)
}

// reread reads the old Job after a deletion was answered with a conflict, or with 404. It
// returns the Job to delete now, nil if it could not be read, or whether an earlier try
// whose answer was lost has deleted it.
func (r *Runner) reread(ctx context.Context, p *Replacement, answer error, isUnclear bool) (live *unstructured.Unstructured, isDeleted bool, err error) {
	live, err = r.get(ctx, p)
	isAway := live == nil || live.GetUID() != p.stored.GetUID()
	switch {
	case err != nil:
		return nil, false, ignoreConnection(err)
	case isUnclear && (isAway || live.GetDeletionTimestamp() != nil):
		return nil, true, nil
	case isAway:
		return nil, false, r.vanished(p)
	case apierrors.IsNotFound(answer):
		// The 404 was not about the Job, which is there: a proxy may have sent it.
		return nil, false, r.notDeleted(p, answer, isUnclear)
	}
	return live, false, r.compare(live, p)
}

// get reads what has the old Job's name; it is nil if nothing has.
func (r *Runner) get(ctx context.Context, p *Replacement) (*unstructured.Unstructured, error) {
	return r.Cluster.Get(ctx, p.kind().Resource, p.stored.GetNamespace(), p.stored.GetName())
}

// notDeleted makes an error of a refused deletion. An earlier try without an answer may
// have deleted the Job all the same.
func (r *Runner) notDeleted(p *Replacement, err error, isUnclear bool) error {
	if isUnclear {
		return command.Errorf("%w; an earlier try got no answer; it may be deleted. %s", r.about("delete the old", p, err), r.where(p))
	}
	return fmt.Errorf("%w; nothing was changed", r.about("delete the old", p, err))
}

// vanished makes an error of an old Job that another client has deleted.
func (r *Runner) vanished(p *Replacement) error {
	return fmt.Errorf("context %q: %s was deleted or replaced by another client; nothing was changed", r.Cluster.Context, p.named())
}

// compare makes an error of a Job of which something else would be made than what
// was shown. Its status may differ.
func (r *Runner) compare(live *unstructured.Unstructured, p *Replacement) error {
	if live == nil || live.GetUID() != p.stored.GetUID() {
		return r.vanished(p)
	}
	again, err := New(live, p.options)
	if err != nil {
		return fmt.Errorf("context %q: %w; nothing was changed", r.Cluster.Context, err)
	}
	if !apiequality.Semantic.DeepEqual(again.New.Object, p.New.Object) || !apiequality.Semantic.DeepEqual(again.Restore.Object, p.Restore.Object) {
		return fmt.Errorf("context %q: %s changed since it was shown; nothing was changed. Run the command again", r.Cluster.Context, p.named())
	}
	return nil
}

// ignoreConnection has what is tried again go on where a server did not answer.
func ignoreConnection(err error) error {
	if kubecontext.IsConnection(err) {
		return nil
	}
	return err
}

// waitGone returns when the old Job is gone. It watches, and reads again where the
// watch ends.
func (r *Runner) waitGone(ctx context.Context, p *Replacement) error {
	var finalizers []string
	var last error
	err := wait.PollUntilContextCancel(ctx, untilAgain, true, func(ctx context.Context) (bool, error) {
		live, err := r.get(ctx, p)
		if last = err; err != nil {
			return false, nil //nolint:nilerr // It is tried again.
		}
		if live == nil || live.GetUID() != p.stored.GetUID() {
			return true, nil
		}
		if finalizers == nil && len(live.GetFinalizers()) > 0 && r.Held != nil {
			r.Held(live.GetFinalizers())
		}
		finalizers = live.GetFinalizers()
		return r.watchGone(ctx, p.kind(), live), nil
	})
	if err == nil {
		return nil
	}
	why := "it is still there"
	if last != nil {
		why = kubecontext.Because(last)
	}
	if len(finalizers) > 0 {
		why = "its finalizers block it: " + strings.Join(finalizers, ", ")
	}
	return r.notGone(p, why)
}

func (r *Runner) notGone(p *Replacement, why string) error {
	return &NotGoneError{command.Say("context %q: %s was deleted, but is not gone after %s: %s; the new %s was not created. %s",
		r.Cluster.Context, p.named(), r.Gone, why, strings.ToLower(p.kind().Kind), r.where(p))}
}

// isThere returns whether the old Job can still be read.
func (r *Runner) isThere(ctx context.Context, p *Replacement) bool {
	live, err := r.get(ctx, p)
	return err == nil && live != nil && live.GetUID() == p.stored.GetUID()
}

// watchGone watches a Job, and says whether it went; if not, the watch has ended.
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

// create creates a Job in the place of the old one, and tries again what may pass.
func (r *Runner) create(ctx context.Context, job *unstructured.Unstructured, p *Replacement) (created *unstructured.Unstructured, err error) {
	ctx, cancel := context.WithTimeout(ctx, creationWithin)
	defer cancel()
	var passing error
	unclear := false
	err = wait.PollUntilContextCancel(ctx, untilAgain, true, func(ctx context.Context) (bool, error) {
		var failure error
		created, failure = r.Cluster.Create(ctx, p.kind().Resource, job, "")
		switch {
		case failure == nil:
			return true, nil
		case apierrors.IsAlreadyExists(failure) && unclear:
			// A try whose answer was lost may have created it.
			live, err := r.get(ctx, p)
			if err == nil && live != nil && live.GetUID() != p.stored.GetUID() && object.OwnerOf(p.kind(), live) == object.OwnerOf(p.kind(), job) {
				created = live
				return true, nil
			}
		case kubecontext.IsConnection(failure):
			unclear, passing = true, failure
			return false, nil
		case isOwnPlace(failure):
			passing = failure
			return false, nil
		}
		return false, failure
	})
	if wait.Interrupted(err) && passing != nil {
		err = passing
	}
	return created, err
}

// takeBack deletes a new Job that is not what it was to be, and waits for that.
func (r *Runner) takeBack(ctx context.Context, p *Replacement, created *unstructured.Unstructured) error {
	if _, err := r.Cluster.Remove(ctx, p.kind().Resource, created.GetNamespace(), created.GetName(), string(created.GetUID())); err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, r.Gone)
	defer cancel()
	return r.waitGone(bounded, &Replacement{stored: created, options: p.options})
}

// restore creates the old Job again, and makes the error of it all.
func (r *Runner) restore(ctx context.Context, p *Replacement, cause error) error {
	if _, err := r.create(ctx, p.Restore, p); err != nil {
		return command.Errorf("%w; and %w; %s", cause, r.about("create the old one again, which is deleted:", p, err), r.where(p))
	}
	return fmt.Errorf("%w; the old one was created again and starts over", cause)
}

// where says where the old Job is kept, and how it is brought back.
func (r *Runner) where(p *Replacement) command.Prose {
	return command.Say("saved the old %s in %s; once there is no %s any more, this restores it: %s", strings.ToLower(p.kind().Kind), r.Backup, p.named(), r.restoreCommand())
}

func (r *Runner) restoreCommand() command.Command { return restoring(r.Cluster.Context, r.Backup) }

// restoring is the command that restores a Job from a file that holds it.
func restoring(contextName, file string) command.Command {
	if strings.HasPrefix(file, "-") {
		// It is no flag, nor the standard input.
		file = "./" + file
	}
	return command.Kubectl(contextName, "", "create", "-f", file)
}
