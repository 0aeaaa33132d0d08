package dispatch

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
)

// finish ends the task of an origin that has ended, by our copy or by cancel. It reads the mirror
// again, because the mirror may be deleted next.
func (t *task) finish(ctx context.Context, origin *unstructured.Unstructured, how *object.End) error {
	if leavesMirror(origin) {
		t.endAs(origin, how)
		return nil
	}
	if t.mirrorRef.UID == "" {
		t.mirrorRef.UID = pinnedMirror(t.originNow).UID
	}
	err := t.endMirror(ctx)
	if err != nil && (mayPass(err) || apierrors.IsConflict(err)) {
		return err
	}
	if err != nil {
		t.record(Warned, command.Say("its mirror on %s stays until it is deleted: %v", t.worker.Context, err))
	}
	t.endAs(origin, how)
	return nil
}

// endMirror deletes the mirror of an ended origin. If the mirror has finished, too, endMirror
// applies the TTL.
func (t *task) endMirror(ctx context.Context) error {
	if err := t.findUnclear(ctx); err != nil {
		return err
	}
	if t.mirrorRef.UID == "" {
		return nil
	}
	mirror, err := t.worker.get(ctx, t.Kind, t.mirrorRef)
	switch {
	case err != nil:
		return err
	case mirror == nil || string(mirror.GetUID()) != t.mirrorRef.UID:
		return t.worker.proveGone(ctx, t.Kind, t.mirrorRef)
	case !isMirrorOf(mirror, t.ref.UID):
		return newForeignError(t.worker.Cluster, t.Kind, mirror, t.ref)
	case !object.HasFinished(t.Kind, mirror):
		return t.removeMirror(ctx, ", because its origin was ended from outside")
	}
	return t.deleteOrExpire(ctx, mirror)
}

// endAs ends the task with the result of the origin.
func (t *task) endAs(origin *unstructured.Unstructured, how *object.End) {
	end, message := Completed, command.Prose("")
	if how.Failed {
		end, message = JobFailed, "it failed"
		if how.Reason == CancelReason {
			end, message = Cancelled, "it was cancelled"
		}
		if how.Reason != "" {
			message = command.Say("%s (%s): %s", message, how.Reason, how.Message)
		}
	}
	t.end(end, origin, nil, message)
}

// deleteOrExpire deletes a finished mirror, now or after its TTL.
func (t *task) deleteOrExpire(ctx context.Context, mirror *unstructured.Unstructured) error {
	ttl := t.options.MirrorTTL
	switch {
	case ttl < 0 || mirror.GetDeletionTimestamp() != nil:
		return nil
	case ttl == 0:
		return t.removeMirror(ctx, "")
	case hasTTL(t.Kind, mirror):
		return nil
	}
	if t.Kind.OtherTTL {
		// This field has another meaning: it would delete the objects that the mirror created.
		// KubeRay refuses it on a RayJob without shutdownAfterJobFinishes, even on a finished
		// one.
		t.warnKept(mirror)
		return nil
	}
	patch := map[string]any{}
	if err := unstructured.SetNestedField(patch, int64((ttl+time.Second-1)/time.Second), t.Kind.TTL()...); err != nil {
		return err
	}
	written, err := t.worker.patch(ctx, t.Kind, mirror, "", patch)
	if err == nil && !hasTTL(t.Kind, written) {
		// The API server silently drops a field that is not in its schema.
		t.warnKept(mirror)
	}
	return err
}

// warnKept reports that no controller deletes a finished mirror.
func (t *task) warnKept(mirror *unstructured.Unstructured) {
	t.record(Warned, command.Say("its mirror on %s stays until it is deleted, because nothing deletes a finished %s there by itself: %s; --mirror-ttl=0 does so at once",
		t.worker.Context, t.Kind.Kind, t.worker.Kubectl(mirror.GetNamespace(), "delete", command.KindName(t.Kind), mirror.GetName())))
}

// hasTTL reports whether the mirror's controller deletes it after it has finished. The field is
// set only once the final status is stored on the origin.
func hasTTL(k delegation.Kind, mirror *unstructured.Unstructured) bool {
	_, ok, _ := unstructured.NestedInt64(mirror.Object, k.TTL()...)
	return ok && !k.OtherTTL
}

// originVanished ends the task of an origin that is proven to be gone. If its final status was
// stored, the dispatch has succeeded: the origin may have ttlSecondsAfterFinished 0.
func (t *task) originVanished(ctx context.Context) error {
	t.news.isOriginGone.Store(true)
	if how := t.knownEnd(); how != nil {
		return t.finish(ctx, t.originNow, how)
	}
	return t.originGone(ctx)
}

// knownEnd returns the end of the origin as last seen; nil if it had not ended. A final status whose answer
// was lost counts if the origin is gone: its TTL controller may have deleted it for that end. It does not
// count if a later version of the origin was unfinished.
func (t *task) knownEnd() *object.End {
	if t.originNow == nil {
		return nil
	}
	how, sent := object.EndOf(t.Kind, t.originNow), t.copy.unansweredEnd
	if how != nil || sent == nil || !t.news.isOriginGone.Load() || sent.GetResourceVersion() != t.originNow.GetResourceVersion() {
		return how
	}
	t.originNow = sent
	return object.EndOf(t.Kind, sent)
}

// originGone deletes the mirror of a deleted origin, and ends the task.
func (t *task) originGone(ctx context.Context) error {
	if err := t.removeFound(ctx, ", because its origin is gone"); err != nil {
		return err
	}
	t.end(OriginDeleted, nil, nil, "it was deleted")
	return nil
}

// cancelled reports whether cancel has ended an origin of a kind that never ends. It relies only
// on the annotation with the origin's UID. A failed status may come from the mirror, and a
// missing mirror annotation may come from a user's kubectl replace. It reads the origin from the
// server, because the informer may be behind.
func (t *task) cancelled(ctx context.Context, origin *unstructured.Unstructured) (bool, error) {
	if !t.wasPinned || !t.Kind.NeverEnds() || !isCancelled(origin) {
		return false, nil
	}
	live, err := t.origin.get(ctx, t.Kind, t.ref)
	if err != nil {
		return false, err
	}
	return live != nil && live.GetUID() == t.UID && isCancelled(live), nil
}

// isCancelled reports whether cancel has annotated this origin.
func isCancelled(origin *unstructured.Unstructured) bool {
	is, _ := delegation.ReadCancelledMark(origin.GetAnnotations()[delegation.CancelledAnnotation], string(origin.GetUID()))
	return is
}

// leavesMirror reports whether cancel has ended this origin and left its mirror.
func leavesMirror(origin *unstructured.Unstructured) bool {
	_, leaves := delegation.ReadCancelledMark(origin.GetAnnotations()[delegation.CancelledAnnotation], string(origin.GetUID()))
	return leaves
}

// originCancelled ends the task of a cancelled origin, and deletes its mirror unless cancel left
// it.
func (t *task) originCancelled(ctx context.Context, origin *unstructured.Unstructured) error {
	if leavesMirror(origin) {
		t.end(Cancelled, nil, nil, command.Say("cancelled; its mirror on %s remains", t.worker.Context))
		return nil
	}
	if err := t.removeFound(ctx, ", because its origin was cancelled"); err != nil {
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
	t.adopt(mirror)
	return true, nil
}

// removeFound searches the mirror, deletes it if it exists, and reports why.
func (t *task) removeFound(ctx context.Context, why command.Prose) error {
	found, err := t.findMirror(ctx)
	if err != nil || !found {
		return err
	}
	return t.removeMirror(ctx, why)
}

// removeMirror deletes the mirror and reports why.
func (t *task) removeMirror(ctx context.Context, why command.Prose) error {
	removed, err := removeMirror(ctx, t.worker.Cluster, t.Kind, t.mirrorRef, t.ref)
	t.recordRemoval(removed, why)
	return err
}

// removeUnfinished deletes the mirror. It returns errKept if the mirror has a result, which may not be on
// the origin yet.
func (t *task) removeUnfinished(ctx context.Context) error {
	isUnfinished := func(o *unstructured.Unstructured) bool { return !hasResult(t.Kind, o) }
	removed, err := removeMirrorIf(ctx, t.worker.Cluster, t.Kind, t.mirrorRef, t.ref, isUnfinished)
	t.recordRemoval(removed, "")
	return err
}

// recordRemoval reports that the mirror was removed, and why.
func (t *task) recordRemoval(removed bool, why command.Prose) {
	if removed {
		t.record(MirrorRemoved, command.Say("deleted on %s%s", t.worker.Context, why))
	}
}
