package dispatch

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// pushState is the state of writing to the mirror. Only lastPlanned outlasts a plan.
type pushState struct {
	// lastPlanned is the planned mirror of the last write to the mirror.
	lastPlanned *unstructured.Unstructured
	// isRejected is whether the worker rejects the planned changes. writes counts the writes of this
	// plan.
	isRejected bool
	writes     int
	// synced is the mirror as it was when it matched the plan.
	synced object.Desired
	// lastReport is the last report of changes that have to wait or are impossible.
	lastReport string
}

// maxWrites is the number of writes of one plan to a mirror. After these, another client is
// assumed to revert them.
const maxWrites = 5

// pushSpec writes the user's changes of the origin to the mirror.
func (t *task) pushSpec(ctx context.Context, origin, mirror *unstructured.Unstructured) error {
	planned, err := t.plan(origin)
	if err != nil {
		return err
	}
	if t.push.isRejected || t.push.synced.IsOf(mirror) {
		return nil
	}
	drift := plan.DriftOf(t.Kind, planned, t.push.lastPlanned, mirror)
	t.reportUnpushed(drift)
	if drift.Patch == nil {
		t.recordWritten(drift, planned)
		if len(drift.Deferred) == 0 {
			t.push.synced = object.DesiredOf(mirror)
		}
		return nil
	}
	if t.push.writes == maxWrites {
		t.push.isRejected = true
		t.record(Warned, command.Say("another client on %s reverts %s of the mirror; dispatch does not change it until the origin changes",
			t.worker.Context, strings.Join(drift.Fields, ", ")))
		return nil
	}
	written, err := t.worker.patch(ctx, t.Kind, mirror, "", drift.Patch)
	if apierrors.IsInvalid(err) {
		if rest := drift.WithoutTemplate(); rest.Patch != nil && len(rest.Fields) < len(drift.Fields) {
			drift = rest
			written, err = t.worker.patch(ctx, t.Kind, mirror, "", drift.Patch)
		}
	}
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
		t.push.isRejected = true
		t.record(Warned, command.Say("context %s rejects %s of the origin for the mirror: %s",
			t.worker.Context, strings.Join(drift.Fields, ", "), kubecontext.Causes(err)))
		return nil
	}
	if err != nil {
		return err
	}
	t.push.writes++
	t.mirrorNow = written
	t.recordWritten(drift, planned)
	t.record(SpecPushed, command.Say("copied from the origin to the mirror: %s", strings.Join(drift.Fields, ", ")))
	// One write may not be enough.
	t.queue.Add(t)
	return nil
}

// recordWritten remembers the planned mirror as last written. It keeps no second copy of equal
// parts, which matters with many Jobs.
func (t *task) recordWritten(drift plan.Drift, planned *unstructured.Unstructured) {
	if len(drift.Deferred) > 0 {
		t.push.lastPlanned = drift.Written(planned, t.push.lastPlanned)
		return
	}
	t.push.lastPlanned = planned
}

// plan returns the mirror that the origin wants now. It plans again only if the user has changed
// the origin, and not after each status.
func (t *task) plan(origin *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if t.Plan != nil && t.Plan.IsFor(origin) {
		return t.Plan.Mirror, nil
	}
	o := t.options.Plan
	o.Kind = t.Kind
	newPlan, err := plan.New(origin, o)
	if err != nil {
		return nil, err
	}
	t.Plan, t.push = newPlan, pushState{lastPlanned: t.push.lastPlanned}
	return newPlan.Mirror, nil
}

// reportUnpushed reports, once, which changes cannot be written to the mirror.
func (t *task) reportUnpushed(drift plan.Drift) {
	var parts []string
	if len(drift.Deferred) > 0 {
		parts = append(parts, fmt.Sprintf("%s of the origin can be changed on the mirror only while it is suspended and has no Pods", strings.Join(drift.Deferred, ", ")))
	}
	if len(drift.Immutable) > 0 {
		parts = append(parts, fmt.Sprintf("%s of the mirror differs from the origin, and can never be changed", strings.Join(drift.Immutable, ", ")))
	}
	if len(drift.Foreign) > 0 {
		parts = append(parts, fmt.Sprintf("%s of the mirror is left to the controller that sets it on %s", strings.Join(drift.Foreign, ", "), t.worker.Context))
	}
	if len(drift.Unshared) > 0 {
		parts = append(parts, fmt.Sprintf("for %s, dispatch copies only suspension, labels and annotations to the mirror; not copied: %s",
			object.WithArticle(t.Kind.Kind), strings.Join(drift.Unshared, ", ")))
	}
	message := strings.Join(parts, "; ")
	if message != "" && message != t.push.lastReport {
		t.record(Warned, command.Text(message))
	}
	t.push.lastReport = message
}

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
	// unansweredEnd is the origin with a final status that the API server may have stored: the answer was
	// lost. It has the resourceVersion of the origin before that write. It is nil without such a write.
	unansweredEnd *unstructured.Unstructured
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
			why := cmp.Or(strings.Join(result.diverged, "; "), "the origin's API server stores another status")
			t.abortResumable(fmt.Errorf("%s: its mirror on %s ended, and its result cannot be copied to the origin: %s", t.ref.WithKind(), t.worker.Context, why))
		}
		return origin, requeueAfter, nil
	}
	if wait := t.copy.rejected.remaining(origin, mirror, now); wait > 0 {
		return origin, wait, nil
	}
	stored, err := t.origin.patch(ctx, t.Kind, t.originNow, "status", map[string]any{"status": result.status})
	t.copy.recordAnswer(result, err)
	if apierrors.IsInvalid(err) {
		t.copy.lastWrite = t.clock.Now()
		return origin, max(requeueAfter, rejectionRetry), t.refusedStatus(origin, mirror, err)
	}
	if err != nil {
		// The queue delays the retry. Setting copy.lastWrite would return a wait instead, which the
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

// recordAnswer records the answer to the write of a status.
func (c *copyState) recordAnswer(sent copyResult, err error) {
	switch {
	case kubecontext.IsUnanswered(err):
		if sent.ended != nil {
			c.unansweredEnd = sent.ended
		}
	case err == nil, kubecontext.IsAnswer(err) && !leavesEndOpen(err):
		c.unansweredEnd = nil
	}
}

// leavesEndOpen reports whether an answer does not tell if an earlier write has ended the origin. If it has, the
// API server answers with a conflict, because a patch names the version of the origin, or with 404 Not Found,
// because the TTL controller has deleted it. Expired credentials or a busy server say nothing about the origin.
func leavesEndOpen(answer error) bool {
	return apierrors.IsConflict(answer) || apierrors.IsNotFound(answer) || apierrors.IsUnauthorized(answer) || apierrors.IsTooManyRequests(answer)
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
		return max(drainGrace, delegation.Seconds(s)+drainGrace/2)
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
