package apiserver

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// RequestTimeout bounds each request, so that a connection which is dead without
// saying so does not hold a Job up for longer.
const RequestTimeout = 15 * time.Second

// Failed makes an error of a request to the cluster one that names it.
func (s *Side) Failed(err error) error {
	if err == nil {
		return nil
	}
	return &Error{Side: s, Err: err}
}

// answered passes on whether a request was answered, in whatever way.
func (s *Side) answered(err error) {
	if s.OnAnswer != nil && (err == nil || !IsConnection(err)) {
		s.OnAnswer()
	}
}

// Objects is where a cluster has the objects of a kind that are in a namespace.
func (s *Side) Objects(k delegation.Kind, namespace string) dynamic.ResourceInterface {
	return s.Dynamic.Resource(k.Resource).Namespace(namespace)
}

// Get reads a Job, or an object of another kind, from the server; nil if there is
// none.
func (s *Side) Get(ctx context.Context, k delegation.Kind, r Ref) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	job, err := s.Objects(k, r.Namespace).Get(ctx, r.Name, metav1.GetOptions{})
	s.answered(err)
	if isGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, s.Failed(err)
	}
	if job.GetName() != r.Name || job.GetNamespace() != r.Namespace {
		// Whatever answers there, people are told to run commands with these names.
		return nil, s.Failed(fmt.Errorf("it was asked for %s, and answers with %q in namespace %q", r.WithKind(), job.GetName(), job.GetNamespace()))
	}
	return Trimmed(job), nil
}

// Object reads an object as it is stored, nil if there is none.
func (s *Side) Object(ctx context.Context, k delegation.Kind, namespace, name string) (*unstructured.Unstructured, error) {
	ref := RefTo(s, k.GroupVersionKind(), namespace, name, "")
	o, err := s.Get(ctx, k, ref)
	if err != nil {
		return nil, fmt.Errorf("could not read %s: %w", ref.WithKind(), err)
	}
	return o, nil
}

// Patch writes to an object what a JSON merge patch says, if it still is the one that
// is meant, by its uid, and as it was read, by its resourceVersion; otherwise the
// error is a conflict.
func (s *Side) Patch(ctx context.Context, k delegation.Kind, job *unstructured.Unstructured, subresource string, patch map[string]any) (*unstructured.Unstructured, error) {
	metadata := map[string]any{"uid": string(job.GetUID()), "resourceVersion": job.GetResourceVersion()}
	if more, ok := patch["metadata"].(map[string]any); ok {
		maps.Copy(metadata, more)
	}
	whole := maps.Clone(patch)
	whole["metadata"] = metadata
	body, err := json.Marshal(whole)
	if err != nil {
		return nil, err
	}
	var subresources []string
	if subresource != "" {
		subresources = append(subresources, subresource)
	}
	o := metav1.PatchOptions{FieldManager: FieldManager}
	if !k.IsJob() {
		// What of it the server does not know is found out from what it has stored.
		o.FieldValidation = metav1.FieldValidationIgnore
	}
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	written, err := s.Objects(k, job.GetNamespace()).Patch(ctx, job.GetName(), types.MergePatchType, body, o, subresources...)
	s.answered(err)
	if err != nil {
		return nil, s.Failed(err)
	}
	return Trimmed(written), nil
}

// Remove deletes the object of that name and uid, with its pods, and says whether it
// did: that there is none any more is no error.
func (s *Side) Remove(ctx context.Context, k delegation.Kind, r Ref) (removed bool, err error) {
	return s.remove(ctx, k, r)
}

// TryRemove has the API server say what would be in the way of Remove, and removes
// nothing.
func (s *Side) TryRemove(ctx context.Context, k delegation.Kind, r Ref) error {
	_, err := s.remove(ctx, k, r, metav1.DryRunAll)
	return err
}

func (s *Side) remove(ctx context.Context, k delegation.Kind, r Ref, dryRun ...string) (removed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	// Without a policy, Jobs are deleted without their pods (kubernetes:
	// pkg/registry/batch/job/strategy.go, DefaultGarbageCollectionPolicy).
	uid, policy := types.UID(r.UID), metav1.DeletePropagationBackground
	err = s.Objects(k, r.Namespace).Delete(ctx, r.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &policy, DryRun: dryRun,
	})
	if isGone(err) || apierrors.IsConflict(err) {
		// A conflict says that another object has that name now.
		return false, nil
	}
	return err == nil, s.Failed(err)
}

// Trimmed drops from an object what is of no use to us and large: who has set which field.
func Trimmed(job *unstructured.Unstructured) *unstructured.Unstructured {
	job.SetManagedFields(nil)
	return job
}

// FieldManager is the name under which everything is written.
const FieldManager = "kubectl-jobs-managedby"
