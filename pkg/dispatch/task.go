package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// task is the state of one Job while it is dispatched. The queue gives a task to one goroutine at
// a time, which may use all of its fields. Fields that other goroutines use are marked.
type task struct {
	*Loop
	Task
	ref Ref
	// worker is the mirror's cluster. queue is the task queue of that cluster.
	worker *side
	queue  taskQueue
	// mirrorRef has a UID once the mirror is known to be ours. No other Job with its name is.
	mirrorRef Ref
	lease     *lease

	// originNow and mirrorNow are the results of our last writes. They are newer than the
	// informers' copies until the informers catch up.
	originNow, mirrorNow *unstructured.Unstructured
	// creation is what this task knows of creating the mirror. push and copy are the states of writing to
	// the mirror and to the origin.
	creation creation
	push     pushState
	copy     copyState
	copier   copier
	// wasPinned is whether the origin was seen to name its mirror. hasRun is whether Pods of the mirror
	// were seen running.
	wasPinned, hasRun bool

	// reported is what was reported already. unauthorized is whether the server refused our credentials
	// since the last success.
	reported     reports
	unauthorized refusal
	// news are what the goroutine of the Lease has found out.
	news leaseNews
	// yieldedAt is when the task first had to yield.
	yieldedAt time.Time
	// changedAt is when a change of the mirror's status was noticed that is not yet on the
	// origin; nil if there is none. Informers set it.
	changedAt atomic.Pointer[time.Time]

	ending sync.Mutex
	// ended is closed when outcome is set. Neither changes afterwards.
	ended   chan struct{}
	outcome *Outcome
	// leaveLease is whether the Lease remains after the task, because the dispatch will be
	// resumed.
	leaveLease bool
}

// sync does the next step of the task. It returns the delay after which it has to be called again
// even without a change; 0 for never.
func (t *task) sync(ctx context.Context) (requeueAfter time.Duration, err error) {
	requeueAfter, err = t.step(ctx)
	var (
		other     *foreignError
		elsewhere *targetError
	)
	if errors.As(err, &elsewhere) {
		// The Lease remains: it says where another dispatcher's mirror may be.
		t.leaveLease = true
		t.news.hear(elsewhere)
		return 0, conflict(t.Kind, t.Name)
	}
	if kubecontext.IsUnidentified(err) || errors.As(err, &other) {
		// Later attempts have the same result.
		t.abortResumable(fmt.Errorf("%s: %w", t.ref.WithKind(), err))
		return 0, nil
	}
	return requeueAfter, err
}

func (t *task) step(ctx context.Context) (requeueAfter time.Duration, err error) {
	if other := t.news.other(); other != nil {
		return t.yield(ctx, other)
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
		// The holder of the Lease continues, or we do once we hold it.
		return 0, nil
	case how != nil:
		return 0, t.finish(ctx, origin, how)
	}
	if err := t.checkOwner(origin); err != nil {
		t.abort(t.ownerChanged(ctx, err))
		return 0, nil
	}
	if cancelled, err := t.cancelled(ctx, origin); err != nil || cancelled {
		if err == nil {
			err = t.originCancelled(ctx, origin)
		}
		return 0, err
	}
	return t.reconcile(ctx, origin)
}

// reconcile ensures that our origin has a mirror and names it, and then syncs both. The origin has
// to name the mirror before anything is copied, so that the next dispatcher finds the same
// mirror.
func (t *task) reconcile(ctx context.Context, origin *unstructured.Unstructured) (time.Duration, error) {
	mirror, err := t.ensureMirror(ctx, origin)
	if err != nil || mirror == nil {
		return 0, err
	}
	if origin, err = t.pin(ctx, origin); err != nil || t.hasEnded() {
		return 0, err
	}
	return t.follow(ctx, origin, mirror)
}

// checkOwner returns an *ownerChangedError if the user did not name the origin's owner.
func (t *task) checkOwner(origin *unstructured.Unstructured) error {
	return checkOwner(t.Kind, t.ref, cmp.Or(t.options.Plan.Owner, delegation.Dispatch), origin)
}

// ownerChanged returns the error for an origin with another owner.
func (t *task) ownerChanged(ctx context.Context, changed error) error {
	changed = fmt.Errorf("%w: the status is no longer copied", changed)
	found, err := t.findMirror(ctx)
	if isKnown := err != nil && t.mirrorRef.UID != ""; !found && !isKnown {
		// Another object may have the name of the mirror.
		return changed
	}
	return command.Errorf("%w. %s", changed, keepsRunning(t.worker.Cluster, t.Kind, t.mirrorRef))
}

// follow syncs an origin and its mirror: first the user's changes, then the resulting status.
func (t *task) follow(ctx context.Context, origin, mirror *unstructured.Unstructured) (time.Duration, error) {
	var unpushed error
	switch isFinal := hasResult(t.Kind, mirror); {
	case !isFinal && mirror.GetDeletionTimestamp() != nil:
		// Its Pods are being deleted. From now on its status says nothing about the Job.
		t.reportTerminating(mirror)
		return 0, nil
	case !isFinal:
		// The status is copied even if the user's changes cannot be written.
		unpushed = t.pushSpec(ctx, origin, mirror)
	}
	stored, requeueAfter, err := t.copyStatus(ctx, origin, mirror)
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
		t.end(Detached, stored, nil, command.Say("runs on %s; %s", t.worker.Context, "its status is no longer copied"))
	}
	return requeueAfter, nil
}

// readOrigin returns the current origin; nil if it is proven to be gone or to be replaced by
// another object.
func (t *task) readOrigin(ctx context.Context) (*unstructured.Unstructured, error) {
	cached := t.cached(t.origin, t.ref)
	if cached != nil && cached.GetUID() == t.UID && !t.news.isOriginGone.Load() {
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

// record reports an event of this Job.
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

// setState copies the state of the origin into an event. A Job whose Pods have ended but are not
// counted yet is reported as Running.
func (t *task) setState(e *Event, origin *unstructured.Unstructured) {
	e.setState(t.Kind, origin)
	switch {
	case !t.Kind.IsJob():
	case e.Status == delegation.Running:
		t.hasRun = true
	case e.Status == delegation.Pending && t.hasRun:
		e.Status = delegation.Running
	}
}

// end records the outcome of the task and reports it. Only the first call has an effect.
func (t *task) end(e EventType, origin *unstructured.Unstructured, cause error, message command.Prose) {
	t.ending.Lock()
	defer t.ending.Unlock()
	if t.hasEnded() {
		return
	}
	if t.creation.isUnanswered {
		t.leaveUnanswered(e)
	}
	event := t.event(e, message)
	if origin != nil {
		t.setState(&event, origin)
	}
	t.outcome = &Outcome{Kind: t.Kind, Origin: t.ref, Mirror: event.Mirror, End: e, Err: cause}
	t.events.Record(event)
	close(t.ended)
}

// abort ends the task with an error, and changes nothing in the clusters.
func (t *task) abort(cause error) {
	t.end(Aborted, nil, cause, command.ProseOf(cause))
}

// abortResumable aborts the task and leaves its Lease, because the dispatch will be resumed.
func (t *task) abortResumable(cause error) {
	t.leaveLease = true
	t.abort(cause)
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

// pinnedMirror returns the mirror that an origin names; zero if it names none.
func pinnedMirror(origin *unstructured.Unstructured) delegation.Place {
	if m := delegation.MarksOf(origin.GetLabels(), origin.GetAnnotations()); m != nil {
		return m.Mirror
	}
	return delegation.Place{}
}

// namesMirror reports whether an origin has a mirror annotation, even a malformed one.
func namesMirror(origin *unstructured.Unstructured) bool {
	return origin.GetAnnotations()[delegation.MirrorAnnotation] != ""
}

// newer returns the later of two versions of an object.
func newer(a, b *unstructured.Unstructured) *unstructured.Unstructured {
	if b == nil || a.GetUID() != b.GetUID() {
		return a
	}
	// Servers whose versions cannot be compared are older than the guarantee that they can
	// (KEP-5504). For these, the version read last is the newer one.
	if order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion()); err == nil && order < 0 {
		return b
	}
	return a
}

// contended returns the retries of a write to an origin that a running dispatch writes, too: for
// some five seconds. Each status that the dispatch copies meanwhile costs one retry.
func contended() wait.Backoff {
	return wait.Backoff{Steps: 9, Duration: 10 * time.Millisecond, Factor: 2, Jitter: 0.5}
}

// mayPass reports whether the same request may succeed later. A server refuses an invalid request
// every time; but a webhook may recover, and credentials may be renewed. An interrupt says nothing about
// the request: client-go returns the plain error of a context that was done before it started (client-go:
// rest/with_retry.go).
func mayPass(err error) bool {
	if !kubecontext.IsAnswer(err) {
		return kubecontext.IsConnection(err) || errors.Is(err, context.Canceled)
	}
	return !apierrors.IsBadRequest(err) && !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) &&
		!apierrors.IsNotFound(err) && !apierrors.IsRequestEntityTooLargeError(err)
}

// conflict returns an error that causes an immediate retry.
func conflict(k delegation.Kind, name string) error {
	return apierrors.NewConflict(k.Resource.GroupResource(), name, errors.New("retrying"))
}
