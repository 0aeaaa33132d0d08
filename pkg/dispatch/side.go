package dispatch

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// side is one of the clusters of a Loop, and whether it answers. That it does is told by
// every request for an object, and that it does not by whoever has given one up.
type side struct {
	*fleet.Cluster
	link fleet.Link
}

func newSide(c *fleet.Cluster, events *Recorder) *side {
	s := &side{Cluster: c}
	s.link.Lost = func(err error) {
		events.Record(Event{Event: Disconnected, Message: string(command.Say("%v; Jobs go on running, and it is tried again", c.Failed(err)))})
	}
	s.link.Back = func() {
		events.Record(Event{Event: Reconnected, Message: string(command.Say("context %s answers again", c.Context))})
	}
	return s
}

// get reads what is referred to; it is nil if the server says that there is none. That is no
// proof: see proveGone.
func (s *side) get(ctx context.Context, k delegation.Kind, r Ref) (*unstructured.Unstructured, error) {
	found, err := s.Get(ctx, k.Resource, r.Namespace, r.Name)
	s.answered(err)
	return found, err
}

// patch writes to an object what a merge patch says.
func (s *side) patch(ctx context.Context, k delegation.Kind, o *unstructured.Unstructured, subresource string, p map[string]any) (*unstructured.Unstructured, error) {
	written, err := patch(ctx, s.Cluster, k, o, subresource, p)
	s.answered(err)
	return written, err
}

// patch does so on any cluster.
func patch(ctx context.Context, c *fleet.Cluster, k delegation.Kind, o *unstructured.Unstructured, subresource string, p map[string]any) (*unstructured.Unstructured, error) {
	validation := ""
	if !k.IsJob() {
		// What of it the server does not know is found out from what it has stored.
		validation = metav1.FieldValidationIgnore
	}
	return c.Patch(ctx, k.Resource, o, subresource, p, validation)
}

// proveGone returns nil if the object of a reference is certainly gone, and a conflict if it
// is there after all.
func (s *side) proveGone(ctx context.Context, k delegation.Kind, r Ref) error {
	err := s.ProveGone(ctx, k.Resource, r.Namespace, r.Name, r.UID)
	s.answered(err)
	if present := (*kubecontext.PresentError)(nil); errors.As(err, &present) {
		return conflict(k, r.Name)
	}
	return err
}

// answered notes that a request was answered, in whatever way.
func (s *side) answered(err error) {
	if err == nil || !kubecontext.IsConnection(err) {
		s.link.Note(nil)
	}
}
