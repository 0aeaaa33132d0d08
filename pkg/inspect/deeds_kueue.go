package inspect

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// kueueDeeds collects the observed actions of one cluster's Kueue, on that cluster and, for
// MultiKueue, on its workers (docs/reference/multikueue.md#steps).
type kueueDeeds struct {
	*Inventory
	home *Facts
	did  func(Actor, Deed)
}

func (k *kueueDeeds) collect() {
	for _, w := range k.home.Kueue.Workloads {
		isCopy := w.Labels[delegation.MultiKueueOriginLabel] != ""
		k.seen(w, isCopy)
		k.admitted(w)
		if isCopy {
			k.resumedThere(w)
			continue
		}
		j, state := k.home.JobOf(jobUID(w)), k.home.Kueue.StateOf(w)
		if j != nil {
			k.forJob(w, j)
		}
		if state != nil {
			k.dispatched(w, state)
		}
		if j != nil && state != nil {
			k.resumed(w, state, j)
		}
	}
}

// do records an action on a Workload.
func (k *kueueDeeds) do(duty Duty, w *kueue.Workload, began, done time.Time) {
	k.note(w, Deed{Duty: duty, Began: began, Done: done})
}

func (k *kueueDeeds) note(w *kueue.Workload, d Deed) {
	d.Subject = SubjectOf(w.Namespace, w.Name)
	k.did(Actor{Role: RoleKueue, Context: k.home.Context}, d)
}

// ours converts a time from the home cluster's clock to our own.
func (k *kueueDeeds) ours(t metav1.Time) time.Time { return k.Ours(k.home.Context, t.Time) }

// seen records signs that Kueue has processed a Workload. For a copy on a worker, only writes of
// the worker's own Kueue count, not those of the manager's.
func (k *kueueDeeds) seen(w *kueue.Workload, isCopy bool) {
	for i := range w.Status.Conditions {
		c := &w.Status.Conditions[i]
		switch {
		case isCopy && c.Type == kueue.DeactivationTarget:
		case c.Type == kueue.QuotaReserved:
			// A Workload with quota may have waited for it, and an evicted one had it before.
			isFirst := c.Status != metav1.ConditionTrue && w.Condition(kueue.Evicted) == nil
			k.note(w, Deed{Duty: DutyQuota, Began: k.ours(w.CreationTimestamp), Done: k.ours(c.LastTransitionTime), Held: !isFirst})
		default:
			k.do(DutyAny, w, time.Time{}, k.ours(c.LastTransitionTime))
		}
	}
	for i := range w.ManagedFields {
		f := &w.ManagedFields[i]
		if f.Time != nil && strings.HasPrefix(f.Manager, "kueue") && (!isCopy || f.Subresource == "status") {
			k.do(DutyAny, w, time.Time{}, k.ours(*f.Time))
		}
	}
}

// forJob records Kueue's actions for the Job of a Workload on its own cluster.
func (k *kueueDeeds) forJob(w *kueue.Workload, j *Job) {
	k.note(w, Deed{Duty: DutyWorkload, Began: k.ours(j.CreationTimestamp), Done: k.ours(w.CreationTimestamp), Held: j.IsElastic()})
	if j.ManagedBy != delegation.MultiKueue || j.StatusWrittenAt == nil {
		return
	}
	if j.FinishedTime != nil {
		k.note(w, Deed{Duty: DutyEnd, Worker: k.workerOf(w), Began: k.ours(*j.FinishedTime), Done: k.ours(*j.StatusWrittenAt)})
	} else {
		written := k.ours(*j.StatusWrittenAt)
		// Kueue may rewrite the status for a mirror that has not changed for long; that is no
		// latency.
		k.note(w, Deed{Duty: DutyStatus, Worker: k.workerOf(w), Began: k.changedBefore(w, written), Done: written, Held: true})
	}
}

// workerOf returns the context of a Workload's worker, "" if unknown.
func (k *kueueDeeds) workerOf(w *kueue.Workload) string {
	if name := w.ChosenCluster(); name != "" {
		return k.ContextOf(k.home, name)
	}
	return ""
}

// changedBefore returns the last time before t at which the status of a Workload's mirror was
// written. It returns the zero time if the status was written after t, or if there is no mirror.
func (k *kueueDeeds) changedBefore(w *kueue.Workload, t time.Time) (changed time.Time) {
	for _, worker := range k.Clusters {
		if mirror := worker.mirrorUnder(w); mirror != nil && worker != k.home && mirror.StatusWrittenAt != nil {
			changed = later(changed, k.Ours(worker.Context, mirror.StatusWrittenAt.Time))
		}
	}
	if changed.After(t) {
		return time.Time{}
	}
	return changed
}

// dispatched records which steps MultiKueue has completed for a Workload.
func (k *kueueDeeds) dispatched(w *kueue.Workload, state *kueue.CheckState) {
	offered := k.offered(w, state)
	nominated := k.Ours(k.home.Context, NominatedAt(w))
	var ready time.Time
	for _, worker := range k.Clusters {
		copied := worker.Workload(w.Namespace, w.Name)
		if worker == k.home || copied == nil || copied.Labels[delegation.MultiKueueOriginLabel] == "" {
			continue
		}
		made := k.Ours(worker.Context, copied.CreationTimestamp.Time)
		if nominated.IsZero() || made.Before(nominated) {
			nominated = made
		}
		k.note(w, Deed{Duty: DutyCopy, Target: worker.Context, Worker: worker.Context, Began: nominated, Done: made})
		admitted := copied.Condition(kueue.Admitted)
		if admitted == nil || admitted.Status != metav1.ConditionTrue {
			continue
		}
		ready = k.Ours(worker.Context, admitted.LastTransitionTime.Time)
		if mirror := worker.mirrorUnder(w); mirror != nil {
			made = k.Ours(worker.Context, mirror.CreationTimestamp.Time)
			k.note(w, Deed{Duty: DutyMirror, Target: worker.Context, Worker: worker.Context, Began: ready, Done: made})
			ready = made
		}
	}
	if !nominated.IsZero() {
		k.do(DutyNominate, w, offered, nominated)
	}
	if state.State == kueue.CheckReady {
		k.note(w, Deed{Duty: DutyRecord, Worker: k.workerOf(w), Began: ready, Done: k.ours(state.LastTransitionTime)})
	}
}

// admitted records that Kueue has admitted a Workload, which waited since its last check or quota.
func (k *kueueDeeds) admitted(w *kueue.Workload) {
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
	k.do(DutyAdmit, w, k.ours(since), k.ours(admitted.LastTransitionTime))
}

// resumedThere records that a worker's Kueue has resumed the mirror of an admitted copy. The time
// is that of the mirror's start, moments later.
func (k *kueueDeeds) resumedThere(w *kueue.Workload) {
	admitted, mirror := w.Condition(kueue.Admitted), k.home.mirrorUnder(w)
	if mirror == nil || mirror.StartTime == nil || admitted == nil || admitted.Status != metav1.ConditionTrue {
		return
	}
	since := later(k.ours(admitted.LastTransitionTime), k.ours(mirror.CreationTimestamp))
	if started := k.ours(*mirror.StartTime); !started.Before(since) {
		k.do(DutyResume, w, since, started)
	}
}

// resumed records that Kueue has resumed a Job that a worker has admitted. The time is that of the
// admission on the manager, after which Kueue resumes the Job.
func (k *kueueDeeds) resumed(w *kueue.Workload, state *kueue.CheckState, j *Job) {
	admitted := w.Condition(kueue.Admitted)
	if state.State == kueue.CheckReady && admitted != nil && admitted.Status == metav1.ConditionTrue && !j.Suspended {
		k.do(DutyResume, w, k.ours(state.LastTransitionTime), k.ours(admitted.LastTransitionTime))
	}
}

// offered returns when a Workload had quota and lacked only MultiKueue's check; the zero time if it
// has no quota.
func (k *kueueDeeds) offered(w *kueue.Workload, state *kueue.CheckState) time.Time {
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
	return k.ours(since)
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
