package dispatch

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/cache"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// side is one of the clusters of a Loop, with the state of its connection. Each answered request
// for an object marks it as connected. Each caller that gives up a request marks it as
// disconnected.
type side struct {
	*fleet.Cluster
	link cache.Link
}

func newSide(c *fleet.Cluster, events *Recorder) *side {
	s := &side{Cluster: c}
	s.link.Lost = func(err error) {
		events.Record(Event{Event: Disconnected, Message: string(command.Say("%v; Jobs keep running, retrying", c.Failed(err)))})
	}
	s.link.Recovered = func() {
		events.Record(Event{Event: Reconnected, Message: string(command.Say("context %s answers again", c.Context))})
	}
	return s
}

// get reads an object; nil means that the server reports none. That does not prove its absence:
// see proveGone.
func (s *side) get(ctx context.Context, k delegation.Kind, r Ref) (*unstructured.Unstructured, error) {
	found, err := s.Get(ctx, k.Resource, r.Namespace, r.Name)
	s.answered(err)
	return found, err
}

// patch applies a merge patch to an object.
func (s *side) patch(ctx context.Context, k delegation.Kind, o *unstructured.Unstructured, subresource string, p map[string]any) (*unstructured.Unstructured, error) {
	written, err := patch(ctx, s.Cluster, k, o, subresource, p)
	s.answered(err)
	return written, err
}

// patch applies a merge patch on any cluster.
func patch(ctx context.Context, c *fleet.Cluster, k delegation.Kind, o *unstructured.Unstructured, subresource string, p map[string]any) (*unstructured.Unstructured, error) {
	validation := ""
	if !k.IsJob() {
		// The stored object shows which fields the server does not know.
		validation = metav1.FieldValidationIgnore
	}
	return c.Patch(ctx, k.Resource, o, subresource, p, validation)
}

// proveGone returns nil if the object is certainly gone, and a conflict if it exists after all.
func (s *side) proveGone(ctx context.Context, k delegation.Kind, r Ref) error {
	err := s.ProveGone(ctx, k.Resource, r.Namespace, r.Name, r.UID)
	s.answered(err)
	if present := (*kubecontext.PresentError)(nil); errors.As(err, &present) {
		return conflict(k, r.Name)
	}
	return err
}

// answered records that the cluster has answered a request, with or without success.
func (s *side) answered(err error) {
	if err == nil || !kubecontext.IsConnection(err) {
		s.link.Note(nil)
	}
}
