package read

import (
	"context"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// Tried is the result of a server-side dry run: the object as the server and its webhooks changed
// it, or an error.
type Tried struct {
	Object *unstructured.Unstructured
	Err    error
}

// TryCreate makes a server-side dry run of creating a Job in these contexts. The results are by
// context.
func TryCreate(ctx context.Context, f *fleet.Fleet, job *unstructured.Unstructured, contexts []string) map[string]Tried {
	answers := fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) (*unstructured.Unstructured, error) {
		if !slices.Contains(contexts, c.Context) {
			return nil, nil
		}
		return c.Create(ctx, delegation.Job().Resource, job.DeepCopy(), "", metav1.DryRunAll)
	})
	tried := map[string]Tried{}
	for _, a := range answers {
		if slices.Contains(contexts, a.Context) {
			tried[a.Context] = Tried{a.Value, a.Err}
		}
	}
	return tried
}

// MayNotCreate says whether the user lacks the right to create. Admission denials are Forbidden
// too, but name the object.
func (t Tried) MayNotCreate() bool {
	var status apierrors.APIStatus
	if !apierrors.IsForbidden(t.Err) || !errors.As(t.Err, &status) {
		return false
	}
	details := status.Status().Details
	return details == nil || details.Name == ""
}
