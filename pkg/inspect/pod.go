package inspect

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/podfit"
)

// Pod holds the needed fields of a Pod.
type Pod struct {
	Namespace, Name, UID string
	// JobUID is the UID of the object that controls the Pod.
	JobUID string
	// JobName is the kind and name of that object, such as Job/train-workers-0.
	JobName string
	// LeftBy is the UID of the Job that the Pod was created for, if no object controls it any more.
	// JobName is then that Job's.
	LeftBy string
	// OfKinds are the Pod's labels by which kinds find their Pods (delegation.Kind.PodLabel).
	OfKinds map[string]string
	Node    string
	Phase   corev1.PodPhase
	// Reason is the status that kubectl would show, such as ImagePullBackOff or Unschedulable.
	Reason string
	// Message explains Reason, if the API has an explanation.
	Message           string
	Ready             bool
	Restarts          int32
	CreationTimestamp metav1.Time
	// Scheduled is when the scheduler found a node, or last reported that there is none; the zero
	// time if it did neither.
	Scheduled metav1.Time
	// Changed is when a condition, such as Ready, last changed.
	Changed metav1.Time
	// Scheduler is the name of the scheduler that must find a node.
	Scheduler string
	// HasSchedulerResult is whether a scheduler has chosen a node, or said why there is none.
	HasSchedulerResult bool
	// Started is when the kubelet of the node picked the Pod up; zero if it has not.
	Started metav1.Time
}

// IsUnschedulable says whether the scheduler has found no node so far.
func (p *Pod) IsUnschedulable() bool {
	return p.Node == "" && p.Phase == corev1.PodPending && p.Reason == corev1.PodReasonUnschedulable
}

// Environment is what a cluster has for Pods, apart from quota: namespaces and nodes.
type Environment struct {
	// Namespaces are the namespaces that were requested by name, nil for one that does not exist.
	Namespaces map[string]*Namespace
	// Nodes are all nodes; nil if not requested. NodesErr is why they could not be listed.
	Nodes    []*podfit.Node
	NodesErr error
}

// clone returns a copy that can be extended; nil for nil.
func (s *Environment) clone() *Environment {
	if s == nil {
		return nil
	}
	c := *s
	c.Namespaces = maps.Clone(s.Namespaces)
	return &c
}
