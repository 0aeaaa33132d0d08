package dispatch

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
)

// Preview returns what Cancel would do to an object, as a sentence, and changes nothing. It searches the
// mirrors as Cancel does, and returns the same errors. With asksServers, the API servers try the writes
// in a dry run. If an admission webhook supports none, the mirror is not tried, and the origin is an error.
func (c *Canceller) Preview(ctx context.Context, k delegation.Kind, namespace, name string, asksServers bool) (string, error) {
	x, origin, err := c.prepare(ctx, k, namespace, name)
	if err != nil {
		return "", err
	}
	if asksServers {
		x.dryRun = []string{metav1.DryRunAll}
		for i := range x.mirrors {
			if err := x.chooseContext(ctx, &x.mirrors[i]); err != nil {
				return "", err
			}
		}
		if _, err := x.failOrigin(ctx); err != nil {
			return "", fmt.Errorf("%w; nothing was changed", err)
		}
	}
	return x.describePreview(origin), nil
}

// describePreview describes what would happen to an origin and its mirrors.
func (x *cancellation) describePreview(origin *unstructured.Unstructured) string {
	text := fmt.Sprintf("%s would fail with reason %s", x.ref.WithKind(), CancelReason)
	switch {
	case object.EndOf(x.kind, origin) != nil:
		text = x.ref.WithKind() + " has ended and would keep its status"
	case x.kind.NeverEnds():
		text = x.ref.WithKind() + " would no longer be dispatched"
	}
	for _, m := range x.mirrors {
		if object.EndOf(x.kind, origin) == nil && object.HasFinished(x.kind, m.Object) {
			text = x.ref.WithKind() + " would get the final status of its mirror"
			break
		}
	}
	switch {
	case x.Abandon:
		return text + "; its mirrors would not be searched for"
	case len(x.mirrors) == 0:
		return text + "; no mirror of it was found on " + list(contextsOf(x.Workers))
	}
	for _, m := range x.mirrors {
		text += fmt.Sprintf("; its mirror %s on %s would be deleted", refOf(m.Cluster, m.Object), m.Cluster.Context)
	}
	return text
}
