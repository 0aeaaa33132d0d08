package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/wire"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/podfit"
)

// nodes returns the nodes of the cluster.
func (p Probe) nodes(ctx context.Context) ([]*podfit.Node, error) {
	return recall(ctx, p, "nodes", func(ctx context.Context) ([]*podfit.Node, error) {
		var nodes []*podfit.Node
		err := wire.EachItem(ctx, p.Kubernetes().CoreV1().Nodes().List, metav1.ListOptions{}, func(n *corev1.Node) {
			nodes = append(nodes, podfit.NodeOf(n))
		})
		return nodes, err
	})
}

// nodesFor warns if no node can run such a Pod. It does not block, because an autoscaler may add
// a node.
func (c *check) nodesFor(ctx context.Context, pod *corev1.Pod) []Problem {
	fit := fitOf(pod)
	nodes, err := c.worker.nodes(ctx)
	if apierrors.IsForbidden(err) && !fit.IsSelective() {
		return nil
	}
	if err != nil {
		return []Problem{c.worker.unchecked(labelled("the nodes"), "", err)}
	}
	message := unfit(pod, fit.Summarize(nodes))
	if message == "" {
		return nil
	}
	return []Problem{{
		Context: c.worker.Context, Object: labelled("the nodes"), Message: "do not fit the Pods: " + message + "; the Pods stay pending until a node fits",
		NoNode: true,
		Remedy: command.Say("list the existing ones: %s", c.worker.Kubectl("", "describe", "nodes")),
	}}
}

// fitOf returns a Pod to compare with nodes. A Pod that was not admitted may lack requests.
func fitOf(pod *corev1.Pod) *podfit.Pod {
	return podfit.New(&pod.Spec, kueue.Requests(&pod.Spec, nil, kueue.SchedulerRules()))
}

// unfit returns the reason why no node can run a Pod; "" if one can.
func unfit(pod *corev1.Pod, s podfit.Summary) string {
	matching := s.Nodes - s.Other()
	switch {
	case s.Fits() > 0:
		return ""
	case s.Nodes == 0:
		return "there are none"
	case s.Counts[podfit.OtherName] == s.Nodes:
		return fmt.Sprintf("none of the %d is the node that the Pods name: %s", s.Nodes, pod.Spec.NodeName)
	case matching == 0:
		return fmt.Sprintf("none of the %d has the labels that the Pods request: %s", s.Nodes, describeLabels(pod))
	case s.Counts[podfit.Cordoned] == matching:
		return fmt.Sprintf("each of the %d with the labels that the Pods request is cordoned", matching)
	case s.Counts[podfit.TooSmall] == 0:
		message := fmt.Sprintf("the Pods do not tolerate the taints of the %d with the labels that they request: %s", s.Counts[podfit.Tainted], strings.Join(s.Taints, ", "))
		if cordoned := s.Counts[podfit.Cordoned]; cordoned > 0 {
			message += fmt.Sprintf("; cordoned: %d more", cordoned)
		}
		return message
	case len(s.Lacking) == 0:
		return fmt.Sprintf("none of the %d that they may use has everything that a Pod requests at once", s.Counts[podfit.TooSmall])
	}
	var lacking []string
	for name, amount := range s.Lacking {
		lacking = append(lacking, fmt.Sprintf("%s=%s", name, amount.String()))
	}
	slices.Sort(lacking)
	return fmt.Sprintf("none of the %d that they may use has what a Pod requests: %s", s.Counts[podfit.TooSmall], strings.Join(lacking, ", "))
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
