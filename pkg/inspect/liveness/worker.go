package liveness

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// controllers collects actions of the built-in controllers of kinds other than Job: they write
// statuses.
func (c *collector) controllers() {
	for _, j := range c.home.Jobs {
		if j.Row().IsJob() || !j.ManagedBy.IsBuiltIn() {
			continue
		}
		actor := Actor{Role: RoleController, Context: c.home.Context, Name: j.Kind}
		for _, t := range []*metav1.Time{j.StartTime, j.StatusWrittenAt, j.FinishedTime} {
			c.observe(actor, Action{Subject: j.UID, At: c.ourTime(t)})
		}
	}
}

// SchedulerOf returns the scheduler that must find a node for a Pod of a context's cluster.
func SchedulerOf(context string, p *inspect.Pod) Actor {
	a := Actor{Role: RoleScheduler, Context: context}
	if name := cmp.Or(p.Scheduler, corev1.DefaultSchedulerName); name != corev1.DefaultSchedulerName {
		a.Name = name
	}
	return a
}

// schedulers collects actions of the schedulers: they find nodes for Pods, or report why none
// fits.
func (c *collector) schedulers() {
	for _, p := range c.home.Pods {
		if !p.HasSchedulerResult {
			continue
		}
		c.observe(SchedulerOf(c.home.Context, p), Action{
			Duty: DutySchedule, Subject: p.UID,
			Due: c.toOurClock(p.CreationTimestamp), At: c.toOurClock(p.Scheduled),
		})
	}
}

// kubelets collects actions of the kubelets: they start the Pods of their nodes and report
// their state.
func (c *collector) kubelets() {
	for _, p := range c.home.Pods {
		if p.Node == "" || p.Started.IsZero() {
			continue
		}
		actor := Actor{Role: RoleKubelet, Context: c.home.Context, Name: p.Node}
		c.observe(actor, Action{Duty: DutyStart, Subject: p.UID, Due: c.toOurClock(p.Scheduled), At: c.toOurClock(p.Started)})
		c.observe(actor, Action{Subject: p.UID, At: c.toOurClock(p.Changed)})
	}
}

// checks collects actions of the controllers that AdmissionChecks name: they write the checks'
// statuses.
func (c *collector) checks() {
	if c.home.Kueue == nil {
		return
	}
	for _, check := range c.home.Kueue.Checks {
		if active := meta.FindStatusCondition(check.Status.Conditions, kueue.Active); active != nil {
			c.observe(Actor{Role: RoleCheck, Context: c.home.Context, Name: check.Spec.ControllerName}, Action{
				Duty: DutyServe, Subject: check.Name, At: c.toOurClock(active.LastTransitionTime),
			})
		}
	}
}
