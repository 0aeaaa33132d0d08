package recreate

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// deletion is the state of the tries to delete the old Job.
type deletion struct {
	// stored is the old Job as it was read last.
	stored *unstructured.Unstructured
	// unclear is the error of a try that may have deleted it. isLost is whether the API server did not
	// answer one.
	unclear error
	isLost  bool
	// unread is why the old Job could not be read after the last try.
	unread error
}

// remove deletes the old Job if only its status has changed since it was shown, and waits until
// it is gone.
func (r *Runner) remove(ctx context.Context, p *Replacement) error {
	bounded, cancel := context.WithTimeout(ctx, r.DeletionTimeout)
	defer cancel()
	d := &deletion{stored: p.stored}
	err := wait.PollUntilContextCancel(bounded, retryDelay, true, func(ctx context.Context) (bool, error) { return r.tryDelete(ctx, p, d) })
	switch {
	case wait.Interrupted(err) && d.unclear != nil:
		return command.Errorf("%w; it may be deleted. %s", r.requestError("delete the old", p, d.unclear), r.describeBackup(p))
	case wait.Interrupted(err) && d.unread != nil:
		return fmt.Errorf("%w; nothing was changed", r.requestError("delete the old", p, d.unread))
	case wait.Interrupted(err):
		return fmt.Errorf("context %q: %s changes faster than it can be deleted; nothing was changed", r.Cluster.Context, p.describe())
	case err != nil:
		return err
	}
	return r.waitGone(bounded, p)
}

// tryDelete deletes the old Job, and reports whether it is deleted. It returns no error if another try is
// worthwhile.
func (r *Runner) tryDelete(ctx context.Context, p *Replacement, d *deletion) (isDeleted bool, err error) {
	// Our own time limit must not cancel this request: its result would be unknown.
	err = r.delete(context.WithoutCancel(ctx), p.kind(), d.stored)
	switch {
	case err == nil:
		return true, nil
	case kubecontext.IsUnclear(err) && d.unclear != nil && !kubecontext.IsConnection(err) && r.isAlive(ctx, p):
		// A webhook fails each time.
		return false, r.notDeleted(p, err, d.isLost)
	case kubecontext.IsUnclear(err), kubecontext.IsConnection(err):
		// A deletion without an answer of the API server may still be in progress.
		d.unclear, d.isLost = err, d.isLost || !apierrors.IsInternalError(err)
		return false, nil
	case !apierrors.IsConflict(err) && !apierrors.IsNotFound(err):
		return false, r.notDeleted(p, err, d.unclear != nil)
	}
	live, isDeleted, err := r.reread(ctx, p, err, d.unclear != nil)
	if mayPass(err) {
		d.unread = latest(ctx, d.unread, err)
		return false, nil
	}
	d.unread = nil
	if live != nil {
		d.stored = live
	}
	return isDeleted, err
}

// reread reads the old Job after a deletion was answered with a conflict or 404. It returns the
// Job to delete now. isDeleted reports whether an earlier try, whose answer was lost, has deleted
// it. An error of the connection is worth a retry.
func (r *Runner) reread(ctx context.Context, p *Replacement, answer error, isUnclear bool) (live *unstructured.Unstructured, isDeleted bool, err error) {
	live, err = r.get(ctx, p)
	isAway := !p.isOld(live)
	if err == nil && isAway {
		err = r.proveGone(ctx, p)
	}
	switch {
	case err != nil:
		return nil, false, err
	case isUnclear && (isAway || live.GetDeletionTimestamp() != nil):
		return nil, true, nil
	case isAway:
		return nil, false, r.replacedError(p)
	case apierrors.IsNotFound(answer):
		// The Job exists, so the 404 was not about it. A proxy may have sent it.
		return nil, false, r.notDeleted(p, answer, isUnclear)
	}
	return live, false, r.checkUnchanged(live, p)
}

// notDeleted returns the error of a refused deletion. An earlier try without an answer may have
// deleted the Job.
func (r *Runner) notDeleted(p *Replacement, err error, isUnclear bool) error {
	if isUnclear {
		return command.Errorf("%w; an earlier try got no answer; it may be deleted. %s", r.requestError("delete the old", p, err), r.describeBackup(p))
	}
	return fmt.Errorf("%w; nothing was changed", r.requestError("delete the old", p, err))
}
