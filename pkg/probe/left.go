package probe

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// RemoveLeftovers removes the Jobs in a namespace of a cluster that earlier probes left behind. It
// returns these, and the Jobs of probes that may still run.
func RemoveLeftovers(ctx context.Context, c *fleet.Cluster, namespace string, now time.Time) (removed, others []*unstructured.Unstructured, err error) {
	jobs := delegation.Job().Resource
	var left []*unstructured.Unstructured
	err = c.Each(ctx, jobs, namespace, metav1.ListOptions{LabelSelector: Label}, func(o *unstructured.Unstructured) {
		o.SetKind("Job")
		switch {
		case isLeftover(o, now):
			left = append(left, o)
		case isProbeJob(o):
			others = append(others, o)
		}
	})
	if err != nil {
		return nil, others, err
	}
	for _, o := range left {
		isRemoved, err := c.RemoveIf(ctx, jobs, o, func(o *unstructured.Unstructured) bool { return isLeftover(o, now) })
		if err != nil {
			return removed, others, err
		}
		if isRemoved {
			removed = append(removed, o)
		}
	}
	return removed, others, nil
}
