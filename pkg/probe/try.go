package probe

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// Trial has the objections of a worker to a mirror and its Pod; nil errors mean none.
type Trial struct{ Mirror, Pod error }

// Try creates the mirror of a Job and a Pod of it on a worker, in dry runs, so that the
// namespace, quotas, webhooks and PodSecurity of the worker are checked.
func Try(ctx context.Context, c *fleet.Cluster, origin *unstructured.Unstructured) Trial {
	m := mirror(origin)
	var t Trial
	_, t.Mirror = c.Create(ctx, delegation.Job().Resource, m, "", metav1.DryRunAll)
	_, t.Pod = c.Create(ctx, corev1.SchemeGroupVersion.WithResource("pods"), podOf(m), "", metav1.DryRunAll)
	return t
}
