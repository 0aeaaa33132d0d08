package bundle

import (
	"context"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// dispatchedIn notes in which namespaces there are objects that are dispatched.
func dispatchedIn(namespaces map[string]bool, kind delegation.Kind, object map[string]any) {
	o := unstructured.Unstructured{Object: object}
	managedBy := delegation.TextAt(object, kind.ManagedBy...)
	if kind.Template {
		return
	}
	if delegation.IsDispatched(kind.OwnerOf(managedBy), delegation.MarksOf(o.GetLabels(), o.GetAnnotations())) {
		namespaces[o.GetNamespace()] = true
	}
}

// readLeases reads the Leases of dispatched Jobs, where there are such Jobs; there
// alone they are asked for when the bundle is read. They are asked for as they will
// be then: in the one namespace that all of these Jobs are in, or else everywhere.
// That the API is served is recorded along with them, so that a bundle without any
// does not say of those that nobody has read that there are none.
func (r *reader) readLeases(ctx context.Context, namespaces map[string]bool) {
	if len(namespaces) == 0 {
		return
	}
	namespace := metav1.NamespaceAll
	for name := range namespaces {
		if len(namespaces) == 1 {
			namespace = name
		}
	}
	ours := metav1.ListOptions{LabelSelector: delegation.OriginUIDLabel}
	err := r.list(ctx, leases(), namespace, ours, func(map[string]any) bool { return true })
	if apierrors.IsNotFound(err) {
		return
	}
	r.note(leases(), err)
	r.context.Served = append(r.context.Served, coordinationv1.SchemeGroupVersion.String())
}
