package inspect

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// kueueActions collects the observed actions of one cluster's Kueue, on that cluster and, for
// MultiKueue, on its workers (docs/reference/multikueue.md#steps).
type kueueActions struct {
	*Inventory
	home    *Facts
	observe func(Actor, Action)
}

func (k *kueueActions) collect() {
	for _, w := range k.home.Kueue.Workloads {
		isCopy := w.Labels[delegation.MultiKueueOriginLabel] != ""
		k.addSigns(w, isCopy)
		k.addAdmission(w)
		if isCopy {
			k.addMirrorResume(w)
			continue
		}
		j, state := k.home.JobOf(jobUID(w)), k.home.Kueue.StateOf(w)
		if j != nil {
			k.addJob(w, j)
		}
		if state != nil {
			k.addDispatch(w, state)
		}
		if j != nil && state != nil {
			k.addResume(w, state, j)
		}
	}
}

// add records an action on a Workload.
func (k *kueueActions) add(duty Duty, w *kueue.Workload, began, done time.Time) {
	k.note(w, Action{Duty: duty, Began: began, Done: done})
}

func (k *kueueActions) note(w *kueue.Workload, d Action) {
	d.Subject = SubjectOf(w.Namespace, w.Name)
	k.observe(Actor{Role: RoleKueue, Context: k.home.Context}, d)
}

// toOurClock converts a time from the home cluster's clock to our own.
func (k *kueueActions) toOurClock(t metav1.Time) time.Time {
	return k.ToOurClock(k.home.Context, t.Time)
}

// addSigns records signs that Kueue has processed a Workload. For a copy on a worker, only writes of
// the worker's own Kueue count, not those of the manager's.
func (k *kueueActions) addSigns(w *kueue.Workload, isCopy bool) {
	for i := range w.Status.Conditions {
		c := &w.Status.Conditions[i]
		switch {
		case isCopy && c.Type == kueue.DeactivationTarget:
		case c.Type == kueue.QuotaReserved:
			// A Workload with quota may have waited for it, and an evicted one had it before.
			isFirst := c.Status != metav1.ConditionTrue && w.Condition(kueue.Evicted) == nil
			k.note(w, Action{Duty: DutyQuota, Began: k.toOurClock(w.CreationTimestamp), Done: k.toOurClock(c.LastTransitionTime), Held: !isFirst})
		default:
			k.add(DutyAny, w, time.Time{}, k.toOurClock(c.LastTransitionTime))
		}
	}
	for i := range w.ManagedFields {
		f := &w.ManagedFields[i]
		if f.Time != nil && strings.HasPrefix(f.Manager, "kueue") && (!isCopy || f.Subresource == "status") {
			k.add(DutyAny, w, time.Time{}, k.toOurClock(*f.Time))
		}
	}
}

// addJob records Kueue's actions for the Job of a Workload on its own cluster.
func (k *kueueActions) addJob(w *kueue.Workload, j *Job) {
	k.note(w, Action{Duty: DutyWorkload, Began: k.toOurClock(j.CreationTimestamp), Done: k.toOurClock(w.CreationTimestamp), Held: j.IsElastic()})
	if j.ManagedBy != delegation.MultiKueue || j.StatusWrittenAt == nil {
		return
	}
	if j.FinishedTime != nil {
		k.note(w, Action{Duty: DutyEnd, Worker: k.workerOf(w), Began: k.toOurClock(*j.FinishedTime), Done: k.toOurClock(*j.StatusWrittenAt)})
	} else {
		written := k.toOurClock(*j.StatusWrittenAt)
		// Kueue may rewrite the status for a mirror that has not changed for long; that is no
		// latency.
		k.note(w, Action{Duty: DutyStatus, Worker: k.workerOf(w), Began: k.changedBefore(w, written), Done: written, Held: true})
	}
}

// workerOf returns the context of a Workload's worker, "" if unknown.
func (k *kueueActions) workerOf(w *kueue.Workload) string {
	if name := w.ChosenCluster(); name != "" {
		return k.ContextOf(k.home, name)
	}
	return ""
}

// changedBefore returns the last time before t at which the status of a Workload's mirror was
// written. It returns the zero time if the status was written after t, or if there is no mirror.
func (k *kueueActions) changedBefore(w *kueue.Workload, t time.Time) (changed time.Time) {
	for _, worker := range k.Clusters {
		if mirror := worker.mirrorUnder(w); mirror != nil && worker != k.home && mirror.StatusWrittenAt != nil {
			changed = later(changed, k.ToOurClock(worker.Context, mirror.StatusWrittenAt.Time))
		}
	}
	if changed.After(t) {
		return time.Time{}
	}
	return changed
}

// addDispatch records which steps MultiKueue has completed for a Workload.
func (k *kueueActions) addDispatch(w *kueue.Workload, state *kueue.CheckState) {
	offered := k.offeredAt(w, state)
	nominated := k.ToOurClock(k.home.Context, NominatedAt(w))
	var ready time.Time
	for _, worker := range k.Clusters {
		copied := worker.Workload(w.Namespace, w.Name)
		if worker == k.home || copied == nil || copied.Labels[delegation.MultiKueueOriginLabel] == "" {
			continue
		}
		made := k.ToOurClock(worker.Context, copied.CreationTimestamp.Time)
		if nominated.IsZero() || made.Before(nominated) {
			nominated = made
		}
		k.note(w, Action{Duty: DutyCopy, Target: worker.Context, Worker: worker.Context, Began: nominated, Done: made})
		admitted := copied.Condition(kueue.Admitted)
		if admitted == nil || admitted.Status != metav1.ConditionTrue {
			continue
		}
		ready = k.ToOurClock(worker.Context, admitted.LastTransitionTime.Time)
		if mirror := worker.mirrorUnder(w); mirror != nil {
			made = k.ToOurClock(worker.Context, mirror.CreationTimestamp.Time)
			k.note(w, Action{Duty: DutyMirror, Target: worker.Context, Worker: worker.Context, Began: ready, Done: made})
			ready = made
		}
	}
	if !nominated.IsZero() {
		k.add(DutyNominate, w, offered, nominated)
	}
	if state.State == kueue.CheckReady {
		k.note(w, Action{Duty: DutyRecord, Worker: k.workerOf(w), Began: ready, Done: k.toOurClock(state.LastTransitionTime)})
	}
}

// addAdmission records that Kueue has admitted a Workload, which waited since its last check or quota.
func (k *kueueActions) addAdmission(w *kueue.Workload) {
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
	k.add(DutyAdmit, w, k.toOurClock(since), k.toOurClock(admitted.LastTransitionTime))
}

// addMirrorResume records that a worker's Kueue has resumed the mirror of an admitted copy. The time
// is that of the mirror's start, moments later.
func (k *kueueActions) addMirrorResume(w *kueue.Workload) {
	admitted, mirror := w.Condition(kueue.Admitted), k.home.mirrorUnder(w)
	if mirror == nil || mirror.StartTime == nil || admitted == nil || admitted.Status != metav1.ConditionTrue {
		return
	}
	since := later(k.toOurClock(admitted.LastTransitionTime), k.toOurClock(mirror.CreationTimestamp))
	if started := k.toOurClock(*mirror.StartTime); !started.Before(since) {
		k.add(DutyResume, w, since, started)
	}
}

// addResume records that Kueue has resumed a Job that a worker has admitted. The time is that of the
// admission on the manager, after which Kueue resumes the Job.
func (k *kueueActions) addResume(w *kueue.Workload, state *kueue.CheckState, j *Job) {
	admitted := w.Condition(kueue.Admitted)
	if state.State == kueue.CheckReady && admitted != nil && admitted.Status == metav1.ConditionTrue && !j.Suspended {
		k.add(DutyResume, w, k.toOurClock(state.LastTransitionTime), k.toOurClock(admitted.LastTransitionTime))
	}
}

// offeredAt returns when a Workload had quota and lacked only MultiKueue's check; the zero time if it
// has no quota.
func (k *kueueActions) offeredAt(w *kueue.Workload, state *kueue.CheckState) time.Time {
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
	return k.toOurClock(since)
}

// NominatedAt returns when the nominations of a Workload were written, by the clock of its cluster,
// or the zero time if its managed fields do not show it. Copies on workers are created after that.
func NominatedAt(w *kueue.Workload) time.Time {
	if len(w.Status.Nominated) == 0 {
		return time.Time{}
	}
	for i := range w.ManagedFields {
		if f := &w.ManagedFields[i]; f.Time != nil && Nominates(f) {
			return f.Time.Time
		}
	}
	return time.Time{}
}

// mirrorUnder returns the mirror that belongs to a Workload's copy on a worker, nil if there is
// none.
func (f *Facts) mirrorUnder(w *kueue.Workload) *Job {
	if !f.isIndexed() {
		return nil
	}
	return f.index.mirrors[types.NamespacedName{Namespace: w.Namespace, Name: w.Name}]
}
