package bundle

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// listAll keeps all objects of a resource, of the wanted namespace where it has
// namespaces.
func (r *reader) listAll(ctx context.Context, res resource, o metav1.ListOptions) error {
	namespace := ""
	if res.namespaced {
		namespace = r.namespace
	}
	return r.list(ctx, res, namespace, o, func(map[string]any) bool { return true })
}

// list keeps the objects that are wanted.
func (r *reader) list(ctx context.Context, res resource, namespace string, o metav1.ListOptions, wanted func(map[string]any) bool) error {
	return r.visit(ctx, res, namespace, o, func(object map[string]any) {
		if wanted(object) {
			r.keep(res, object)
		}
	})
}

// visit asks for objects in chunks and calls do for each.
func (r *reader) visit(ctx context.Context, res resource, namespace string, o metav1.ListOptions, do func(map[string]any)) error {
	err := fleet.EachObject(ctx, r.cluster, res.GroupVersionResource, namespace, o, do)
	return causeOf(ctx, err)
}

// causeOf is an error, or why ctx is over where it is.
func causeOf(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
