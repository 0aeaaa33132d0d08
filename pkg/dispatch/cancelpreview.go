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
// Warnings are reported as events.
func (c *Canceller) Preview(ctx context.Context, events *Recorder, k delegation.Kind, namespace, name string, asksServers bool) (string, error) {
	x, origin, err := c.prepare(ctx, events, k, namespace, name)
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
	return x.describePreview(origin)
}

// describePreview describes what would happen to an origin and its mirrors. Its error is that of the
// origin's final status.
func (x *cancellation) describePreview(origin *unstructured.Unstructured) (string, error) {
	text := x.ref.WithKind() + " has ended and would keep its status"
	if object.EndOf(x.kind, origin) == nil {
		last, err := x.lastStatus(origin)
		switch {
		case err != nil:
			return "", err
		case last.isCopied:
			text = x.ref.WithKind() + " would get the final status of its mirror"
		case x.kind.NeverEnds():
			text = x.ref.WithKind() + " would no longer be dispatched"
		default:
			text = fmt.Sprintf("%s would fail with reason %s", x.ref.WithKind(), CancelReason)
		}
	}
	switch {
	case x.Abandon:
		return text + "; its mirrors would not be searched for", nil
	case len(x.mirrors) == 0:
		return text + "; no mirror of it was found on " + list(contextsOf(x.Workers)), nil
	}
	for _, m := range x.mirrors {
		text += fmt.Sprintf("; its mirror %s on %s would be deleted", refOf(m.Cluster, m.Object), m.Cluster.Context)
	}
	return text, nil
}
