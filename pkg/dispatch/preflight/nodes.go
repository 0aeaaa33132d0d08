package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/resource"
	schedulingcorev1 "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// nodes returns the nodes of the cluster, reduced to what the scheduler needs.
func (p Probe) nodes(ctx context.Context) ([]corev1.Node, error) {
	return recall(ctx, p, "nodes", func(ctx context.Context) ([]corev1.Node, error) {
		var nodes []corev1.Node
		err := fleet.EachItem(ctx, p.Kubernetes().CoreV1().Nodes().List, metav1.ListOptions{}, func(n *corev1.Node) {
			nodes = append(nodes, corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels},
				Spec:       corev1.NodeSpec{Taints: n.Spec.Taints},
				Status:     corev1.NodeStatus{Allocatable: n.Status.Allocatable},
			})
		})
		return nodes, err
	})
}

// nodesFor warns if no node can run such a Pod. It does not block, because an autoscaler may add
// a node.
func (c *check) nodesFor(ctx context.Context, pod *corev1.Pod) []Problem {
	nodes, err := c.worker.nodes(ctx)
	if apierrors.IsForbidden(err) && !isSelective(pod) {
		return nil
	}
	if err != nil {
		return []Problem{c.worker.unchecked("the nodes", "", err)}
	}
	message := unfit(ctx, pod, nodes)
	if message == "" {
		return nil
	}
	return []Problem{{
		Context: c.worker.Context, Object: "the nodes", Message: message + "; the pods stay pending until there is one",
		Remedy: command.Say("list the existing ones: %s", c.worker.Kubectl("", "describe", "nodes")),
	}}
}

// isSelective reports whether a Pod has requirements that some nodes do not meet.
func isSelective(pod *corev1.Pod) bool {
	if len(pod.Spec.NodeSelector) > 0 || pod.Spec.Affinity != nil && pod.Spec.Affinity.NodeAffinity != nil {
		return true
	}
	for name := range resource.PodRequests(pod, resource.PodResourcesOptions{}) {
		if strings.Contains(string(name), "/") {
			return true
		}
	}
	return false
}

// unfit returns the reason why no node can run a Pod; "" if one can.
func unfit(ctx context.Context, pod *corev1.Pod, nodes []corev1.Node) string {
	if len(nodes) == 0 {
		return "there are none"
	}
	affinity := nodeaffinity.GetRequiredNodeAffinity(pod)
	matching := slices.DeleteFunc(slices.Clone(nodes), func(n corev1.Node) bool {
		matches, err := affinity.Match(&n)
		return err == nil && !matches || !hasOS(pod, &n)
	})
	if len(matching) == 0 {
		return fmt.Sprintf("none of the %d has the labels that the Pods request: %s", len(nodes), describeLabels(pod))
	}
	logger := klog.FromContext(ctx)
	var taints []string
	tolerated := slices.DeleteFunc(slices.Clone(matching), func(n corev1.Node) bool {
		taint, found := schedulingcorev1.FindMatchingUntoleratedTaint(logger, n.Spec.Taints, pod.Spec.Tolerations, keepsPodsOff, true)
		if found {
			taints = append(taints, taint.ToString())
		}
		return found
	})
	if len(tolerated) == 0 {
		slices.Sort(taints)
		return fmt.Sprintf("the Pods do not tolerate the taints of the %d with the labels that they request: %s", len(matching), strings.Join(slices.Compact(taints), ", "))
	}
	return tooSmall(pod, tolerated)
}

func keepsPodsOff(t *corev1.Taint) bool {
	return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
}

// hasOS reports whether a node has the operating system that a Pod names. Otherwise the kubelet
// refuses the Pod.
func hasOS(pod *corev1.Pod, n *corev1.Node) bool {
	os := n.Labels[corev1.LabelOSStable]
	return pod.Spec.OS == nil || os == "" || string(pod.Spec.OS.Name) == os
}

// tooSmall returns which requests of the Pod exceed every node; "" if a node is large enough.
func tooSmall(pod *corev1.Pod, nodes []corev1.Node) string {
	var lacking []string
	requests := resource.PodRequests(pod, resource.PodResourcesOptions{})
	isHeld := slices.ContainsFunc(nodes, func(n corev1.Node) bool {
		for name, amount := range requests {
			if available := n.Status.Allocatable[name]; available.Cmp(amount) < 0 {
				return false
			}
		}
		return true
	})
	if isHeld {
		return ""
	}
	for name, amount := range requests {
		if !slices.ContainsFunc(nodes, func(n corev1.Node) bool {
			available := n.Status.Allocatable[name]
			return available.Cmp(amount) >= 0
		}) {
			lacking = append(lacking, fmt.Sprintf("%s=%s", name, amount.String()))
		}
	}
	if len(lacking) == 0 {
		return fmt.Sprintf("none of the %d other nodes has everything that a Pod requests at once", len(nodes))
	}
	slices.Sort(lacking)
	return fmt.Sprintf("none of the %d other nodes has what a Pod requests: %s", len(nodes), strings.Join(lacking, ", "))
}

// describeLabels describes the node labels that a Pod requires.
func describeLabels(pod *corev1.Pod) string {
	var parts []string
	for key, value := range pod.Spec.NodeSelector {
		parts = append(parts, key+"="+value)
	}
	slices.Sort(parts)
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		for _, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			for _, e := range term.MatchExpressions {
				parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Key, e.Operator, strings.Join(e.Values, ","))))
			}
		}
	}
	if pod.Spec.OS != nil {
		parts = append(parts, fmt.Sprintf("%s=%s", corev1.LabelOSStable, pod.Spec.OS.Name))
	}
	return strings.Join(parts, ", ")
}
