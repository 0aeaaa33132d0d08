package bundle

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// chunk is how many objects are asked for at once, as kubectl does
// (cmdutil.DefaultChunkSize).
const chunk = 500

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
	o.Limit = chunk
	for {
		request, err := r.cluster.JSON(res.GroupVersionResource, namespace)
		if err != nil {
			return err
		}
		var page struct {
			metav1.ListMeta `json:"metadata"`
			Items           []map[string]any `json:"items"`
		}
		err = decode(ctx, request.SpecificallyVersionedParams(&o, scheme.ParameterCodec, fleet.ListOptionsVersion()), &page)
		var status apierrors.APIStatus
		if o.Continue != "" && apierrors.IsResourceExpired(err) && errors.As(err, &status) && status.Status().Continue != "" {
			// What the chunks come from was compacted away: go on from the same
			// place in the present state.
			o.Continue = status.Status().Continue
			continue
		}
		if err != nil {
			return err
		}
		for _, item := range page.Items {
			do(item)
		}
		if page.Continue == "" {
			return nil
		}
		o.Continue = page.Continue
	}
}

// get reads one object.
func (r *reader) get(ctx context.Context, res resource, namespace, name string) (map[string]any, error) {
	request, err := r.cluster.JSON(res.GroupVersionResource, namespace)
	if err != nil {
		return nil, err
	}
	var object map[string]any
	err = decode(ctx, request.Name(name), &object)
	return object, err
}

func decode(ctx context.Context, request *rest.Request, into any) error {
	err := fleet.DecodeJSON(request.Do(ctx), into)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
