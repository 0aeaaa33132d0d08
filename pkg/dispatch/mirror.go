package dispatch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
)

// ensureMirror returns the mirror, and creates it if there was none. It returns nil if the task
// has ended, because the mirror was deleted or another object has its name.
func (t *task) ensureMirror(ctx context.Context, origin *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if t.mirrorRef.UID == "" {
		final, err := t.adoptRecorded(ctx, origin)
		if err != nil {
			return nil, err
		}
		if final != nil {
			return nil, t.yieldMirror(ctx, final)
		}
	}
	mirror, err := t.readMirror(ctx)
	if err != nil {
		return nil, err
	}
	if mirror == nil || string(mirror.GetUID()) != t.mirrorRef.UID || t.creation.replaces {
		if mirror, err = t.anotherMirror(ctx, origin, mirror); err != nil || mirror == nil {
			return nil, err
		}
	}
	if !isMirrorOf(mirror, t.ref.UID) {
		return nil, newForeignError(t.worker.Cluster, t.Kind, mirror, t.ref)
	}
	t.creation.replaces = false
	t.adopt(mirror)
	if !t.reported.mirror {
		t.reported.mirror = true
		t.record(MirrorFound, command.Say("its mirror on %s already exists", t.worker.Context))
	}
	if err := t.copyDependencies(ctx, t.mirrorNow); err != nil || t.hasEnded() {
		return nil, err
	}
	return t.mirrorNow, nil
}

// adopt records an existing mirror. A late request to create it would find the name taken.
func (t *task) adopt(mirror *unstructured.Unstructured) {
	t.mirrorRef.UID = string(mirror.GetUID())
	t.mirrorNow = newer(mirror, t.mirrorNow)
	t.creation.isUnanswered = false
}

// anotherMirror handles a missing or unexpected mirror. It returns the mirror to continue with,
// or nil if the task has ended.
func (t *task) anotherMirror(ctx context.Context, origin, mirror *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	expected := t.mirrorRef.UID
	isExpected := mirror != nil && string(mirror.GetUID()) == expected
	isOurs := mirror != nil && isMirrorOf(mirror, t.ref.UID)
	mustCreate := expected == "" || t.creation.replaces
	switch {
	case mirror != nil && mirror.GetDeletionTimestamp() != nil && (mustCreate || isOurs && !isExpected):
		// Another mirror is created when this one is gone.
		t.reportTerminating(mirror)
		return nil, conflict(t.Kind, t.Name)
	case isExpected:
		return mirror, nil
	case isOurs:
		t.creation.supersededUID = expected
		return mirror, nil
	case mirror != nil && mustCreate:
		t.abort(t.nameTaken(mirror))
		return nil, nil
	}
	return t.withoutMirror(ctx, origin, mirror)
}

// withoutMirror creates a missing mirror. If the expected mirror is proven to be gone, it ends
// the task, unless the mirror may be replaced. other is the object that has the mirror's name;
// nil if there is none.
func (t *task) withoutMirror(ctx context.Context, origin, other *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	expected := t.mirrorRef.UID
	if expected != "" {
		if err := t.worker.proveGone(ctx, t.Kind, t.mirrorRef); err != nil {
			return nil, err
		}
	}
	switch {
	case expected == "" || t.creation.replaces:
		t.creation.supersededUID = expected
		return t.createMirror(ctx, origin)
	case other == nil:
		return nil, t.mirrorDeleted(ctx, "was deleted")
	}
	return nil, t.mirrorDeleted(ctx, command.Say("was deleted and replaced by another %s,", strings.ToLower(t.Kind.Kind)))
}

// reportTerminating reports once that the task waits for the deletion of a mirror, and which
// finalizers hold it.
func (t *task) reportTerminating(mirror *unstructured.Unstructured) {
	if t.reported.isRepeatedDeletion(string(mirror.GetUID())) {
		return
	}
	held := ""
	if finalizers := mirror.GetFinalizers(); len(finalizers) > 0 {
		held = ", held by the finalizers " + strings.Join(finalizers, ", ")
	}
	t.record(Warned, command.Say("%s on %s has been terminating since %s%s; waiting until it is gone",
		t.mirrorRef.WithKind(), t.worker.Context, mirror.GetDeletionTimestamp().UTC().Format(time.RFC3339), held))
}

// readMirror returns the object with the mirror's name; nil if there is none. It does not rely on
// the informer for absence, because the informer may list only objects with our label.
func (t *task) readMirror(ctx context.Context) (*unstructured.Unstructured, error) {
	cached := t.cached(t.worker, t.mirrorRef)
	if cached != nil && string(cached.GetUID()) == t.mirrorRef.UID {
		return newer(cached, t.mirrorNow), nil
	}
	return t.worker.get(ctx, t.Kind, t.mirrorRef)
}

// nameTaken returns the error for another object that has the mirror's name.
func (t *task) nameTaken(other *unstructured.Unstructured) error {
	if m := delegation.MarksOf(other.GetLabels(), other.GetAnnotations()); m != nil && m.OriginUID != "" {
		return fmt.Errorf("%s on %s is the mirror of another origin (UID %s); --namespace-to puts this one elsewhere, and cancel ends that one",
			t.mirrorRef.WithKind(), t.worker.Context, m.OriginUID)
	}
	return fmt.Errorf("%s already exists on %s and belongs to another owner; it was not changed. --namespace-to puts the mirror elsewhere",
		t.mirrorRef.WithKind(), t.worker.Context)
}

// mirrorDeleted ends the task if another client deleted the mirror. Cancelling or deleting a Job
// ends the origin first and the mirror afterwards, but the informers may report them in the
// opposite order. So it reads the origin again before it reports a deleted mirror.
func (t *task) mirrorDeleted(ctx context.Context, how command.Prose) error {
	live, err := t.origin.get(ctx, t.Kind, t.ref)
	if err != nil {
		return err
	}
	wasCancelled := live != nil && t.wasPinned && isCancelled(live)
	if live == nil || live.GetUID() != t.UID || live.GetDeletionTimestamp() != nil || object.HasFinished(t.Kind, live) || wasCancelled {
		if live != nil && live.GetUID() == t.UID {
			t.originNow = newer(live, t.originNow)
		}
		return conflict(t.Kind, t.Name)
	}
	message := command.Say("its mirror on %s %s by another client; the origin stays as it is. dispatch --new-mirror starts it again from scratch, cancel ends it",
		t.worker.Context, how)
	t.record(MirrorDeleted, message)
	t.abortResumable(command.Errorf("%s: %s", t.ref.WithKind(), message))
	return nil
}

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
	return named.UID != "" && named.UID != t.mirrorRef.UID && named.UID != t.creation.supersededUID && !slices.Contains(t.Cleared, named)
}

// yield ends the task of an origin that another dispatcher has. If this task lost its Lease
// without noticing while it created a mirror, there may be two. The other dispatcher may continue
// with ours, so yield waits until the origin names a mirror.
func (t *task) yield(ctx context.Context, to error) (requeueAfter time.Duration, err error) {
	to = fmt.Errorf("%s: %w", t.ref.WithKind(), to)
	if err := t.findUnclear(ctx); err != nil {
		return 0, err
	}
	if t.creation.ownUID == "" {
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
	case t.creation.isOwn(named):
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

// findUnclear checks whether a failed request has created a mirror. As long as it may still arrive, a
// later call checks again.
func (t *task) findUnclear(ctx context.Context) error {
	if !t.creation.isUnclear || t.creation.ownUID != "" {
		return nil
	}
	found, err := t.findMirror(ctx)
	if err != nil {
		return err
	}
	t.creation.isUnclear = t.creation.isUnanswered
	if found {
		t.creation.ownUID = t.mirrorRef.UID
	}
	return nil
}

// yieldMirror ends the task of an origin that names another dispatcher's mirror. It deletes the
// mirror that this task has created, if any.
func (t *task) yieldMirror(ctx context.Context, cause error) error {
	if err := t.findUnclear(ctx); err != nil {
		return err
	}
	if t.creation.isOwn(t.mirrorRef.UID) {
		if err := t.removeMirror(ctx, ", because the origin names the mirror of another dispatcher"); err != nil {
			return err
		}
	}
	t.abort(cause)
	return nil
}
