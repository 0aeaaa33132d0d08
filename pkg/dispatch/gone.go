package dispatch

import (
	"context"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// originVanished ends the task of an origin that is not there any more. One whose
// end had landed has reached its goal: its own ttlSecondsAfterFinished may be 0.
func (t *task) originVanished(ctx context.Context) error {
	if t.originNow != nil {
		last, err := typedJob(t.originNow)
		if err != nil {
			return err
		}
		if c := finished(&last.Status); c != nil {
			return t.finish(ctx, last, c)
		}
	}
	return t.originGone(ctx)
}

// originGone ends the task when the origin is deleted, and its mirror with it.
func (t *task) originGone(ctx context.Context) error {
	found, err := t.lookForMirror(ctx)
	if err != nil {
		return err
	}
	if found {
		if err := t.removeMirror(ctx, ", because its origin is gone"); err != nil {
			return err
		}
	}
	t.dropDependencies(ctx)
	t.end(OriginDeleted, nil, nil, "it was deleted")
	return nil
}

// lookForMirror asks the worker whether our mirror is there, whatever was known of
// it so far, and notes its uid.
func (t *task) lookForMirror(ctx context.Context) (found bool, err error) {
	mirror, err := t.worker.get(ctx, t.mirrorRef)
	if err != nil || mirror == nil {
		return false, err
	}
	if mirror.GetLabels()[delegation.OriginUIDLabel] != t.ref.UID && string(mirror.GetUID()) != t.mirrorRef.UID {
		return false, nil
	}
	t.mirrorRef.UID = string(mirror.GetUID())
	t.mirrorNow = mirror
	return true, nil
}

// removeMirror deletes the mirror, and tells why.
func (t *task) removeMirror(ctx context.Context, why string) error {
	removed, err := t.worker.remove(ctx, t.mirrorRef)
	if removed {
		t.record(MirrorRemoved, "deleted on "+t.worker.Context+why)
	}
	return err
}
