package dispatch

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/preflight"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// CreateOrigin creates a delegated Job, or an object of another kind, and checks that it is
// delegated. API servers before Kubernetes 1.32 silently drop a Job's managedBy (KEP-4368), and
// so do servers with older versions of other kinds. The cluster would then run the object itself,
// so CreateOrigin deletes it again.
func CreateOrigin(ctx context.Context, c *fleet.Cluster, k delegation.Kind, job *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	// An interrupt must not cancel this request: its result would be unknown.
	ctx = context.WithoutCancel(ctx)
	created, err := c.Create(ctx, k.Resource, job, metav1.FieldValidationStrict)
	if apierrors.IsInvalid(err) {
		return nil, fmt.Errorf("context %q: cannot create %s: %s", c.Context, object.KindAndName(job), kubecontext.Causes(err))
	}
	if err != nil {
		return nil, fmt.Errorf("context %q: cannot create %s: %w", c.Context, object.KindAndName(job), kubecontext.Cause(err))
	}
	if content.StringAt(created, k.ManagedBy...) == content.StringAt(job, k.ManagedBy...) {
		return created, nil
	}
	ref := refOf(c, created)
	dropped := fmt.Errorf("context %q: the API server drops %s, so %s would run there too%s", c.Context, content.Dotted(k.ManagedBy), ref.WithKind(), object.NeededFor(k))
	if _, err := c.Remove(ctx, k.Resource, ref.Namespace, ref.Name, ref.UID); err != nil {
		return nil, fmt.Errorf("%w; and it could not be deleted again: %w", dropped, err)
	}
	return nil, dropped
}

// CreatedEvent returns the event of a created origin.
func CreatedEvent(c *fleet.Cluster, job *unstructured.Unstructured) Event {
	origin := refOf(c, job)
	return Event{Event: OriginCreated, Message: string(command.Say("created on %s", c.Context)), Origin: &origin}
}

// ProblemEvent returns the event of a problem that preflight found with a Job in context at.
func ProblemEvent(at string, job *unstructured.Unstructured, p preflight.Problem) Event {
	origin := refOf(&fleet.Cluster{Context: at}, job)
	what := p.Message
	if p.Object != "" {
		what = p.Object + ": " + what
	}
	e := Event{Event: Warned, Message: string(command.Say("context %q: %s", p.Context, what)), Origin: &origin}
	if p.Blocking {
		e.Event = Refused
	}
	if p.Remedy != "" {
		e.Message += "; " + string(p.Remedy)
	}
	return e
}
