package view

import (
	"slices"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// IsHeldByKueue reports whether a Workload is being deleted and still has finalizers of Kueue.
func IsHeldByKueue(w *kueue.Workload) bool {
	return w.DeletionTimestamp != nil && slices.ContainsFunc(w.Finalizers, delegation.IsKueueKey)
}

// HoldOf returns why Kueue reserves no quota for a Workload. ok is false if the Workload has
// quota, is not to run, or was not considered yet.
func HoldOf(w *kueue.Workload) (wait kueue.Wait, ok bool) {
	wait = w.Waiting()
	isHeld := wait.IsForQuota() || wait.IsForQueue() || IsHeldOtherwise(&wait)
	return wait, isHeld && wait.Condition != nil && !w.Is(kueue.QuotaReserved)
}

// IsHeldOtherwise reports whether a Workload waits for something else than its queue and
// quota. JM116 reports these.
func IsHeldOtherwise(w *kueue.Wait) bool {
	switch w.Reason {
	case kueue.ReasonPreempting, kueue.ReasonPodsNotReady, kueue.ReasonAdmissionGated, kueue.ReasonOnHold,
		kueue.ReasonMisconfigured, kueue.ReasonDevicesUnresolved, kueue.ReasonInadmissible:
		return true
	default:
		return false
	}
}

// unevaluated is how long a busy Kueue may take to evaluate a Workload that it has queued.
const unevaluated = time.Minute

// UnevaluatedSince returns since when Kueue has had a Workload in its queue without evaluating it, by the clock of its
// cluster. ok is false if Kueue has evaluated it, has queued it only just now, or may rightly let it wait.
func (v *View) UnevaluatedSince(f *inspect.Facts, w *kueue.Workload) (since time.Time, ok bool) {
	since, ok = inspect.UnevaluatedSince(w)
	if !ok || len(w.Status.Conditions) > 0 && v.Age(f.Context, since) < unevaluated {
		return since, false
	}
	v.CanRead(f, inspect.PartQueues)
	return since, !f.MayWait(w)
}

// PreemptionsOf returns the events that say which Workloads preempted a Workload. They are
// about all Workloads of that name, because MultiKueue recreates copies.
func (v *View) PreemptionsOf(f *inspect.Facts, namespace, workload string) []*inspect.Event {
	v.CanRead(f, inspect.PartEvents)
	return f.PreemptionsOf(namespace, workload)
}

// PreemptorName returns the name of a Workload with a UID that preempted others.
func (v *View) PreemptorName(f *inspect.Facts, uid string) (namespace, name string, ok bool) {
	v.CanRead(f, inspect.PartEvents)
	return f.PreemptorsName(uid)
}
