package dispatch

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
)

// originVanished ends the task of an origin that no longer exists. If its final status was
// stored, the dispatch has succeeded: the origin may have ttlSecondsAfterFinished 0.
func (t *task) originVanished(ctx context.Context) error {
	if t.originNow != nil {
		if how := object.EndOf(t.Kind, t.originNow); how != nil {
			return t.finish(ctx, t.originNow, how)
		}
	}
	return t.originGone(ctx)
}

// originGone deletes the mirror of a deleted origin, and ends the task.
func (t *task) originGone(ctx context.Context) error {
	found, err := t.findMirror(ctx)
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

// cancelled reports whether cancel has ended an origin of a kind that never ends. It relies only
// on the annotation with the origin's UID. A failed status may come from the mirror, and a
// missing mirror annotation may come from a user's kubectl replace. It reads the origin from the
// server, because the informer may be behind.
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

// abandonedSuffix follows the origin's UID in delegation.CancelledAnnotation if the mirror
// remains.
const abandonedSuffix = "/abandon-mirror"

// isCancelled reports whether cancel has annotated this origin. An annotation that was copied
// from another origin does not count.
func isCancelled(origin *unstructured.Unstructured) bool {
	mark := origin.GetAnnotations()[delegation.CancelledAnnotation]
	return mark != "" && strings.TrimSuffix(mark, abandonedSuffix) == string(origin.GetUID())
}

// leavesMirror reports whether cancel has ended this origin and left its mirror.
func leavesMirror(origin *unstructured.Unstructured) bool {
	return isCancelled(origin) && strings.HasSuffix(origin.GetAnnotations()[delegation.CancelledAnnotation], abandonedSuffix)
}

// originCancelled ends the task of a cancelled origin, and deletes its mirror unless cancel left
// it.
func (t *task) originCancelled(ctx context.Context, origin *unstructured.Unstructured) error {
	if leavesMirror(origin) {
		t.end(Cancelled, nil, nil, command.Say("cancelled; its mirror on %s remains", t.worker.Context))
		return nil
	}
	found, err := t.findMirror(ctx)
	if err == nil && found {
		err = t.removeMirror(ctx, ", because its origin was cancelled")
	}
	if err != nil {
		return err
	}
	t.end(Cancelled, nil, nil, "it was cancelled")
	return nil
}

// findMirror asks the worker whether our mirror exists, regardless of earlier knowledge, and
// records its UID. If it returns false, either another object has the mirror's name, or the
// mirror is proven to be absent.
func (t *task) findMirror(ctx context.Context) (found bool, err error) {
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

// removeMirror deletes the mirror and reports why.
func (t *task) removeMirror(ctx context.Context, why command.Prose) error {
	removed, err := removeMirror(ctx, t.worker.Cluster, t.Kind, t.mirrorRef, t.ref)
	if removed {
		t.record(MirrorRemoved, command.Say("deleted on %s%s", t.worker.Context, why))
	}
	return err
}
