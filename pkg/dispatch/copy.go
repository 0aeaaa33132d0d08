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

// pace is how long at least is between two writes of an origin's status.
const pace = 100 * time.Millisecond

// drainGrace is how long at least the end of a mirror is held back that still
// counts pods. Only workers before Kubernetes 1.31 say so too early.
const drainGrace = time.Minute

// copyState is what is remembered of writing to the origin's status.
type copyState struct {
	// last is when it was written last.
	last time.Time
	// refused is of when the server did not take a status.
	refused rejection
	// heldSince is since when the mirror's end is held back.
	heldSince time.Time
	// diverged is what was told already.
	diverged sets.Set[string]
}

// copyStatus writes the mirror's status to the origin, if that changes anything.
// It returns the origin as it is then, and after how long it wants to be called
// again.
func (t *task) copyStatus(ctx context.Context, origin, mirror *unstructured.Unstructured) (*unstructured.Unstructured, time.Duration, error) {
	now := t.clock.Now()
	if wait := t.copy.last.Add(pace).Sub(now); wait > 0 {
		return origin, wait, nil
	}
	forced := !t.copy.heldSince.IsZero() && now.Sub(t.copy.heldSince) > t.grace(mirror)
	result, err := t.copier.copied(origin, mirror, forced)
	if err != nil {
		return nil, 0, err
	}
	t.tellDiverged(result.diverged)
	again := t.hold(result.held, forced, now)
	if result.status == nil {
		t.seen.Store(nil)
		if object.EndOf(t.Kind, mirror) != nil && object.EndOf(t.Kind, origin) == nil && !result.held {
			// Nothing will ever change about that.
			t.leaveLease = true
			t.abort(fmt.Errorf("%s: its mirror on %s has ended, and the origin cannot be told: %s", t.ref.WithKind(), t.worker.Context, strings.Join(result.diverged, "; ")))
		}
		return origin, again, nil
	}
	if wait := t.copy.refused.lasts(origin, mirror, now); wait > 0 {
		return origin, wait, nil
	}
	stored, err := t.origin.patch(ctx, t.Kind, t.originNow, "status", map[string]any{"status": result.status})
	if apierrors.IsInvalid(err) {
		t.copy.last = t.clock.Now()
		return origin, max(again, refusedFor), t.refusedStatus(origin, mirror, err)
	}
	if err != nil {
		// The queue paces that. A wait, which last would bring about, looks to it like a success.
		return nil, 0, err
	}
	t.copy.last = t.clock.Now()
	if !result.held {
		t.copy.heldSince = time.Time{}
	}
	t.originNow = stored
	if lost := t.copier.wrote(mirror, stored); lost != "" {
		t.tellDiverged([]string{lost})
	}
	event := t.event(StatusCopied, "")
	event.Message = string(event.Status)
	event.LagSeconds = t.lagOf()
	t.events.Record(event)
	if result.more {
		again = pace
	}
	return stored, again, nil
}

// refusedStatus has a status tried again in another way after the API server
// refused it, and tells of it when that does not help.
func (t *task) refusedStatus(origin, mirror *unstructured.Unstructured, err error) error {
	if t.copier.refused() {
		return conflict(t.Kind, t.Name)
	}
	again := t.copy.refused.mirror == mirror.GetResourceVersion()
	t.copy.refused = rejection{origin: origin.GetResourceVersion(), mirror: mirror.GetResourceVersion(), at: t.clock.Now()}
	if again {
		return nil
	}
	t.record(StatusRefused, command.Say("context %s does not take the mirror's status, and it is tried again when that changes: %s", t.origin.Context, kubecontext.Causes(err)))
	return nil
}

// refusedFor is after how long a status is tried again that the API server does not
// take: it may have been a policy or a webhook, which change.
const refusedFor = 30 * time.Second

// rejection is what an origin and its mirror were like when the API server did not
// take the status.
type rejection struct {
	origin, mirror string
	at             time.Time
}

// lasts says for how long it would still be the same.
func (r rejection) lasts(origin, mirror *unstructured.Unstructured, now time.Time) time.Duration {
	if r.origin != origin.GetResourceVersion() || r.mirror != mirror.GetResourceVersion() {
		return 0
	}
	return r.at.Add(refusedFor).Sub(now)
}

// hold notes since when the end of the Job is held back. When it is forced, that
// is known until the end was stored.
func (t *task) hold(held, forced bool, now time.Time) (again time.Duration) {
	switch {
	case !held && forced:
		return 0
	case !held:
		t.copy.heldSince = time.Time{}
		return 0
	case t.copy.heldSince.IsZero():
		t.copy.heldSince = now
		t.record(Warned, command.Say("the mirror on %s is finished, but still counts pods; its end is told when they are gone", t.worker.Context))
	}
	return time.Second
}

// grace is how long pods may take to go.
func (t *task) grace(mirror *unstructured.Unstructured) time.Duration {
	if s, ok := content.At(mirror, "spec", "template", "spec", "terminationGracePeriodSeconds").(int64); ok {
		return max(drainGrace, time.Duration(s)*time.Second+drainGrace/2)
	}
	return drainGrace
}

func (t *task) tellDiverged(sentences []string) {
	for _, s := range sentences {
		if t.copy.diverged == nil {
			t.copy.diverged = sets.New[string]()
		}
		if !t.copy.diverged.Has(s) {
			t.copy.diverged.Insert(s)
			t.record(Warned, command.Text(s))
		}
	}
}
