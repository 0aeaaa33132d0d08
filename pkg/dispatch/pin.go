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

// pin writes on the origin which mirror it has, and returns it as it is then. Where
// somebody else was faster the task has ended.
func (t *task) pin(ctx context.Context, origin *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	named := pinned(origin)
	place := withKnown(t.mirrorRef.place(t.mirrorRef.UID), named)
	if named == place && !isCancelled(origin) {
		t.wasPinned = true
		return origin, nil
	}
	if t.namesAnother(origin) {
		// Who holds the Lease, with its mirror as the target, makes the mirror. An annotation
		// may be anybody's.
		switch err := t.lease.confirm(ctx); {
		case apierrors.IsConflict(err):
			return nil, t.outdone(ctx, fmt.Errorf("%s: somebody else has made a mirror of it meanwhile, holds its Lease, and it is theirs that the origin names", t.ref.WithKind()))
		case err != nil:
			return nil, err
		}
		t.record(Warned, command.Say("its annotation %s named %s/%s on %s; it names its mirror on %s again",
			delegation.MirrorAnnotation, named.Namespace, named.Name, named.Cluster(), t.worker.Context))
	}
	written, err := t.origin.patch(ctx, t.Kind, origin, "", map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{delegation.MirrorAnnotation: place.String(), delegation.CancelledAnnotation: nil}},
	})
	if err != nil {
		return nil, fmt.Errorf("cannot note the mirror on the origin: %w", err)
	}
	t.originNow, t.wasPinned = written, true
	return written, nil
}

// withKnown is a mark with what another mark of the same mirror knows beyond it of the
// cluster: its writer may have had more rights.
func withKnown(mark, there delegation.Place) delegation.Place {
	if mark.UID == there.UID && mark.Namespace == there.Namespace && mark.Name == there.Name {
		mark.ClusterUID = cmp.Or(mark.ClusterUID, there.ClusterUID)
		mark.NamespaceUID = cmp.Or(mark.NamespaceUID, there.NamespaceUID)
	}
	return mark
}

// namesAnother says whether an origin names a mirror that is not ours: another
// dispatcher's, if it is not the one that ours stands for, nor one that was searched in vain.
func (t *task) namesAnother(origin *unstructured.Unstructured) bool {
	named := pinned(origin)
	return named.UID != "" && named.UID != t.mirrorRef.UID && named.UID != t.superseded && !slices.Contains(t.Cleared, named)
}

// yield ends the task of an origin that somebody else dispatches. One that was about
// to create the mirror when it lost the Lease, and did not know, has made one too
// many, unless the other one goes on with it: that is known once the origin names a
// mirror.
func (t *task) yield(ctx context.Context, to error) (again time.Duration, err error) {
	to = fmt.Errorf("%s: %w", t.ref.WithKind(), to)
	if err := t.acknowledge(ctx); err != nil {
		return 0, err
	}
	if t.made == "" {
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
	switch named := pinned(live).UID; {
	case named == t.made:
		t.abort(to)
	case t.namesAnother(live):
		return 0, t.outdone(ctx, to)
	case t.clock.Since(t.yieldedAt) < yieldTimeout:
		return time.Second, nil
	default:
		t.abort(fmt.Errorf("%w; its mirror on %s is left, which the origin does not name: cancel ends both", to, t.worker.Context))
	}
	return 0, nil
}

// acknowledge finds out whether there is a mirror of ours whose creation had no answer.
func (t *task) acknowledge(ctx context.Context) error {
	if !t.isUnanswered || t.made != "" {
		return nil
	}
	found, err := t.lookForMirror(ctx)
	if err != nil {
		return err
	}
	t.isUnanswered = false
	if found {
		t.made = t.mirrorRef.UID
	}
	return nil
}

// outdone ends the task of an origin that names a mirror of somebody else's, and
// removes ours, if we have made one.
func (t *task) outdone(ctx context.Context, cause error) error {
	if err := t.acknowledge(ctx); err != nil {
		return err
	}
	if t.made != "" && t.made == t.mirrorRef.UID {
		if err := t.removeMirror(ctx, ", because somebody else's is the one that the origin names"); err != nil {
			return err
		}
	}
	t.abort(cause)
	return nil
}
