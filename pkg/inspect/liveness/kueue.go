package liveness

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// kueue collects the actions of the cluster's Kueue, on that cluster and, for MultiKueue, on its
// workers (docs/reference/multikueue.md#steps).
func (c *collector) kueue() {
	if c.home.Kueue == nil {
		return
	}
	for _, w := range c.home.Kueue.Workloads {
		isCopy := w.Labels[delegation.MultiKueueOriginLabel] != ""
		c.addSigns(w, isCopy)
		c.addAdmission(w)
		if isCopy {
			c.addMirrorResume(w)
			continue
		}
		j, state := c.home.JobOfWorkload(w), c.home.StateOf(w)
		if j != nil {
			c.addJob(w, j)
		}
		if state != nil {
			c.addDispatch(w, state)
		}
		if j != nil && state != nil {
			c.addResume(w, state, j)
		}
	}
}

// add adds a step of Kueue for a Workload.
func (c *collector) add(duty Duty, w *kueue.Workload, due, at time.Time) {
	c.addAction(w, Action{Duty: duty, Due: due, At: at})
}

// addAction adds an action of Kueue for a Workload.
func (c *collector) addAction(w *kueue.Workload, a Action) {
	a.Subject = SubjectOf(w.Namespace, w.Name)
	c.observe(Actor{Role: RoleKueue, Context: c.home.Context}, a)
}

// addSigns records signs that Kueue has processed a Workload. For a copy on a worker, only writes of
// the worker's own Kueue count, not those of the manager's.
func (c *collector) addSigns(w *kueue.Workload, isCopy bool) {
	for i := range w.Status.Conditions {
		condition := &w.Status.Conditions[i]
		switch {
		case isCopy && condition.Type == kueue.DeactivationTarget:
		case condition.Type == kueue.QuotaReserved && condition.Reason != kueue.PendingEvaluation:
			// A Workload with quota may have waited for it, and an evicted one had it before.
			isFirst := condition.Status != metav1.ConditionTrue && w.Condition(kueue.Evicted) == nil
			c.addAction(w, Action{Duty: DutyQuota, Due: c.toOurClock(w.CreationTimestamp), At: c.toOurClock(condition.LastTransitionTime), MixedWait: !isFirst})
		default:
			c.add(DutyAny, w, time.Time{}, c.toOurClock(condition.LastTransitionTime))
		}
	}
	var byManager []time.Time
	if isCopy {
		byManager = c.writtenByManager(w)
	}
	for i := range w.ManagedFields {
		f := &w.ManagedFields[i]
		if f.Time == nil || !strings.HasPrefix(f.Manager, "kueue") || isCopy && f.Subresource != "status" {
			continue
		}
		at := c.toOurClock(*f.Time)
		isManagers := func(written time.Time) bool { return at.Sub(written).Abs() <= writeDelay }
		if !slices.ContainsFunc(byManager, isManagers) {
			c.add(DutyAny, w, time.Time{}, at)
		}
	}
}

// writeDelay is longer than a write takes from its time by the writer's clock to that in managedFields, with
// the error of both clocks.
const writeDelay = 10 * time.Second

// writtenByManager returns when MultiKueue of a manager wrote the status of a copy: it deactivates the copy
// of an evicted Workload, and opens a preemption gate. It uses the field managers of the worker's Kueue
// (kueue: pkg/controller/admissionchecks/multikueue/workload.go), and the manager's clock.
func (c *collector) writtenByManager(w *kueue.Workload) (written []time.Time) {
	context := c.home.Context
	for _, f := range c.Clusters {
		if own := f.Workload(w.Namespace, w.Name); f != c.home && own != nil && own.Labels[delegation.MultiKueueOriginLabel] == "" {
			context = f.Context
		}
	}
	if target := w.Condition(kueue.DeactivationTarget); target != nil {
		written = append(written, c.ToOurClock(context, target.LastTransitionTime.Time))
	}
	for _, gate := range w.Status.Gates {
		if gate.IsOpen() {
			written = append(written, c.ToOurClock(context, gate.LastTransitionTime.Time))
		}
	}
	return written
}

// addJob records Kueue's actions for the Job of a Workload on its own cluster.
func (c *collector) addJob(w *kueue.Workload, j *inspect.Job) {
	c.addAction(w, Action{Duty: DutyWorkload, Due: c.toOurClock(j.CreationTimestamp), At: c.toOurClock(w.CreationTimestamp), MixedWait: j.IsElastic()})
	if j.ManagedBy != delegation.MultiKueue || j.StatusWrittenAt == nil {
		return
	}
	if j.FinishedTime != nil {
		c.addAction(w, Action{Duty: DutyEnd, Worker: c.workerOf(w), Due: c.toOurClock(*j.FinishedTime), At: c.toOurClock(*j.StatusWrittenAt)})
	} else {
		written := c.toOurClock(*j.StatusWrittenAt)
		// Kueue may rewrite the status for a mirror that has not changed for long; that is no
		// latency.
		c.addAction(w, Action{Duty: DutyStatus, Worker: c.workerOf(w), Due: c.changedBefore(w, written), At: written, MixedWait: true})
	}
}

// workerOf returns the context of a Workload's worker, "" if unknown.
func (c *collector) workerOf(w *kueue.Workload) string {
	if name := w.ChosenCluster(); name != "" {
		return c.ContextOf(c.home, name)
	}
	return ""
}

// changedBefore returns the last time before t at which the status of a Workload's mirror was
// written. It returns the zero time if the status was written after t, or if there is no mirror.
func (c *collector) changedBefore(w *kueue.Workload, t time.Time) (changed time.Time) {
	for _, worker := range c.Clusters {
		if mirror := worker.MirrorWith(w); mirror != nil && worker != c.home && mirror.StatusWrittenAt != nil {
			changed = later(changed, c.ToOurClock(worker.Context, mirror.StatusWrittenAt.Time))
		}
	}
	if changed.After(t) {
		return time.Time{}
	}
	return changed
}

// addDispatch records which steps MultiKueue has completed for a Workload.
func (c *collector) addDispatch(w *kueue.Workload, state *kueue.CheckState) {
	offered := c.offeredAt(w, state)
	nominated := c.ToOurClock(c.home.Context, inspect.NominatedAt(w))
	var ready time.Time
	for _, worker := range c.Clusters {
		copied := worker.Workload(w.Namespace, w.Name)
		if worker == c.home || copied == nil || copied.Labels[delegation.MultiKueueOriginLabel] == "" {
			continue
		}
		made := c.ToOurClock(worker.Context, copied.CreationTimestamp.Time)
		if nominated.IsZero() || made.Before(nominated) {
			nominated = made
		}
		c.addAction(w, Action{Duty: DutyCopy, Target: worker.Context, Worker: worker.Context, Due: nominated, At: made})
		for _, gate := range copied.Status.Gates {
			if gate.IsOpen() {
				c.addAction(w, Action{Duty: DutyGate, Target: worker.Context, Worker: worker.Context, At: c.toOurClock(gate.LastTransitionTime)})
			}
		}
		admitted := copied.Condition(kueue.Admitted)
		if admitted == nil || admitted.Status != metav1.ConditionTrue {
			continue
		}
		ready = c.ToOurClock(worker.Context, admitted.LastTransitionTime.Time)
		if mirror := worker.MirrorWith(w); mirror != nil {
			made = c.ToOurClock(worker.Context, mirror.CreationTimestamp.Time)
			c.addAction(w, Action{Duty: DutyMirror, Target: worker.Context, Worker: worker.Context, Due: ready, At: made})
			ready = made
		}
	}
	if !nominated.IsZero() {
		c.add(DutyNominate, w, offered, nominated)
	}
	if state.State == kueue.CheckReady {
		c.addAction(w, Action{Duty: DutyRecord, Worker: c.workerOf(w), Due: ready, At: c.toOurClock(state.LastTransitionTime)})
	}
}

// addAdmission records that Kueue has admitted a Workload, which waited since its last check or
// quota.
func (c *collector) addAdmission(w *kueue.Workload) {
	quota, admitted := w.Condition(kueue.QuotaReserved), w.Condition(kueue.Admitted)
	if quota == nil || admitted == nil || admitted.Status != metav1.ConditionTrue {
		return
	}
	since := quota.LastTransitionTime
	for _, state := range w.Status.AdmissionChecks {
		if since.Before(&state.LastTransitionTime) {
			since = state.LastTransitionTime
		}
	}
	c.add(DutyAdmit, w, c.toOurClock(since), c.toOurClock(admitted.LastTransitionTime))
}

// addMirrorResume records that a worker's Kueue has resumed the mirror of an admitted copy. The time
// is that of the mirror's start, moments later.
func (c *collector) addMirrorResume(w *kueue.Workload) {
	admitted, mirror := w.Condition(kueue.Admitted), c.home.MirrorWith(w)
	if mirror == nil || mirror.StartTime == nil || admitted == nil || admitted.Status != metav1.ConditionTrue {
		return
	}
	since := later(c.toOurClock(admitted.LastTransitionTime), c.toOurClock(mirror.CreationTimestamp))
	if started := c.toOurClock(*mirror.StartTime); !started.Before(since) {
		c.add(DutyResume, w, since, started)
	}
}

// addResume records that Kueue has resumed a Job that a worker has admitted. The time is that of the
// admission on the manager, after which Kueue resumes the Job.
func (c *collector) addResume(w *kueue.Workload, state *kueue.CheckState, j *inspect.Job) {
	admitted := w.Condition(kueue.Admitted)
	if state.State == kueue.CheckReady && admitted != nil && admitted.Status == metav1.ConditionTrue && !j.Suspended {
		c.add(DutyResume, w, c.toOurClock(state.LastTransitionTime), c.toOurClock(admitted.LastTransitionTime))
	}
}

// offeredAt returns when a Workload had quota and lacked only MultiKueue's check; the zero time if it
// has no quota.
func (c *collector) offeredAt(w *kueue.Workload, state *kueue.CheckState) time.Time {
	quota := w.Condition(kueue.QuotaReserved)
	if quota == nil || quota.Status != metav1.ConditionTrue {
		return time.Time{}
	}
	since := quota.LastTransitionTime
	for _, other := range w.Status.AdmissionChecks {
		if (other.Name != state.Name || state.State == kueue.CheckPending) && since.Before(&other.LastTransitionTime) {
			since = other.LastTransitionTime
		}
	}
	return c.toOurClock(since)
}
