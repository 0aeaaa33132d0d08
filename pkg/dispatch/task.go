package dispatch

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// task is what is known of one Job while it is dispatched. The queue gives it to
// one worker at a time, which may use all of its fields; what others use too says
// so.
type task struct {
	*Loop
	Task
	ref Ref
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
	// announced is whether the mirror was told of, and ran whether pods of it were
	// seen to run.
	announced, ran bool

	// planned is the plan of what the origin was as plannedFor; before is the one
	// by which the mirror was written last.
	planned, before *unstructured.Unstructured
	plannedFor      wish
	push            pushState
	copy            copyState

	// told is the error that was told last.
	told string
	// otherHolder is who dispatches the Job, where that is not us. The goroutine that
	// keeps the Lease sets it.
	otherHolder atomic.Pointer[HeldError]
	// leaseTold is the error with the Lease that was told last.
	leaseTold atomic.Pointer[string]
	// seen is when a change of the mirror's status was noticed that is not yet on
	// the origin, in nanoseconds, 0 if there is none. Informers set it.
	seen atomic.Int64

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
	if held := t.otherHolder.Load(); held != nil {
		t.abort(fmt.Errorf("job %s: %w", t.ref, held))
		return 0, nil
	}
	origin, err := t.readOrigin(ctx)
	if err != nil {
		return 0, err
	}
	if origin == nil {
		return 0, t.originVanished(ctx)
	}
	typed, err := typedJob(origin)
	if err != nil {
		return 0, err
	}
	c := finished(&typed.Status)
	switch {
	case c == nil && origin.GetDeletionTimestamp() != nil:
		return 0, t.originGone(ctx)
	case !t.lease.held():
		// Whoever holds it does the rest, or we do once we have it.
		return 0, nil
	case c != nil:
		return 0, t.finish(ctx, typed, c)
	}
	mirror, err := t.ensureMirror(ctx, origin)
	if err != nil || mirror == nil {
		return 0, err
	}
	if origin, err = t.pin(ctx, origin); err != nil {
		return 0, err
	}
	return t.follow(ctx, origin, mirror)
}

// follow brings an origin and its mirror into step: first what the user asked
// for, then what came of it.
func (t *task) follow(ctx context.Context, origin, mirror *unstructured.Unstructured) (time.Duration, error) {
	typedOrigin, err := typedJob(origin)
	if err != nil {
		return 0, err
	}
	typedMirror, err := typedJob(mirror)
	if err != nil {
		return 0, err
	}
	var unpushed error
	if finished(&typedMirror.Status) == nil {
		if mirror.GetDeletionTimestamp() != nil {
			// Its pods are being taken away, and what its status says until it is gone
			// is no news of the Job.
			return 0, nil
		}
		// That it cannot be told what the user wants is no reason not to tell the
		// user what it does.
		unpushed = t.pushSpec(ctx, origin, mirror)
	}
	stored, again, err := t.copyStatus(ctx, typedOrigin, typedMirror)
	if err != nil || t.hasEnded() {
		return 0, err
	}
	if c := finished(&stored.Status); c != nil {
		return 0, t.finish(ctx, stored, c)
	}
	if unpushed != nil {
		return 0, unpushed
	}
	if t.options.DetachAfterStart && hasStarted(stored) {
		t.leaveLease = true
		t.end(Detached, stored, nil, fmt.Sprintf("it runs on %s; %s", t.worker.Context, "its status is not copied any more"))
	}
	return again, nil
}

// hasStarted says whether pods of a Job run or have run.
func hasStarted(job *batchv1.Job) bool { return statusOf(job) == delegation.Running }

// readOrigin returns the origin as it is now, nil if it is gone or another has
// its name. That is never believed of an informer alone.
func (t *task) readOrigin(ctx context.Context) (*unstructured.Unstructured, error) {
	cached := t.cached(t.origin, t.ref)
	if cached != nil && cached.GetUID() == t.UID {
		t.originNow = newer(cached, t.originNow)
		return t.originNow, nil
	}
	live, err := t.origin.get(ctx, t.ref)
	if err != nil || live == nil || live.GetUID() != t.UID {
		return nil, err
	}
	t.originNow = newer(live, t.originNow)
	return t.originNow, nil
}

// record tells of something that happened to this Job.
func (t *task) record(e EventType, message string) { t.events.Record(t.event(e, message)) }

func (t *task) event(e EventType, message string) Event {
	event := Event{Event: e, Origin: &t.ref, Message: message}
	if t.mirrorRef.UID != "" {
		mirror := t.mirrorRef
		event.Mirror = &mirror
	}
	if t.originNow != nil {
		if origin, err := typedJob(t.originNow); err == nil {
			t.setState(&event, origin)
		}
	}
	return event
}

// setState puts the state of the origin into an event. Pods that have ended, and
// are not counted yet, have run all the same.
func (t *task) setState(e *Event, origin *batchv1.Job) {
	e.setState(origin)
	switch {
	case e.Status == delegation.Running:
		t.ran = true
	case e.Status == delegation.Pending && t.ran:
		e.Status = delegation.Running
	}
}

// end tells how the task ended, and that it did. Only the first end counts.
func (t *task) end(e EventType, origin *batchv1.Job, cause error, message string) {
	t.ending.Lock()
	defer t.ending.Unlock()
	if t.hasEnded() {
		return
	}
	event := t.event(e, message)
	if origin != nil {
		t.setState(&event, origin)
	}
	t.outcome = &Outcome{Origin: t.ref, Mirror: event.Mirror, End: e, Err: cause}
	t.events.Record(event)
	close(t.ended)
}

// abort ends the task with an error, and leaves everything as it is.
func (t *task) abort(cause error) {
	t.end(Aborted, nil, cause, cause.Error())
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

// place is what an annotation says of a Job.
func place(r Ref, uid string) delegation.Place {
	cluster := r.ClusterUID
	if cluster == "" {
		cluster = unknownCluster
	}
	return delegation.Place{ClusterUID: cluster, Namespace: r.Namespace, Name: r.Name, UID: uid}
}

// unknownCluster stands in marks for the identity of a cluster that the user may
// not read.
const unknownCluster = "unknown"

// pin writes on the origin which mirror it has, and returns it as it is then.
func (t *task) pin(ctx context.Context, origin *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	mark := place(t.mirrorRef, t.mirrorRef.UID).String()
	if origin.GetAnnotations()[delegation.MirrorAnnotation] == mark {
		return origin, nil
	}
	written, err := t.origin.patch(ctx, origin, "", map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{delegation.MirrorAnnotation: mark}},
	})
	if err != nil {
		return nil, fmt.Errorf("could not note the mirror on the origin: %w", err)
	}
	t.originNow = written
	return written, nil
}

// pinned is the mirror that an origin names; zero if it names none.
func pinned(origin *unstructured.Unstructured) delegation.Place {
	if m := delegation.MarksOf(origin.GetLabels(), origin.GetAnnotations()); m != nil {
		return m.Mirror
	}
	return delegation.Place{}
}
