package fleet

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// Create creates an object, and returns it as stored. validation is a value of
// metav1.CreateOptions.FieldValidation; "" for the server's default. With metav1.DryRunAll, the
// server does not store it.
func (c *Cluster) Create(ctx context.Context, r schema.GroupVersionResource, o *unstructured.Unstructured, validation string, dryRun ...string) (*unstructured.Unstructured, error) {
	return c.create(ctx, r, o, metav1.CreateOptions{FieldManager: FieldManager, FieldValidation: validation, DryRun: dryRun})
}

func (c *Cluster) create(ctx context.Context, r schema.GroupVersionResource, o *unstructured.Unstructured, how metav1.CreateOptions) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	created, err := c.Objects(r, o.GetNamespace()).Create(ctx, o, how)
	if err != nil {
		return nil, c.Failed(c.Checked(err, r, ""))
	}
	return Trimmed(created), nil
}

// NewManager returns a field manager for the creations of one object in one run. The managedFields of an
// object show its creator by it: FieldManager is the same for all users.
func NewManager() string { return FieldManager + "-" + rand.String(10) }

// UnknownCreationError means that an object may exist although its creation failed: the answer was
// lost, and the object was not found afterwards, or not readable.
type UnknownCreationError struct {
	// What names the object. Err is the error of its creation.
	What string
	Err  error
	// Unread is the reason why the object was not readable; nil if it was not found. Then the request to
	// create it may still arrive.
	Unread error
}

func (e *UnknownCreationError) Unwrap() error { return e.Err }

func (e *UnknownCreationError) Error() string {
	return fmt.Sprintf("unknown whether %s was created: %v", e.What, e.Err)
}

// CreateOnce creates an object as Create does, with a field manager of NewManager. If the answer is lost, it
// returns the object if that manager has created it. If such an object may exist, the error is an
// *UnknownCreationError. The end of ctx interrupts nothing, because the result would be unknown.
func (c *Cluster) CreateOnce(ctx context.Context, r schema.GroupVersionResource, o *unstructured.Unstructured, validation, manager string) (*unstructured.Unstructured, error) {
	ctx = context.WithoutCancel(ctx)
	created, err := c.create(ctx, r, o, metav1.CreateOptions{FieldManager: manager, FieldValidation: validation})
	if !kubecontext.IsUnclear(err) {
		return created, err
	}
	found, unread := c.Created(ctx, r, o.GetNamespace(), o.GetName(), manager)
	switch {
	case found != nil:
		return found, nil
	case unread != nil, kubecontext.IsUnanswered(err):
		return nil, &UnknownCreationError{What: r.GroupResource().String() + " " + o.GetNamespace() + "/" + o.GetName(), Err: err, Unread: unread}
	}
	return nil, err
}

// Created returns an object if a field manager created it, as its managedFields say, otherwise nil.
func (c *Cluster) Created(ctx context.Context, r schema.GroupVersionResource, namespace, name, manager string) (*unstructured.Unstructured, error) {
	isOurs := func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationUpdate && e.Subresource == ""
	}
	found, err := c.get(ctx, r, namespace, name)
	if found == nil || !slices.ContainsFunc(found.GetManagedFields(), isOurs) {
		return nil, err
	}
	return Trimmed(found), nil
}
