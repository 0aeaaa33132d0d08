package dispatch

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
)

// ensureMirror returns the mirror, and makes it if there was none. It is nil where
// the task has ended, because somebody has deleted it or has something else in its
// place.
func (t *task) ensureMirror(ctx context.Context, origin *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if t.mirrorRef.UID == "" {
		final, err := t.expect(ctx, origin)
		if err != nil {
			return nil, err
		}
		if final != nil {
			return nil, t.outdone(ctx, final)
		}
	}
	mirror, err := t.readMirror(ctx)
	if err != nil {
		return nil, err
	}
	if mirror == nil || string(mirror.GetUID()) != t.mirrorRef.UID || t.replace {
		if mirror, err = t.anotherMirror(ctx, origin, mirror); err != nil || mirror == nil {
			return nil, err
		}
	}
	if !isMirrorOf(mirror, t.ref.UID) {
		return nil, foreign(t.worker.Cluster, t.Kind, mirror, t.ref)
	}
	t.replace = false
	t.mirrorRef.UID = string(mirror.GetUID())
	t.mirrorNow = newer(mirror, t.mirrorNow)
	if !t.announced {
		t.announced = true
		t.record(MirrorFound, command.Say("its mirror on %s was there already", t.worker.Context))
	}
	if err := t.supply(ctx, t.mirrorNow); err != nil || t.hasEnded() {
		return nil, err
	}
	return t.mirrorNow, nil
}

// anotherMirror decides what becomes of a task whose mirror is not there, or not the
// one that was expected. It returns the one to continue with, nil if the task has
// ended.
func (t *task) anotherMirror(ctx context.Context, origin, mirror *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	expected := t.mirrorRef.UID
	isExpected := mirror != nil && string(mirror.GetUID()) == expected
	isOurs := mirror != nil && isMirrorOf(mirror, t.ref.UID)
	isToBeMade := expected == "" || t.replace
	switch {
	case mirror != nil && mirror.GetDeletionTimestamp() != nil && (isToBeMade || isOurs && !isExpected):
		// Another one is made when it is gone.
		t.tellLeaving(mirror)
		return nil, conflict(t.Kind, t.Name)
	case isExpected:
		return mirror, nil
	case isOurs:
		t.superseded = expected
		return mirror, nil
	case mirror != nil && isToBeMade:
		t.abort(t.taken(mirror))
		return nil, nil
	}
	return t.withoutMirror(ctx, origin, mirror)
}

// withoutMirror makes a mirror where there is none, or ends the task where the one that was
// expected is proven to be gone. other is what has its name.
func (t *task) withoutMirror(ctx context.Context, origin, other *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	expected := t.mirrorRef.UID
	if expected != "" {
		if err := t.worker.proveGone(ctx, t.Kind, t.mirrorRef); err != nil {
			return nil, err
		}
	}
	switch {
	case expected == "" || t.replace:
		t.superseded = expected
		return t.createMirror(ctx, origin)
	case other == nil:
		return nil, t.mirrorDeleted(ctx, "was deleted")
	}
	return nil, t.mirrorDeleted(ctx, command.Say("was deleted, and another %s made in its place,", strings.ToLower(t.Kind.Kind)))
}

// tellLeaving says once that a mirror is being deleted and waited for, with what may hold it.
func (t *task) tellLeaving(mirror *unstructured.Unstructured) {
	if t.leaving == string(mirror.GetUID()) {
		return
	}
	t.leaving = string(mirror.GetUID())
	held := ""
	if finalizers := mirror.GetFinalizers(); len(finalizers) > 0 {
		held = ", held by the finalizers " + strings.Join(finalizers, ", ")
	}
	t.record(Warned, command.Say("%s on %s is being deleted since %s%s; waiting until it is gone",
		t.mirrorRef.WithKind(), t.worker.Context, mirror.GetDeletionTimestamp().UTC().Format(time.RFC3339), held))
}

// readMirror returns what has the mirror's name, nil if nothing has. That is never
// believed of an informer alone, which may see only what carries our mark.
func (t *task) readMirror(ctx context.Context) (*unstructured.Unstructured, error) {
	cached := t.cached(t.worker, t.mirrorRef)
	if cached != nil && string(cached.GetUID()) == t.mirrorRef.UID {
		return newer(cached, t.mirrorNow), nil
	}
	return t.worker.get(ctx, t.Kind, t.mirrorRef)
}

// taken says that something else has the mirror's name.
func (t *task) taken(other *unstructured.Unstructured) error {
	if m := delegation.MarksOf(other.GetLabels(), other.GetAnnotations()); m != nil && m.OriginUID != "" {
		return fmt.Errorf("%s on %s is the mirror of another origin (uid %s); --namespace-to puts this one elsewhere, and cancel ends that one",
			t.mirrorRef.WithKind(), t.worker.Context, m.OriginUID)
	}
	return fmt.Errorf("there is %s on %s already that is none of ours; it was left alone. --namespace-to puts the mirror elsewhere",
		object.WithArticle(t.mirrorRef.WithKind()), t.worker.Context)
}

// mirrorDeleted ends the task when somebody else ended its mirror. Whoever cancels
// a Job, or deletes it, ends the origin first, and the mirror then; news of the two
// may come in the other way round.
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
	message := command.Say("its mirror on %s %s by somebody else; the origin stays as it is. dispatch --new-mirror runs it again from the start, cancel ends it",
		t.worker.Context, how)
	t.record(MirrorDeleted, message)
	t.leaveLease = true
	t.abort(command.Errorf("%s: %s", t.ref.WithKind(), message))
	return nil
}
