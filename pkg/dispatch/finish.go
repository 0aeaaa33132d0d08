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
		return foreignError(t.worker.Cluster, t.Kind, mirror, t.ref)
	case !object.HasFinished(t.Kind, mirror):
		return t.removeMirror(ctx, ", because its origin was ended from outside")
	}
	return t.deleteOrExpire(ctx, mirror)
}

// endAs ends the task with the result of the origin.
func (t *task) endAs(origin *unstructured.Unstructured, how *object.End) {
	end, message := Completed, command.Prose("it is complete")
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
