package dispatch

import (
	"context"
	"errors"

	"k8s.io/client-go/util/retry"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
)

// leave ends a task that is unfinished when the loop ends.
func (t *task) leave(ctx context.Context, end EventType) {
	if t.finishEnded(ctx) || t.leaveDeleted(ctx) {
		return
	}
	t.leaveLease = true
	found, err := t.findMirror(ctx)
	on := t.worker.Context
	switch {
	case err != nil && t.mirrorRef.UID == "":
		t.end(end, nil, nil, command.Say("cannot tell whether a mirror exists on %s: %v", on, err))
	case err != nil:
		t.end(end, nil, nil, command.Say("its mirror on %s remains, and its status is no longer copied: %v", on, err))
	case !found && t.creation.isUnanswered:
		t.end(end, nil, nil, command.Say("no mirror on %s yet. The request to create it had no answer and may still arrive. Run the same command again to find out", on))
	case !found:
		t.end(end, nil, nil, command.Say("it has no mirror on %s", on))
	case !t.options.DeleteOnInterrupt && t.isSuspendedForCopies():
		t.end(end, nil, nil, command.Say("its mirror on %s stays suspended, because dependencies may be missing. Run the same command again", on))
	case !t.options.DeleteOnInterrupt:
		t.end(end, nil, nil, command.Say("its mirror on %s %s, and its status is no longer copied", on, t.mirrorState()))
	default:
		t.undo(ctx, end)
	}
}

// leaveDeleted ends the task if its origin was deleted, and reports whether it was.
func (t *task) leaveDeleted(ctx context.Context) bool {
	if !t.isOriginDeleted() {
		return false
	}
	if err := t.originGone(ctx); err != nil {
		t.end(OriginDeleted, nil, nil, command.Say("it was deleted; %s", t.describeUndeleted(err)))
	}
	return true
}

// isOriginDeleted reports whether the origin is gone or being deleted. No later command finds it.
func (t *task) isOriginDeleted() bool {
	return t.news.isOriginGone.Load() || t.originNow != nil && t.originNow.GetDeletionTimestamp() != nil
}

// describeUndeleted says why the mirror of a deleted origin may remain, and names the command that deletes
// it, unless leaveUnanswered does.
func (t *task) describeUndeleted(err error) command.Prose {
	on, remedy := t.worker.Context, "Delete the mirror"
	state := command.Say("its mirror on %s may still run, because it could not be deleted: %v", on, err)
	switch {
	case t.mirrorRef.UID == "":
		remedy = "Delete the mirror if it exists"
		state = command.Say("cannot tell whether it has a mirror on %s: %v", on, err)
	case t.mirrorNow != nil && string(t.mirrorNow.GetUID()) == t.mirrorRef.UID && hasResult(t.Kind, t.mirrorNow):
		state = command.Say("its mirror on %s finished, and stays until it is deleted: %v", on, err)
	}
	if t.creation.isUnanswered {
		return state
	}
	return command.Say("%s. %s: %s", state, remedy, t.deletion())
}

// deletion returns the command that deletes the mirror.
func (t *task) deletion() command.Command {
	return t.worker.Kubectl(t.mirrorRef.Namespace, "delete", command.KindName(t.Kind), t.mirrorRef.Name)
}

// leaveUnanswered prepares the end e of a task whose request to create a mirror may still arrive. The
// Lease remains, because it says where to search. If the dispatch may be resumed, the Lease is left to
// expire, which gives the request time.
func (t *task) leaveUnanswered(e EventType) {
	const late = "the request to create its mirror on %s had no answer and may still arrive. %s"
	on := t.worker.Context
	switch {
	case e == OriginDeleted, t.isOriginDeleted():
		t.record(Warned, command.Say(late, on, command.Say("Delete the mirror if it appears: %s", t.deletion())))
		return
	case e == Completed, e == JobFailed, e == Cancelled:
		t.record(Warned, command.Say(late, on, "Run cancel in a minute: it deletes the mirror"))
	case e == Interrupted, e == TimedOut:
		// The end itself says so: see leave.
		t.lease.unreleased.Store(true)
	default:
		t.record(Warned, command.Say(late, on, "Run the same command again to find out"))
		t.lease.unreleased.Store(true)
	}
	t.leaveLease = true
}

// mirrorState describes what a remaining mirror does.
func (t *task) mirrorState() string {
	switch {
	case hasResult(t.Kind, t.mirrorNow):
		return "has finished"
	case t.mirrorNow.GetDeletionTimestamp() != nil:
		return "is being deleted"
	case object.StateOf(t.Kind, t.mirrorNow).Suspend && t.mirrorNow.GetLabels()[delegation.QueueNameLabel] != "":
		return "stays suspended until Kueue there admits it"
	case object.StateOf(t.Kind, t.mirrorNow).Suspend && t.Plan != nil && !object.StateOf(t.Kind, t.Plan.Mirror).Suspend:
		return "stays suspended: a webhook suspended it, as Kueue does if it manages all Jobs"
	case object.StateOf(t.Kind, t.mirrorNow).Suspend:
		return "stays suspended"
	}
	return "keeps running"
}

// finishEnded ends the task if the final status is already stored on the origin, and reports
// whether it did.
func (t *task) finishEnded(ctx context.Context) bool {
	how := t.knownEnd()
	if how == nil {
		return false
	}
	if err := t.finish(ctx, t.originNow, how); err != nil {
		remains := command.Say("its mirror on %s stays until the same command is run again: %v", t.worker.Context, err)
		if t.isOriginDeleted() {
			remains = t.describeUndeleted(err)
		}
		t.record(Warned, remains)
		t.endAs(t.originNow, how)
	}
	return true
}

// undo deletes the mirror unless it has finished, removes it from the origin, and ends the task.
func (t *task) undo(ctx context.Context, end EventType) {
	on := t.worker.Context
	err := errors.New("its Lease is not held; another dispatcher may run it")
	switch {
	case hasResult(t.Kind, t.mirrorNow):
		err = errKept
	case t.lease.held():
		err = t.removeUnfinished(ctx)
	}
	if errors.Is(err, errKept) {
		t.end(end, nil, nil, command.Say("its mirror on %s finished, and stays until its result is copied to the origin", on))
		return
	}
	if err != nil {
		t.end(end, nil, nil, command.Say("its mirror on %s could not be removed, and %s: %v", on, t.mirrorState(), err))
		return
	}
	if err := t.unpin(ctx); err != nil {
		t.end(end, nil, nil, command.Say("its mirror on %s was deleted, but the origin could not be updated: %v", on, err))
		return
	}
	t.leaveLease = false
	t.end(end, nil, nil, command.Say("deleted on %s; the origin is unfinished", on))
}

// unpin removes the mirror annotation from the origin, and the Pods from its status.
func (t *task) unpin(ctx context.Context) error {
	return retry.RetryOnConflict(contended(), func() error {
		live, err := t.origin.get(ctx, t.Kind, t.ref)
		if err != nil || live == nil || live.GetUID() != t.UID {
			return err
		}
		if err := t.checkOwner(live); err != nil {
			return err
		}
		if object.EndOf(t.Kind, live) == nil {
			status, err := workloadOf(t.Kind).stoppedStatus(live)
			if err != nil {
				return err
			}
			if live, err = t.origin.patch(ctx, t.Kind, live, "status", map[string]any{"status": status}); err != nil {
				return err
			}
		}
		t.originNow, err = t.origin.patch(ctx, t.Kind, live, "", map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{delegation.MirrorAnnotation: nil}},
		})
		return err
	})
}
