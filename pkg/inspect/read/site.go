package read

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/podfit"
)

// listedNode has the needed fields of a Node. Most of a Node is images and conditions.
type listedNode struct {
	Metadata struct {
		Name   string            `json:"name"`
		Labels map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		Taints        []corev1.Taint `json:"taints"`
		Unschedulable bool           `json:"unschedulable"`
	} `json:"spec"`
	Status struct {
		Allocatable corev1.ResourceList `json:"allocatable"`
	} `json:"status"`
}

func (n *listedNode) node() *podfit.Node {
	return &podfit.Node{
		Name: n.Metadata.Name, Labels: n.Metadata.Labels, Taints: n.Spec.Taints, Unschedulable: n.Spec.Unschedulable, Allocatable: n.Status.Allocatable,
	}
}

// readSite reads what a cluster has for Pods: all nodes, and some namespaces. A denial is no gap.
func (r *factReader) readSite(ctx context.Context, namespaces []string) {
	site := &inspect.Environment{Namespaces: map[string]*inspect.Namespace{}}
	r.store(func() { r.facts.Environment = site })
	r.wg.Go(func() {
		nodes := []*podfit.Node{}
		err := listObjects(ctx, r.cluster, corev1.SchemeGroupVersion.WithResource("nodes"), "", metav1.ListOptions{}, func(o *listedNode) {
			nodes = append(nodes, o.node())
		})
		r.store(func() {
			switch {
			case apierrors.IsNotFound(err):
				// A snapshot has no nodes.
			case err != nil:
				site.NodesErr = err
			default:
				site.Nodes = nodes
			}
		})
	})
	for _, name := range namespaces {
		r.wg.Go(func() {
			o, err := getNamespace(ctx, r.cluster, name)
			if err == nil {
				r.store(func() { site.Namespaces[name] = o })
			}
		})
	}
}

// getNamespace returns a Namespace, nil if it does not exist.
func getNamespace(ctx context.Context, c *fleet.Cluster, name string) (*inspect.Namespace, error) {
	type object struct {
		metav1.ObjectMeta `json:"metadata"`
	}
	o, err := Get[object](ctx, c, corev1.SchemeGroupVersion.WithResource("namespaces"), "", name)
	if err != nil || o == nil {
		return nil, err
	}
	return &inspect.Namespace{Name: o.Name, UID: string(o.UID), Labels: o.Labels, IsTerminating: o.DeletionTimestamp != nil}, nil
}
