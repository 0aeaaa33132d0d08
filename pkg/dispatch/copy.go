package dispatch

import (
	"context"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/projection"
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
	// pinTimes is set after the server refused a status, for good if it takes one
	// without other times then: it is one that never will. refused is of when it
	// did not.
	pinTimes bool
	refused  standoff
	// heldSince is since when the mirror's end is held back.
	heldSince time.Time
	// diverged is what was told already.
	diverged sets.Set[string]
}

// copyStatus writes the mirror's status to the origin, if that changes anything.
// It returns the origin as it is then, and after how long it wants to be called
// again.
func (t *task) copyStatus(ctx context.Context, origin, mirror *batchv1.Job) (*batchv1.Job, time.Duration, error) {
	now := t.clock.Now()
	if wait := t.copy.last.Add(pace).Sub(now); wait > 0 {
		return origin, wait, nil
	}
	forced := !t.copy.heldSince.IsZero() && now.Sub(t.copy.heldSince) > t.grace(mirror)
	result := projection.Project(origin, mirror, projection.Options{
		OriginMinor: t.options.OriginMinor, PinTimes: t.copy.pinTimes, ForceDrained: forced,
	})
	t.tellDiverged(result.Diverged)
	again := t.hold(result.Held, forced, now)
	if !result.Changed {
		t.seen.Store(0)
		if finished(&mirror.Status) != nil && finished(&origin.Status) == nil && !result.Held {
			// Nothing will ever change about that.
			t.leaveLease = true
			t.abort(fmt.Errorf("job %s: its mirror on %s has ended, and the origin cannot be told: %s", t.ref, t.worker.Context, strings.Join(result.Diverged, "; ")))
		}
		return origin, again, nil
	}
	if wait := t.copy.refused.lasts(origin, mirror, now); wait > 0 {
		return origin, wait, nil
	}
	status, err := statusMap(&result.Status)
	if err != nil {
		return nil, 0, err
	}
	written, err := t.origin.patch(ctx, t.originNow, "status", map[string]any{"status": status})
	t.copy.last = t.clock.Now()
	if apierrors.IsInvalid(err) {
		return origin, max(again, refusedFor), t.refusedStatus(origin, mirror, err)
	}
	if err != nil {
		return nil, 0, err
	}
	if !result.Held {
		t.copy.heldSince = time.Time{}
	}
	t.originNow = written
	stored, err := typedJob(written)
	if err != nil {
		return nil, 0, err
	}
	event := t.event(StatusCopied, "")
	event.Message = string(event.Status)
	event.LagSeconds = t.lagOf()
	t.events.Record(event)
	if result.More {
		again = pace
	}
	return stored, again, nil
}

// refusedStatus has a status tried again without times after the API server
// refused it, and tells of it when that does not help.
func (t *task) refusedStatus(origin, mirror *batchv1.Job, err error) error {
	if !t.copy.pinTimes {
		t.copy.pinTimes = true
		return conflict(t.Name)
	}
	again := t.copy.refused.mirror == mirror.ResourceVersion
	t.copy.pinTimes = false
	t.copy.refused = standoff{origin: origin.ResourceVersion, mirror: mirror.ResourceVersion, at: t.clock.Now()}
	if again {
		return nil
	}
	t.record(StatusRefused, fmt.Sprintf("context %s does not take the mirror's status, and it is tried again when that changes: %s", t.origin.Context, causes(err)))
	return nil
}

// refusedFor is after how long a status is tried again that the API server does not
// take: it may have been a policy or a webhook, which change.
const refusedFor = 30 * time.Second

// standoff is what an origin and its mirror were like when the API server did not
// take the status.
type standoff struct {
	origin, mirror string
	at             time.Time
}

// lasts says for how long it would still be the same.
func (r standoff) lasts(origin, mirror *batchv1.Job, now time.Time) time.Duration {
	if r.origin != origin.ResourceVersion || r.mirror != mirror.ResourceVersion {
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
		t.record(Warned, fmt.Sprintf("the mirror on %s is finished, but still counts pods; its end is told when they are gone", t.worker.Context))
	}
	return time.Second
}

// grace is how long pods may take to go.
func (t *task) grace(mirror *batchv1.Job) time.Duration {
	if s := mirror.Spec.Template.Spec.TerminationGracePeriodSeconds; s != nil {
		return max(drainGrace, time.Duration(*s)*time.Second+drainGrace/2)
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
			t.record(Warned, s)
		}
	}
}
