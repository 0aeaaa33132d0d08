package probe

import (
	"cmp"
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// Leftovers are the Jobs of earlier probes in a namespace of a cluster.
type Leftovers struct {
	// Removed were removed, and Remaining could not be removed.
	Removed, Remaining []*unstructured.Unstructured
	// Others are the Jobs of probes that may still run.
	Others []*unstructured.Unstructured
}

// RemoveLeftovers removes the Jobs in a namespace of a cluster that earlier probes left behind. The
// error is the first one that prevented it.
func RemoveLeftovers(ctx context.Context, c *fleet.Cluster, namespace string, now time.Time) (found Leftovers, err error) {
	jobs := delegation.Job().Resource
	var left []*unstructured.Unstructured
	err = c.Each(ctx, jobs, namespace, metav1.ListOptions{LabelSelector: Label}, func(o *unstructured.Unstructured) {
		o.SetKind("Job")
		switch {
		case isLeftover(o, now):
			left = append(left, o)
		case isProbeJob(o):
			found.Others = append(found.Others, o)
		}
	})
	if err != nil {
		return found, err
	}
	for _, o := range left {
		isRemoved, failed := c.RemoveIf(ctx, jobs, o, func(o *unstructured.Unstructured) bool { return isLeftover(o, now) })
		switch {
		case failed != nil:
			found.Remaining = append(found.Remaining, o)
			err = cmp.Or(err, failed)
		case isRemoved:
			found.Removed = append(found.Removed, o)
		}
	}
	return found, err
}
