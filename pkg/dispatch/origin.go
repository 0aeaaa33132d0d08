package dispatch

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// CreateOrigin creates a delegated Job, and makes sure that it is one: API servers
// before Kubernetes 1.32 drop managedBy without a word, and run the Job themselves
// (KEP-4368). Such a Job is deleted again.
func CreateOrigin(ctx context.Context, s *Side, job *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	// What has begun is not broken off: nobody would know whether it was created.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	doing := fmt.Sprintf("create job %s/%s", job.GetNamespace(), job.GetName())
	created, err := s.Dynamic.Resource(delegation.Job().Resource).Namespace(job.GetNamespace()).
		Create(ctx, job, metav1.CreateOptions{FieldManager: FieldManager, FieldValidation: metav1.FieldValidationStrict})
	if apierrors.IsInvalid(err) {
		return nil, fmt.Errorf("context %s: could not %s: %s", s.Context, doing, causes(err))
	}
	if err != nil {
		return nil, fmt.Errorf("context %s: could not %s: %w", s.Context, doing, err)
	}
	wanted, _, _ := unstructured.NestedString(job.Object, delegation.Job().ManagedBy...)
	if got, _, _ := unstructured.NestedString(created.Object, delegation.Job().ManagedBy...); got == wanted {
		return created, nil
	}
	ref := Ref{Context: s.Context, Namespace: created.GetNamespace(), Name: created.GetName(), UID: string(created.GetUID())}
	dropped := fmt.Errorf("context %s: the API server drops spec.managedBy, so that job %s would run there too; Kubernetes 1.32 or later is needed", s.Context, ref)
	if _, err := s.remove(ctx, ref); err != nil {
		return nil, fmt.Errorf("%w; and it could not be deleted again: %w", dropped, err)
	}
	return nil, dropped
}

// CreatedEvent tells that an origin was created.
func CreatedEvent(s *Side, job *unstructured.Unstructured) Event {
	return Event{
		Event: OriginCreated, Message: "created on " + s.Context,
		Origin: &Ref{Context: s.Context, ClusterUID: s.ClusterUID, Namespace: job.GetNamespace(), Name: job.GetName(), UID: string(job.GetUID())},
	}
}

// ProblemEvent tells of a problem that preflight found with a Job of context at.
func ProblemEvent(at string, job *unstructured.Unstructured, p Problem) Event {
	e := Event{
		Event: Warned, Message: fmt.Sprintf("context %s: %s", p.Context, p.Message),
		Origin: &Ref{Context: at, Namespace: job.GetNamespace(), Name: job.GetName(), UID: string(job.GetUID())},
	}
	if p.Blocking {
		e.Event = Refused
	}
	if p.Remedy != "" {
		e.Message += "; " + p.Remedy
	}
	return e
}

// Mirror is what an origin says of its mirror.
type Mirror struct {
	delegation.Place
	// Here is whether it is where a dispatch to the worker would have it.
	Here bool
	// SameCluster is whether it is on the worker at all.
	SameCluster bool
}

// MirrorOf returns the mirror that an origin names, nil if it names none.
// namespace is where a mirror on the worker is meant to be, "" for the origin's.
func MirrorOf(worker *Side, origin *unstructured.Unstructured, namespace string) *Mirror {
	named := pinned(origin)
	if named.IsZero() {
		return nil
	}
	at := Ref{ClusterUID: worker.ClusterUID, Namespace: cmp.Or(namespace, origin.GetNamespace()), Name: origin.GetName()}
	want := place(at, named.UID)
	return &Mirror{Place: named, Here: named == want, SameCluster: named.ClusterUID == want.ClusterUID}
}
