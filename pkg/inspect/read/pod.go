package read

import (
	"cmp"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/apijson"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// podObject decodes a Pod into the model, with its labels.
type podObject struct {
	pod    inspect.Pod
	labels map[string]string
}

// UnmarshalJSON decodes the whole Pod and keeps the needed fields.
func (p *podObject) UnmarshalJSON(text []byte) error {
	var o corev1.Pod
	if err := apijson.Unmarshal(text, &o); err != nil {
		return err
	}
	p.pod, p.labels = *readPod(&o), o.Labels
	return nil
}

// readPod converts a Pod to the model.
func readPod(o *corev1.Pod) *inspect.Pod {
	p := &inspect.Pod{
		Namespace: o.Namespace, Name: o.Name, UID: string(o.UID), Node: o.Spec.NodeName,
		Phase: o.Status.Phase, CreationTimestamp: o.CreationTimestamp, Scheduler: o.Spec.SchedulerName,
	}
	if o.Status.StartTime != nil {
		p.Started = *o.Status.StartTime
	}
	if owner := metav1.GetControllerOf(o); owner != nil {
		p.JobUID, p.JobName = string(owner.UID), owner.Kind+"/"+owner.Name
	} else if uid := o.Labels[batchv1.ControllerUidLabel]; uid != "" {
		p.LeftBy, p.JobName = uid, "Job/"+o.Labels[batchv1.JobNameLabel]
	}
	for _, kind := range delegation.Kinds() {
		if value := o.Labels[kind.PodLabel]; value != "" && !kind.IsJob() {
			if p.OfKinds == nil {
				p.OfKinds = map[string]string{}
			}
			p.OfKinds[kind.PodLabel] = value
		}
	}
	for _, c := range o.Status.Conditions {
		if c.LastTransitionTime.After(p.Changed.Time) {
			p.Changed = c.LastTransitionTime
		}
		if c.Type == corev1.PodReady {
			p.Ready = c.Status == corev1.ConditionTrue
		}
		if c.Type == corev1.PodScheduled {
			p.HasSchedulerResult, p.Scheduled = true, c.LastTransitionTime
		}
	}
	for _, s := range o.Status.ContainerStatuses {
		p.Restarts += s.RestartCount
	}
	p.Reason, p.Message = podReason(o)
	return p
}

// podReason returns the state of a Pod in one word, with its explanation.
func podReason(o *corev1.Pod) (reason, message string) {
	if o.DeletionTimestamp != nil {
		return "Terminating", ""
	}
	for _, s := range append(append([]corev1.ContainerStatus(nil), o.Status.InitContainerStatuses...), o.Status.ContainerStatuses...) {
		switch {
		case s.State.Waiting != nil && s.State.Waiting.Reason != "" && s.State.Waiting.Reason != "PodInitializing":
			return s.State.Waiting.Reason, s.State.Waiting.Message
		case s.State.Terminated != nil && s.State.Terminated.ExitCode != 0:
			return cmp.Or(s.State.Terminated.Reason, "Error"), s.State.Terminated.Message
		}
	}
	for _, c := range o.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return cmp.Or(c.Reason, "Unscheduled"), c.Message
		}
	}
	if o.Status.Reason != "" {
		return o.Status.Reason, o.Status.Message
	}
	if o.Status.Phase == corev1.PodSucceeded {
		return "Completed", ""
	}
	return string(o.Status.Phase), ""
}
