package dispatch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// pin records the mirror in an annotation on the origin, and returns the stored origin. If
// another dispatcher was faster, it ends the task.
func (t *task) pin(ctx context.Context, origin *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	named := pinnedMirror(origin)
	place := withKnown(t.mirrorRef.place(t.mirrorRef.UID), named)
	if named == place && !isCancelled(origin) {
		t.wasPinned = true
		return origin, nil
	}
	if t.namesAnother(origin) {
		// The holder of a Lease that names the target creates the mirror. An annotation is
		// weaker: any user may write it.
		switch err := t.lease.confirm(ctx); {
		case apierrors.IsConflict(err):
			return nil, t.yieldMirror(ctx, fmt.Errorf("%s: another dispatcher created a mirror of it meanwhile, holds its Lease, and the origin names that one", t.ref.WithKind()))
		case err != nil:
			return nil, err
		}
		t.record(Warned, command.Say("its annotation %s named %s/%s on %s; corrected to its mirror on %s",
			delegation.MirrorAnnotation, named.Namespace, named.Name, named.Cluster(), t.worker.Context))
	}
	written, err := t.origin.patch(ctx, t.Kind, origin, "", map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{delegation.MirrorAnnotation: place.String(), delegation.CancelledAnnotation: nil}},
	})
	if err != nil {
		return nil, fmt.Errorf("cannot record the mirror on the origin: %w", err)
	}
	t.originNow, t.wasPinned = written, true
	return written, nil
}

// withKnown adds to a mark the UIDs that another mark of the same mirror knows. The author of
// that mark may have had more rights.
func withKnown(mark, place delegation.Place) delegation.Place {
	if mark.UID == place.UID && mark.Namespace == place.Namespace && mark.Name == place.Name {
		mark.ClusterUID = cmp.Or(mark.ClusterUID, place.ClusterUID)
		mark.NamespaceUID = cmp.Or(mark.NamespaceUID, place.NamespaceUID)
	}
	return mark
}

// namesAnother reports whether an origin names another dispatcher's mirror. The mirror that ours
// replaces does not count, and neither does a place that was searched and has no mirror.
func (t *task) namesAnother(origin *unstructured.Unstructured) bool {
	named := pinnedMirror(origin)
	return named.UID != "" && named.UID != t.mirrorRef.UID && named.UID != t.supersededUID && !slices.Contains(t.Cleared, named)
}

// yield ends the task of an origin that another dispatcher has. If this task lost its Lease
// without noticing while it created a mirror, there may be two. The other dispatcher may continue
// with ours, so yield waits until the origin names a mirror.
func (t *task) yield(ctx context.Context, to error) (requeueAfter time.Duration, err error) {
	to = fmt.Errorf("%s: %w", t.ref.WithKind(), to)
	if err := t.findUnanswered(ctx); err != nil {
		return 0, err
	}
	if t.createdUID == "" {
		t.abort(to)
		return 0, nil
	}
	live, err := t.origin.get(ctx, t.Kind, t.ref)
	if err != nil {
		return 0, err
	}
	if live == nil || live.GetUID() != t.UID {
		if err := t.origin.proveGone(ctx, t.Kind, t.ref); err != nil {
			return 0, err
		}
		return 0, t.originVanished(ctx)
	}
	if t.yieldedAt.IsZero() {
		t.yieldedAt = t.clock.Now()
	}
	switch named := pinnedMirror(live).UID; {
	case named == t.createdUID:
		t.abort(to)
	case t.namesAnother(live):
		return 0, t.yieldMirror(ctx, to)
	case t.clock.Since(t.yieldedAt) < yieldTimeout:
		return time.Second, nil
	default:
		t.abort(fmt.Errorf("%w; its mirror on %s remains, although the origin does not name it. Delete both with cancel", to, t.worker.Context))
	}
	return 0, nil
}

// findUnanswered checks whether a mirror exists whose creation got no response.
func (t *task) findUnanswered(ctx context.Context) error {
	if !t.isUnanswered || t.createdUID != "" {
		return nil
	}
	found, err := t.findMirror(ctx)
	if err != nil {
		return err
	}
	t.isUnanswered = false
	if found {
		t.createdUID = t.mirrorRef.UID
	}
	return nil
}

// yieldMirror ends the task of an origin that names another dispatcher's mirror. It deletes the
// mirror that this task has created, if any.
func (t *task) yieldMirror(ctx context.Context, cause error) error {
	if err := t.findUnanswered(ctx); err != nil {
		return err
	}
	if t.createdUID != "" && t.createdUID == t.mirrorRef.UID {
		if err := t.removeMirror(ctx, ", because the origin names the mirror of another dispatcher"); err != nil {
			return err
		}
	}
	t.abort(cause)
	return nil
}
