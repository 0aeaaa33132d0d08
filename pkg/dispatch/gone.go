package dispatch

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
)

// originVanished ends the task of an origin that is not there any more. One whose
// end had landed has reached its goal: its own ttlSecondsAfterFinished may be 0.
func (t *task) originVanished(ctx context.Context) error {
	if t.originNow != nil {
		if how := object.EndOf(t.Kind, t.originNow); how != nil {
			return t.finish(ctx, t.originNow, how)
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
	t.end(OriginDeleted, nil, nil, "it was deleted")
	return nil
}

// cancelled reports whether cancel has ended an origin of a kind that never ends: it says so
// in an annotation with the origin's UID. A status that says that it has failed may have been
// the mirror's, and that the origin names no mirror any more may be a user's kubectl replace.
// An informer alone is not believed, which may be behind.
func (t *task) cancelled(ctx context.Context, origin *unstructured.Unstructured) (bool, error) {
	if !t.wasPinned || !object.NeverEnds(t.Kind) || !isCancelled(origin) {
		return false, nil
	}
	live, err := t.origin.get(ctx, t.Kind, t.ref)
	if err != nil {
		return false, err
	}
	return live != nil && live.GetUID() == t.UID && isCancelled(live), nil
}

// abandoned is what follows the origin's UID in delegation.CancelledAnnotation where the
// mirror is to stay.
const abandoned = "/abandon-mirror"

// isCancelled reports whether cancel has marked an origin. The mark of another origin, of
// which this one is a copy, counts for nothing.
func isCancelled(origin *unstructured.Unstructured) bool {
	mark := origin.GetAnnotations()[delegation.CancelledAnnotation]
	return mark != "" && strings.TrimSuffix(mark, abandoned) == string(origin.GetUID())
}

// leavesMirror reports whether cancel has ended an origin, and its mirror is to stay.
func leavesMirror(origin *unstructured.Unstructured) bool {
	return isCancelled(origin) && strings.HasSuffix(origin.GetAnnotations()[delegation.CancelledAnnotation], abandoned)
}

// originCancelled ends the task of such an origin, and its mirror with it.
func (t *task) originCancelled(ctx context.Context, origin *unstructured.Unstructured) error {
	if leavesMirror(origin) {
		t.end(Cancelled, nil, nil, command.Say("it was cancelled; its mirror on %s is left", t.worker.Context))
		return nil
	}
	found, err := t.lookForMirror(ctx)
	if err == nil && found {
		err = t.removeMirror(ctx, ", because its origin was cancelled")
	}
	if err != nil {
		return err
	}
	t.end(Cancelled, nil, nil, "it was cancelled")
	return nil
}

// lookForMirror asks the worker whether our mirror is there, whatever was known of
// it so far, and notes its uid. If it is not, that is proven.
func (t *task) lookForMirror(ctx context.Context) (found bool, err error) {
	mirror, err := t.worker.get(ctx, t.Kind, t.mirrorRef)
	switch {
	case err != nil:
		return false, err
	case mirror == nil:
		return false, t.worker.proveGone(ctx, t.Kind, t.mirrorRef)
	case !isMirrorOf(mirror, t.ref.UID):
		return false, nil
	}
	t.mirrorRef.UID = string(mirror.GetUID())
	t.mirrorNow = mirror
	return true, nil
}

// removeMirror deletes the mirror, and tells why.
func (t *task) removeMirror(ctx context.Context, why command.Prose) error {
	removed, err := removeMirror(ctx, t.worker.Cluster, t.Kind, t.mirrorRef, t.ref)
	if removed {
		t.record(MirrorRemoved, command.Say("deleted on %s%s", t.worker.Context, why))
	}
	return err
}
