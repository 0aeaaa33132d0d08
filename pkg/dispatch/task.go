package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
)

// task is what is known of one Job while it is dispatched. The queue gives it to
// one worker at a time, which may use all of its fields; what others use too says
// so.
type task struct {
	*Loop
	Task
	ref Ref
	// worker is the mirror's cluster, and queue that of its tasks.
	worker *side
	queue  taskQueue
	// mirrorRef has a uid once the mirror is known. It is then ours, and no other
	// Job of that name is.
	mirrorRef Ref
	lease     *lease

	// originNow and mirrorNow are what our last writes returned: newer than what the
	// informers have, until these catch up.
	originNow, mirrorNow *unstructured.Unstructured
	// replace is whether a mirror that is gone is made anew; it holds until one
	// was made.
	replace bool
	// made is the uid of the mirror that was created by this task, and superseded that
	// of the one which the origin may still name instead, because it is gone.
	made, superseded string
	// leaving is the uid of the mirror that was said to be being deleted.
	leaving string
	// toldPods is whether it was said that pods of an earlier mirror are waited for.
	toldPods bool
	// isUnanswered is whether the creation of a mirror had no answer: there may be one that
	// is ours, and of which we do not know.
	isUnanswered bool
	// isSupplied is whether all is there that the mirror's pods need, or will not be.
	isSupplied bool
	// announced is whether the mirror was told of, and ran whether pods of it were
	// seen to run.
	announced, ran bool

	// before is the planned mirror by which the mirror was written last.
	before *unstructured.Unstructured
	push   pushState
	copy   copyState
	copier copier
	// wasPinned is whether the origin was seen to name its mirror.
	wasPinned bool

	// told is the error that was told last.
	told command.Prose
	// otherHolder is who dispatches the Job, where that is not us. The goroutine that
	// keeps the Lease sets it.
	otherHolder atomic.Pointer[HeldError]
	// elsewhere is that its dispatch was begun with another target, which was not searched.
	// The goroutine that keeps the Lease sets it.
	elsewhere atomic.Pointer[TargetError]
	// yieldedAt is when that was first known.
	yieldedAt time.Time
	// vanished is whether the Lease was found to be wanted for an origin that is gone.
	// The goroutine that keeps the Lease sets it, and it stays so.
	vanished atomic.Bool
	// refused is whether credentials were refused since all went well.
	refused refusal
	// leaseTold is the error with the Lease that was told last.
	leaseTold atomic.Pointer[command.Prose]
	// seen is when a change of the mirror's status was noticed that is not yet on
	// the origin, nil if there is none. Informers set it.
	seen atomic.Pointer[time.Time]

	ending sync.Mutex
	// ended is closed when outcome is set, and neither changes after that.
	ended   chan struct{}
	outcome *Outcome
	// leaveLease is whether the Lease stays when the task has ended: its Job is to
	// be gone on with.
	leaveLease bool
}

// sync does what is to be done next. It returns after how long it wants to be
// called although nothing happens, 0 for never.
func (t *task) sync(ctx context.Context) (again time.Duration, err error) {
	again, err = t.step(ctx)
	var (
		other     *ForeignError
		elsewhere *TargetError
	)
	if errors.As(err, &elsewhere) {
		// The Lease stays: it says where somebody else's mirror may be.
		t.leaveLease = true
		t.elsewhere.Store(elsewhere)
		return 0, conflict(t.Kind, t.Name)
	}
	if isUnidentified(err) || errors.As(err, &other) {
		// No later try can tell more.
		t.leaveLease = true
		t.abort(fmt.Errorf("%s: %w", t.ref.WithKind(), err))
		return 0, nil
	}
	return again, err
}

func (t *task) step(ctx context.Context) (again time.Duration, err error) {
	if elsewhere := t.elsewhere.Load(); elsewhere != nil {
		return t.yield(ctx, elsewhere)
	}
	if held := t.otherHolder.Load(); held != nil {
		return t.yield(ctx, held)
	}
	origin, err := t.readOrigin(ctx)
	if err != nil {
		return 0, err
	}
	if origin == nil {
		return 0, t.originVanished(ctx)
	}
	how := object.EndOf(t.Kind, origin)
	switch {
	case how == nil && origin.GetDeletionTimestamp() != nil:
		return 0, t.originGone(ctx)
	case !t.lease.held():
		// Whoever holds it does the rest, or we do once we have it.
		return 0, nil
	case how != nil:
		return 0, t.finish(ctx, origin, how)
	}
	if owner := object.OwnerOf(t.Kind, origin); owner != cmp.Or(t.options.Plan.Owner, delegation.Dispatch) {
		t.abort(t.takenOver(owner))
		return 0, nil
	}
	if cancelled, err := t.cancelled(ctx, origin); err != nil || cancelled {
		if err == nil {
			err = t.originCancelled(ctx, origin)
		}
		return 0, err
	}
	return t.carryOut(ctx, origin)
}

// carryOut sees to it that an origin which is ours to run has its mirror, has it name
// that before anything is copied, so that whoever goes on finds the same one, and brings
// both into step.
func (t *task) carryOut(ctx context.Context, origin *unstructured.Unstructured) (time.Duration, error) {
	mirror, err := t.ensureMirror(ctx, origin)
	if err != nil || mirror == nil {
		return 0, err
	}
	if origin, err = t.pin(ctx, origin); err != nil || t.hasEnded() {
		return 0, err
	}
	return t.follow(ctx, origin, mirror)
}

// takenOver says that an origin has another owner now, which only some kinds let
// happen.
func (t *task) takenOver(owner delegation.Owner) error {
	return command.Errorf("%s: its %s was changed, and is %s now, so nothing is copied any more; its mirror on %s is left, and may run beside it: %s",
		t.ref.WithKind(), content.Dotted(t.Kind.ManagedBy), owner, t.worker.Context,
		t.worker.Kubectl(t.mirrorRef.Namespace, "delete", command.KindName(t.Kind), t.mirrorRef.Name))
}

// follow brings an origin and its mirror into step: first what the user asked
// for, then what came of it.
func (t *task) follow(ctx context.Context, origin, mirror *unstructured.Unstructured) (time.Duration, error) {
	var unpushed error
	if object.EndOf(t.Kind, mirror) == nil {
		if mirror.GetDeletionTimestamp() != nil {
			// Its pods are being taken away, and what its status says until it is gone
			// is no news of the Job.
			t.tellLeaving(mirror)
			return 0, nil
		}
		// That it cannot be told what the user wants is no reason not to tell the
		// user what it does.
		unpushed = t.pushSpec(ctx, origin, mirror)
	}
	stored, again, err := t.copyStatus(ctx, origin, mirror)
	if err != nil || t.hasEnded() {
		return 0, err
	}
	if how := object.EndOf(t.Kind, stored); how != nil {
		return 0, t.finish(ctx, stored, how)
	}
	if unpushed != nil {
		return 0, unpushed
	}
	if t.options.DetachAfterStart && object.StatusOf(t.Kind, stored) == delegation.Running {
		t.leaveLease = true
		t.end(Detached, stored, nil, command.Say("it runs on %s; %s", t.worker.Context, "its status is not copied any more"))
	}
	return again, nil
}

// readOrigin returns the origin as it is now, nil if it is proven to be gone, or
// another has its name.
func (t *task) readOrigin(ctx context.Context) (*unstructured.Unstructured, error) {
	cached := t.cached(t.origin, t.ref)
	if cached != nil && cached.GetUID() == t.UID && !t.vanished.Load() {
		t.originNow = newer(cached, t.originNow)
		return t.originNow, nil
	}
	live, err := t.origin.get(ctx, t.Kind, t.ref)
	if err != nil {
		return nil, err
	}
	if live == nil || live.GetUID() != t.UID {
		return nil, t.origin.proveGone(ctx, t.Kind, t.ref)
	}
	t.originNow = newer(live, t.originNow)
	return t.originNow, nil
}

// record tells of something that happened to this Job.
func (t *task) record(e EventType, message command.Prose) { t.events.Record(t.event(e, message)) }

func (t *task) event(e EventType, message command.Prose) Event {
	event := Event{Event: e, Origin: &t.ref, Message: string(message)}
	if t.mirrorRef.UID != "" {
		mirror := t.mirrorRef
		event.Mirror = &mirror
	}
	if t.originNow != nil {
		t.setState(&event, t.originNow)
	}
	return event
}

// setState puts the state of the origin into an event. Pods that have ended, and
// are not counted yet, have run all the same.
func (t *task) setState(e *Event, origin *unstructured.Unstructured) {
	e.setState(t.Kind, origin)
	switch {
	case !t.Kind.IsJob():
	case e.Status == delegation.Running:
		t.ran = true
	case e.Status == delegation.Pending && t.ran:
		e.Status = delegation.Running
	}
}

// end tells how the task ended, and that it did. Only the first end counts.
func (t *task) end(e EventType, origin *unstructured.Unstructured, cause error, message command.Prose) {
	t.ending.Lock()
	defer t.ending.Unlock()
	if t.hasEnded() {
		return
	}
	event := t.event(e, message)
	if origin != nil {
		t.setState(&event, origin)
	}
	t.outcome = &Outcome{Kind: t.Kind, Origin: t.ref, Mirror: event.Mirror, End: e, Err: cause}
	t.events.Record(event)
	close(t.ended)
}

// abort ends the task with an error, and leaves everything as it is.
func (t *task) abort(cause error) {
	t.end(Aborted, nil, cause, command.Told(cause))
}

func (t *task) hasEnded() bool {
	select {
	case <-t.ended:
		return true
	default:
		return false
	}
}

func originUID(r Ref) types.UID { return types.UID(r.UID) }

// pinned is the mirror that an origin names; zero if it names none.
func pinned(origin *unstructured.Unstructured) delegation.Place {
	if m := delegation.MarksOf(origin.GetLabels(), origin.GetAnnotations()); m != nil {
		return m.Mirror
	}
	return delegation.Place{}
}

// namesMirror says whether an origin has anything to say of a mirror, be it nonsense.
func namesMirror(origin *unstructured.Unstructured) bool {
	return origin.GetAnnotations()[delegation.MirrorAnnotation] != ""
}

// newer returns the one of two states of a Job that was stored later.
func newer(a, b *unstructured.Unstructured) *unstructured.Unstructured {
	if b == nil || a.GetUID() != b.GetUID() {
		return a
	}
	// Servers of which this cannot be told are older than the rule that it always
	// can (KEP-5504); there, what was read last is taken.
	if order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion()); err == nil && order < 0 {
		return b
	}
	return a
}
