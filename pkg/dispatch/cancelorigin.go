package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// failOrigin ends the origin unless it has already ended, and returns the stored object. It returns
// nil if the origin was deleted meanwhile and has mirrors to delete. If ctx is done before the first write,
// it changes nothing. It does not cut off a write, whose result would be unknown, and completes an end
// that takes several writes.
func (x *cancellation) failOrigin(ctx context.Context) (*unstructured.Unstructured, error) {
	stored, err := x.endOrigin(ctx)
	var changed *ownerChangedError
	switch {
	case errors.As(err, &changed):
		return nil, fmt.Errorf("%w, so it was not ended", err)
	case err != nil:
		return nil, fmt.Errorf("cannot end %s: %w", x.ref.WithKind(), err)
	}
	return stored, nil
}

// endOrigin is failOrigin with the plain errors. It tries again after conflicts and lost answers.
func (x *cancellation) endOrigin(ctx context.Context) (stored *unstructured.Unstructured, err error) {
	writing := ctx
	if len(x.dryRun) == 0 {
		writing = context.WithoutCancel(ctx)
	}
	// unclear is the error of a write that may have ended the origin, so it is read again.
	var unclear error
	isInterrupted := func() bool { return ctx.Err() != nil && !x.isWritten }
	isWorthIt := func(err error) bool {
		return !isInterrupted() && (apierrors.IsConflict(err) || unclear != nil && kubecontext.IsUnclear(err))
	}
	err = retry.OnError(contended(), isWorthIt, func() error {
		stored = nil
		reading := ctx
		if x.isWritten {
			reading = writing
		}
		live, err := x.readOrigin(reading)
		if err == nil && isInterrupted() {
			err = ctx.Err()
		}
		if err != nil || live == nil {
			return err
		}
		stored, err = x.end(writing, live)
		if kubecontext.IsUnclear(err) {
			unclear = err
		}
		return err
	})
	if isInterrupted() && (apierrors.IsConflict(err) || errors.Is(err, context.Canceled)) {
		err = cmp.Or(unclear, ctx.Err())
	}
	return stored, err
}

// readOrigin reads the origin that is to be ended. It returns nil if the origin was deleted meanwhile and has
// mirrors to delete.
func (x *cancellation) readOrigin(ctx context.Context) (*unstructured.Unstructured, error) {
	live, err := x.Origin.Get(ctx, x.kind.Resource, x.ref.Namespace, x.ref.Name)
	if err != nil {
		return nil, err
	}
	isGone := live == nil || string(live.GetUID()) != x.ref.UID
	switch {
	case isGone && len(x.mirrors) > 0:
		return nil, x.Origin.ProveGone(ctx, x.kind.Resource, x.ref.Namespace, x.ref.Name, x.ref.UID)
	case isGone:
		return nil, fmt.Errorf("context %q: %s was deleted meanwhile", x.ref.Context, x.ref.WithKind())
	}
	return live, checkOwner(x.kind, x.ref, x.Owner, live)
}

// write patches the origin, and records that it is written.
func (x *cancellation) write(ctx context.Context, origin *unstructured.Unstructured, subresource string, changes map[string]any) (*unstructured.Unstructured, error) {
	stored, err := patch(ctx, x.Origin, x.kind, origin, subresource, changes, x.dryRun...)
	x.isWritten = x.isWritten || err == nil && len(x.dryRun) == 0
	return stored, err
}

// end ends an origin as it was read, unless it has already ended, and returns the stored object.
func (x *cancellation) end(ctx context.Context, live *unstructured.Unstructured) (stored *unstructured.Unstructured, err error) {
	if object.EndOf(x.kind, live) != nil {
		return live, nil
	}
	if live, err = x.markAbandoned(ctx, live); err != nil {
		return nil, err
	}
	stored = live
	last, err := x.lastStatus(live)
	if err != nil {
		return nil, err
	}
	if last.status != nil {
		stored, err = x.write(ctx, live, "status", map[string]any{"status": last.status})
		if apierrors.IsInvalid(err) && last.isCopied && x.copier.onRefused() {
			// Servers before kubernetes PR 134769 accept no other startTime. The next attempt keeps the times.
			err = x.Origin.Failed(conflict(x.kind, x.ref.Name))
		}
		if err != nil {
			return nil, err
		}
	}
	if last.needsSecondWrite && len(x.dryRun) == 0 {
		// The final status takes two writes.
		return nil, x.Origin.Failed(conflict(x.kind, x.ref.Name))
	}
	return x.markCancelled(ctx, stored)
}

// markAbandoned annotates an origin whose mirror remains. This has to precede the end of the
// origin, because a dispatch that sees the end deletes the mirror otherwise.
func (x *cancellation) markAbandoned(ctx context.Context, origin *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if !x.Abandon || leavesMirror(origin) {
		return origin, nil
	}
	return x.write(ctx, origin, "", annotated(map[string]any{delegation.CancelledAnnotation: delegation.CancelledMark(x.ref.UID, true)}))
}

// markCancelled annotates an origin of a kind that never ends as cancelled, and removes its
// mirror annotation.
func (x *cancellation) markCancelled(ctx context.Context, origin *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if !x.kind.NeverEnds() || !namesMirror(origin) && isCancelled(origin) {
		return origin, nil
	}
	marks := map[string]any{delegation.MirrorAnnotation: nil}
	if !isCancelled(origin) {
		marks[delegation.CancelledAnnotation] = delegation.CancelledMark(x.ref.UID, false)
	}
	return x.write(ctx, origin, "", annotated(marks))
}

// lastStatus is the final status of a cancelled origin.
type lastStatus struct {
	// status is a merge patch; nil means that nothing has to be written.
	status any
	// needsSecondWrite is whether a second write has to follow.
	needsSecondWrite bool
	// isCopied is whether it is the status of a mirror.
	isCopied bool
}

// lastStatus returns the final status for a cancelled origin. It is written before the mirrors are
// deleted, which may fail.
func (x *cancellation) lastStatus(origin *unstructured.Unstructured) (lastStatus, error) {
	where := "no mirror was found"
	switch {
	case x.Abandon:
		where = "its mirror was left where it is"
	case len(x.mirrors) == 1:
		where = "cancel removes its mirror on " + x.mirrors[0].Cluster.Context
	case len(x.mirrors) > 1:
		where = fmt.Sprintf("cancel removes its %d mirrors", len(x.mirrors))
	}
	for _, m := range x.mirrors {
		if !hasResult(x.kind, m.Object) {
			continue
		}
		result, err := x.copier.statusFor(origin, m.Object, true)
		if err != nil {
			return lastStatus{}, err
		}
		if result.more || result.ended != nil {
			return lastStatus{status: result.status, needsSecondWrite: result.more, isCopied: true}, nil
		}
		// The API server does not accept this final status for the origin any more.
	}
	status, err := workloadOf(x.kind).failedStatus(origin, CancelReason, fmt.Sprintf("cancelled by %s; %s", x.Identity, where), x.Clock.Now())
	return lastStatus{status: status}, err
}
