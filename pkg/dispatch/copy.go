package dispatch

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// minWriteInterval is the minimum time between two writes of an origin's status.
const minWriteInterval = 100 * time.Millisecond

// drainGrace is how long at least the final status of a mirror is held back while the mirror
// still counts Pods. Only workers before Kubernetes 1.31 report the end that early.
const drainGrace = time.Minute

// copyState is the state of writing the origin's status.
type copyState struct {
	// lastWrite is the time of the last write.
	lastWrite time.Time
	// rejected is the last status that the API server refused.
	rejected rejection
	// heldSince is when the mirror's final status began to be held back; zero if it is not.
	heldSince time.Time
	// reported are the differences already reported.
	reported sets.Set[string]
}

// copyStatus writes the mirror's status to the origin if that changes anything. It returns the
// stored origin, and the delay after which it has to be called again; 0 for never.
func (t *task) copyStatus(ctx context.Context, origin, mirror *unstructured.Unstructured) (*unstructured.Unstructured, time.Duration, error) {
	now := t.clock.Now()
	if wait := t.copy.lastWrite.Add(minWriteInterval).Sub(now); wait > 0 {
		return origin, wait, nil
	}
	forced := !t.copy.heldSince.IsZero() && now.Sub(t.copy.heldSince) > t.grace(mirror)
	result, err := t.copier.statusFor(origin, mirror, forced)
	if err != nil {
		return nil, 0, err
	}
	t.reportDiverged(result.diverged)
	requeueAfter := t.hold(result.held, forced, now)
	if result.status == nil {
		t.changedAt.Store(nil)
		if object.EndOf(t.Kind, mirror) != nil && object.EndOf(t.Kind, origin) == nil && !result.held {
			// Later attempts cannot succeed either.
			t.leaveLease = true
			t.abort(fmt.Errorf("%s: its mirror on %s ended, and its result cannot be copied to the origin: %s", t.ref.WithKind(), t.worker.Context, strings.Join(result.diverged, "; ")))
		}
		return origin, requeueAfter, nil
	}
	if wait := t.copy.rejected.remaining(origin, mirror, now); wait > 0 {
		return origin, wait, nil
	}
	stored, err := t.origin.patch(ctx, t.Kind, t.originNow, "status", map[string]any{"status": result.status})
	if apierrors.IsInvalid(err) {
		t.copy.lastWrite = t.clock.Now()
		return origin, max(requeueAfter, rejectionRetry), t.refusedStatus(origin, mirror, err)
	}
	if err != nil {
		// The queue delays the retry. Setting copy.last would return a wait instead, which the
		// queue counts as success.
		return nil, 0, err
	}
	t.copy.lastWrite = t.clock.Now()
	if !result.held {
		t.copy.heldSince = time.Time{}
	}
	t.originNow = stored
	if lost := t.copier.onStored(mirror, stored); lost != "" {
		t.reportDiverged([]string{lost})
	}
	event := t.event(StatusCopied, "")
	event.Message = string(event.Status)
	event.LagSeconds = t.copyLag()
	t.events.Record(event)
	if result.more {
		requeueAfter = minWriteInterval
	}
	return stored, requeueAfter, nil
}

// refusedStatus handles a status that the API server refused: the copier may have an alternative
// to try. If that is refused, too, refusedStatus reports it.
func (t *task) refusedStatus(origin, mirror *unstructured.Unstructured, err error) error {
	if t.copier.onRefused() {
		return conflict(t.Kind, t.Name)
	}
	isRepeated := t.copy.rejected.mirror == mirror.GetResourceVersion()
	t.copy.rejected = rejection{origin: origin.GetResourceVersion(), mirror: mirror.GetResourceVersion(), since: t.clock.Now()}
	if isRepeated {
		return nil
	}
	t.record(StatusRefused, command.Say("context %s rejects the mirror's status; retrying when it changes: %s", t.origin.Context, kubecontext.Causes(err)))
	return nil
}

// rejectionRetry is the delay before retrying a status that the API server refused. A policy or a
// webhook may be the cause, and both can change.
const rejectionRetry = 30 * time.Second

// rejection identifies the versions of the origin and the mirror whose status the API server
// refused.
type rejection struct {
	origin, mirror string
	since          time.Time
}

// remaining returns how much longer the rejection applies to these versions.
func (r rejection) remaining(origin, mirror *unstructured.Unstructured, now time.Time) time.Duration {
	if r.origin != origin.GetResourceVersion() || r.mirror != mirror.GetResourceVersion() {
		return 0
	}
	return r.since.Add(rejectionRetry).Sub(now)
}

// hold records since when the final status is held back, and returns when to check again. A
// forced end keeps the record until it is stored.
func (t *task) hold(held, forced bool, now time.Time) (requeueAfter time.Duration) {
	switch {
	case !held && forced:
		return 0
	case !held:
		t.copy.heldSince = time.Time{}
		return 0
	case t.copy.heldSince.IsZero():
		t.copy.heldSince = now
		t.record(Warned, command.Say("the mirror on %s finished, but still counts Pods; its result is copied when they are gone", t.worker.Context))
	}
	return time.Second
}

// grace returns how long Pods may take to terminate.
func (t *task) grace(mirror *unstructured.Unstructured) time.Duration {
	if s, ok := content.At(mirror, "spec", "template", "spec", "terminationGracePeriodSeconds").(int64); ok {
		return max(drainGrace, time.Duration(s)*time.Second+drainGrace/2)
	}
	return drainGrace
}

func (t *task) reportDiverged(sentences []string) {
	for _, s := range sentences {
		if t.copy.reported == nil {
			t.copy.reported = sets.New[string]()
		}
		if !t.copy.reported.Has(s) {
			t.copy.reported.Insert(s)
			t.record(Warned, command.Text(s))
		}
	}
}
