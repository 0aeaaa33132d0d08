package inspect

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Pod is what is kept of a pod.
type Pod struct {
	Namespace, Name, UID string
	// JobUID is the uid of the object that controls it.
	JobUID string
	// JobName is that object's kind and name, such as Job/train-workers-0.
	JobName string
	// LeftBy is the uid of the Job that it was made for, where nothing controls it any more;
	// JobName is that Job's then.
	LeftBy string
	// OfKinds are its labels by which kinds find their pods: delegation.Kind.PodLabel.
	OfKinds map[string]string
	Node    string
	Phase   corev1.PodPhase
	// Reason is the word that kubectl would show as its status, such as
	// ImagePullBackOff or Unschedulable.
	Reason string
	// Message explains Reason, where the API has an explanation.
	Message           string
	Ready             bool
	Restarts          int32
	CreationTimestamp metav1.Time
	// Scheduled is when the scheduler found a node for it, or last said that there is
	// none; the zero time where it did neither.
	Scheduled metav1.Time
	// Changed is when its Ready condition, or any other, changed last.
	Changed metav1.Time
	// Scheduler is who is to find a node for it.
	Scheduler string
	// IsLookedAt is whether anybody has said where it is to run, or why it cannot.
	IsLookedAt bool
	// Started is when the kubelet of its node took it up; zero where it has not.
	Started metav1.Time
}

// IsUnschedulable says whether the scheduler has found no node for it so far.
func (p *Pod) IsUnschedulable() bool {
	return p.Node == "" && p.Phase == corev1.PodPending && p.Reason == corev1.PodReasonUnschedulable
}
