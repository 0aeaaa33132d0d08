// Package podfit decides whether a node would take a Pod if the node were empty, and why not. It
// compares them as the scheduler and the kubelet do. It also decides which PodSecurity level allows a Pod.
package podfit

import corev1 "k8s.io/api/core/v1"

// Node holds the fields of a node that decide whether it would take a Pod.
type Node struct {
	Name string
	// Labels include those of the kubelet: operating system, architecture and host name.
	Labels map[string]string
	Taints []corev1.Taint
	// Unschedulable is whether the node is cordoned.
	Unschedulable bool
	Allocatable   corev1.ResourceList
}

// NodeOf returns the fields of a node that decide.
func NodeOf(n *corev1.Node) *Node {
	return &Node{
		Name: n.Name, Labels: n.Labels, Taints: n.Spec.Taints, Unschedulable: n.Spec.Unschedulable, Allocatable: n.Status.Allocatable,
	}
}

// cordon returns the taint by which the scheduler treats a cordoned node (kubernetes:
// pkg/scheduler/framework/plugins/nodeunschedulable). A controller also adds it to the node.
func cordon() corev1.Taint {
	return corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
}

// IsCordoned reports whether the node is cordoned.
func (n *Node) IsCordoned() bool {
	for i := range n.Taints {
		if n.Taints[i].Key == corev1.TaintNodeUnschedulable && n.Taints[i].Effect == corev1.TaintEffectNoSchedule {
			return true
		}
	}
	return n.Unschedulable
}
