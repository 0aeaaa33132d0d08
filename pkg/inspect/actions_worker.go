package inspect

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// controllerActions collects actions of the built-in controllers of kinds other than Job: they write
// statuses.
func (v *Inventory) controllerActions(f *Facts, observe func(Actor, Action)) {
	for _, j := range f.Jobs {
		if j.Row().IsJob() || !j.ManagedBy.IsBuiltIn() {
			continue
		}
		actor := Actor{Role: RoleController, Context: f.Context, Name: j.Kind}
		for _, t := range []time.Time{deref(j.StartTime).Time, deref(j.StatusWrittenAt).Time, deref(j.FinishedTime).Time} {
			observe(actor, Action{Subject: j.UID, Done: v.ToOurClock(f.Context, t)})
		}
	}
}

// SchedulerOf returns the scheduler that must find a node for a Pod of a context's cluster.
func SchedulerOf(context string, p *Pod) Actor {
	a := Actor{Role: RoleScheduler, Context: context}
	if name := cmp.Or(p.Scheduler, corev1.DefaultSchedulerName); name != corev1.DefaultSchedulerName {
		a.Name = name
	}
	return a
}

// schedulerActions collects actions of the schedulers: they find nodes for Pods, or report why none
// fits.
func (v *Inventory) schedulerActions(f *Facts, observe func(Actor, Action)) {
	for _, p := range f.Pods {
		if !p.IsLookedAt {
			continue
		}
		observe(SchedulerOf(f.Context, p), Action{
			Duty: DutySchedule, Subject: p.UID,
			Began: v.ToOurClock(f.Context, p.CreationTimestamp.Time), Done: v.ToOurClock(f.Context, p.Scheduled.Time),
		})
	}
}

// kubeletActions collects actions of the kubelets: they start the Pods of their nodes and report
// their state.
func (v *Inventory) kubeletActions(f *Facts, observe func(Actor, Action)) {
	for _, p := range f.Pods {
		if p.Node == "" || p.Started.IsZero() {
			continue
		}
		actor := Actor{Role: RoleKubelet, Context: f.Context, Name: p.Node}
		observe(actor, Action{Duty: DutyStart, Subject: p.UID, Began: v.ToOurClock(f.Context, p.Scheduled.Time), Done: v.ToOurClock(f.Context, p.Started.Time)})
		observe(actor, Action{Subject: p.UID, Done: v.ToOurClock(f.Context, p.Changed.Time)})
	}
}

// checkActions collects actions of the controllers that AdmissionChecks name: they write the checks'
// statuses.
func (v *Inventory) checkActions(f *Facts, observe func(Actor, Action)) {
	if f.Kueue == nil {
		return
	}
	for _, c := range f.Kueue.Checks {
		if active := meta.FindStatusCondition(c.Status.Conditions, kueue.Active); active != nil {
			observe(Actor{Role: RoleCheck, Context: f.Context, Name: c.Spec.ControllerName}, Action{
				Duty: DutyServe, Subject: c.Name, Done: v.ToOurClock(f.Context, active.LastTransitionTime.Time),
			})
		}
	}
}
