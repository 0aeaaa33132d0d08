package read

import (
	"cmp"
	"slices"
	"strings"

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
		Phase: o.Status.Phase, CreationTimestamp: o.CreationTimestamp, Scheduler: o.Spec.SchedulerName, RestartPolicy: o.Spec.RestartPolicy,
	}
	if o.Status.StartTime != nil {
		p.Started = *o.Status.StartTime
	}
	if o.DeletionTimestamp != nil {
		p.DeletedBy = *o.DeletionTimestamp
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
	for _, s := range containers(o) {
		p.Restarts += s.RestartCount
	}
	p.Reason, p.Message = podReason(o)
	if name, end := failedContainer(o); end != nil {
		p.ExitCode, p.ExitReason, p.ExitedAt = end.ExitCode, end.Reason, end.FinishedAt
		p.ExitContainer, p.IsExitHidden = name, name != inspect.DefaultContainer(o)
	}
	p.Claims, p.Gates = claimsOf(o), gatesOf(o)
	return p
}

// containers returns the statuses of all containers that a Pod runs by itself, in the order of their
// start.
func containers(o *corev1.Pod) []corev1.ContainerStatus {
	return slices.Concat(o.Status.InitContainerStatuses, o.Status.ContainerStatuses)
}

// failedContainer returns the first container that failed, and how it has ended, now or before its restart; nil
// if none has.
func failedContainer(o *corev1.Pod) (name string, end *corev1.ContainerStateTerminated) {
	for _, s := range containers(o) {
		for _, state := range []corev1.ContainerState{s.State, s.LastTerminationState} {
			if t := state.Terminated; t != nil && t.ExitCode != 0 {
				return s.Name, t
			}
		}
	}
	return "", nil
}

// claimsOf returns the names of the PersistentVolumeClaims of a Pod. Kubernetes creates those of
// ephemeral volumes, and names them after the Pod.
func claimsOf(o *corev1.Pod) (names []string) {
	for i := range o.Spec.Volumes {
		switch v := &o.Spec.Volumes[i]; {
		case v.PersistentVolumeClaim != nil:
			names = append(names, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			names = append(names, o.Name+"-"+v.Name)
		}
	}
	return names
}

// podReason returns the state of a Pod in one word, with its explanation.
func podReason(o *corev1.Pod) (reason, message string) {
	if o.DeletionTimestamp != nil {
		return inspect.Terminating, ""
	}
	for _, s := range containers(o) {
		switch {
		case s.State.Waiting != nil && s.State.Waiting.Reason != "" && s.State.Waiting.Reason != "PodInitializing":
			return s.State.Waiting.Reason, s.State.Waiting.Message
		case s.State.Terminated != nil && s.State.Terminated.ExitCode != 0:
			return cmp.Or(s.State.Terminated.Reason, "Error"), s.State.Terminated.Message
		}
	}
	for _, c := range o.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return whyUnscheduled(o, &c)
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

// whyUnscheduled returns why a Pod has no node, according to its condition. That of a Pod with scheduling gates does not
// name them.
func whyUnscheduled(o *corev1.Pod, c *corev1.PodCondition) (reason, message string) {
	if gates := gatesOf(o); c.Reason == corev1.PodReasonSchedulingGated && len(gates) > 0 {
		return c.Reason, "waits for the removal of " + inspect.GateNames(gates)
	}
	return cmp.Or(c.Reason, "Unscheduled"), schedulersReason(c.Message)
}

// gatesOf returns the names of the scheduling gates of a Pod.
func gatesOf(o *corev1.Pod) (names []string) {
	for _, gate := range o.Spec.SchedulingGates {
		names = append(names, gate.Name)
	}
	return names
}

// schedulersReason returns why no node fits, without what the scheduler appends: what preemption would
// achieve, for each node again, and "not found" if no plugin got as far as to store its state
// (kubernetes: ErrNotFound of CycleState, which PostFilter of dynamicresources returns).
func schedulersReason(message string) string {
	why, _, _ := strings.Cut(message, " preemption: ")
	for _, appended := range []string{" no new claims to deallocate,", " still not schedulable,"} {
		why = strings.TrimSuffix(why, appended)
	}
	if first, found := strings.CutSuffix(why, ". not found"); found {
		return first + "."
	}
	return why
}
