package quote

import (
	"cmp"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// LastAction says when an actor last acted.
func LastAction(a *view.Awaited) string {
	if a.Last == (liveness.Action{}) {
		return fmt.Sprintf("%s: no recorded action of %s", a.Actor.Context, a.Actor)
	}
	return fmt.Sprintf("%s: last action of %s for another object: %s", a.Actor.Context, a.Actor, MaybeTime(a.Last.At))
}

// ChosenCluster quotes the MultiKueueCluster that got a Workload.
func ChosenCluster(context string, w *kueue.Workload) string {
	chosen, field := w.Chosen()
	return fmt.Sprintf("%s: %s of Workload %s/%s is %s", context, field, w.Namespace, w.Name, cmp.Or(chosen, "not set"))
}

// WorkloadCondition quotes a condition of a Workload.
func WorkloadCondition(f *inspect.Facts, w *kueue.Workload, c *metav1.Condition) string {
	return Condition(view.OfWorkload(f, w), c)
}

// MultiKueueCheck quotes the state of MultiKueue's check for a submission that has one.
func MultiKueueCheck(s view.Submission) string {
	text := fmt.Sprintf("%s: status.admissionChecks[%s].state of Workload %s/%s is %s since %s",
		s.Manager.Context, s.Check.Name, s.Workload.Namespace, s.Workload.Name, s.Check.State, Time(s.Check.LastTransitionTime))
	if s.Check.RetryCount != nil {
		text += fmt.Sprintf(", retryCount %d", *s.Check.RetryCount)
	}
	if s.Check.Message != "" {
		text += ": " + s.Check.Message
	}
	return text
}

// Reason quotes the reason and the message of a condition.
func Reason(c *metav1.Condition) string {
	return strings.TrimSuffix(c.Reason+": "+c.Message, ": ")
}

// HeldByKueue quotes the finalizers of a Workload that is being deleted.
func HeldByKueue(f *inspect.Facts, w *kueue.Workload) string {
	return fmt.Sprintf("%s: metadata.deletionTimestamp of %s is %s, and its finalizers are %s",
		f.Context, view.OfWorkload(f, w).String(), Time(*w.DeletionTimestamp), strings.Join(w.Finalizers, ", "))
}

// CheckState quotes the state of an AdmissionCheck for a Workload.
func CheckState(workload view.Object, state kueue.CheckState) string {
	text := fmt.Sprintf("%s: status.admissionChecks[%s] of %s is %s since %s",
		workload.Context, state.Name, workload.String(), state.State, Time(state.LastTransitionTime))
	if state.Message != "" {
		text += ": " + state.Message
	}
	return text
}

// SubmittedName names the object on the manager that a worker's Workload was submitted as, or
// the Workload if that is unknown.
func SubmittedName(v *view.View, manager *inspect.Facts, w *kueue.Workload) string {
	if original, _ := v.Workload(manager, w.Namespace, w.Name); original != nil {
		if owner := metav1.GetControllerOf(original); owner != nil {
			return fmt.Sprintf("%s %s/%s", owner.Kind, w.Namespace, owner.Name)
		}
	}
	return fmt.Sprintf("Workload %s/%s", w.Namespace, w.Name)
}

// WorkloadOwner names the object that a Workload was made for, such as "Job default/a", or the
// Workload if that is unknown.
func WorkloadOwner(f *inspect.Facts, w *kueue.Workload) string {
	for _, owner := range w.OwnerReferences {
		if owner.Controller != nil && *owner.Controller {
			return fmt.Sprintf("%s %s/%s", owner.Kind, w.Namespace, owner.Name)
		}
	}
	return view.OfWorkload(f, w).String()
}

// Condition quotes a condition of an object.
func Condition(o view.Object, c *metav1.Condition) string {
	text := fmt.Sprintf("%s: condition %s of %s is %s since %s", o.Context, c.Type, o.String(), c.Status, Time(c.LastTransitionTime))
	if c.Reason != "" {
		text += ", " + c.Reason
	}
	if c.Message != "" {
		text += ": " + c.Message
	}
	return text
}
