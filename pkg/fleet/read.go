package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/apijson"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/cache"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/wire"
)

// JSON returns a request for objects of any kind, as JSON. namespace is "" for all namespaces,
// and for cluster-scoped kinds.
func (c *Cluster) JSON(r schema.GroupVersionResource, namespace string) (*rest.Request, error) {
	apiPath := "/apis"
	if r.Group == corev1.GroupName {
		apiPath = "/api"
	}
	client, err := c.REST(r.GroupVersion(), apiPath)
	if err != nil {
		return nil, err
	}
	return client.Get().NamespaceIfScoped(namespace, namespace != "").Resource(r.Resource).
		SetHeader("Accept", "application/json"), nil
}

// list returns the list of a resource in a namespace, for wire.EachObject.
func (c *Cluster) list(r schema.GroupVersionResource, namespace string) wire.List {
	return wire.List{
		Request: func() (*rest.Request, error) { return c.JSON(r, namespace) },
		Check:   func(err error) error { return c.Checked(err, r, "") },
	}
}

// EachObject lists objects of any kind in chunks, as JSON decoded into Ts, and calls visit for
// each. If the snapshot behind the chunks was compacted in between, EachObject continues at the
// same place in the current state, with the token that the server offers. For a watched cluster,
// repeated calls may pass the same Ts, so visit must not change them.
func EachObject[T any](ctx context.Context, c *Cluster, r schema.GroupVersionResource, namespace string, o metav1.ListOptions, visit func(T)) error {
	if c.Cache(ctx) == nil {
		_, err := eachObject(ctx, c, r, namespace, o, visit)
		return err
	}
	same := func(n *named[T]) (string, T) { return n.key, n.object }
	return cache.Recall(ctx, c.Cache(ctx), SourceOf(c, r, namespace, o, same), func(_ string, object *T) { visit(*object) })
}

// eachObject is EachObject without a Cache. It also returns the resource version of the first
// chunk.
func eachObject[T any](ctx context.Context, c *Cluster, r schema.GroupVersionResource, namespace string, o metav1.ListOptions, visit func(T)) (version string, err error) {
	to := c.recorder.Load()
	if to == nil {
		return wire.EachObject(ctx, c.list(r, namespace), o, visit)
	}
	var failed error
	version, err = wire.EachObject(ctx, c.list(r, namespace), o, func(one recorded[T]) {
		(*to).Keep(r, one.whole)
		if one.err != nil {
			failed = cmp.Or(failed, one.err)
			return
		}
		visit(one.object)
	})
	c.recordRequest(ctx, r, err)
	return version, cmp.Or(err, failed)
}

// SourceOf returns the source of objects of any kind, decoded from JSON into As. convert turns an
// A into what is kept, and returns its cache.ObjectKey.
func SourceOf[A, T any](c *Cluster, r schema.GroupVersionResource, namespace string, o metav1.ListOptions, convert func(*A) (key string, object T)) cache.Source[T] {
	return cache.Source[T]{
		Key:  strings.Join([]string{reflect.TypeFor[T]().String(), r.String(), namespace, o.LabelSelector, o.FieldSelector}, "\n"),
		What: r.GroupResource().String(),
		List: func(ctx context.Context, visit func(string, T)) (string, error) {
			return eachObject(ctx, c, r, namespace, o, func(decoded A) { visit(convert(&decoded)) })
		},
		Watch: func(ctx context.Context, from metav1.ListOptions) (watch.Interface, error) {
			from.LabelSelector, from.FieldSelector = o.LabelSelector, o.FieldSelector
			return c.Dynamic().Resource(r).Namespace(namespace).Watch(ctx, from)
		},
		Decode: func(o runtime.Object) (object T, err error) {
			u, ok := o.(*unstructured.Unstructured)
			if !ok {
				return object, fmt.Errorf("the server sent a %T instead of an object", o)
			}
			text, err := u.MarshalJSON()
			if err != nil {
				return object, err
			}
			var decoded A
			if err := apijson.Unmarshal(text, &decoded); err != nil {
				return object, err
			}
			_, object = convert(&decoded)
			return object, nil
		},
	}
}

// named is an object with its key.
type named[T any] struct {
	key    string
	object T
}

// UnmarshalJSON decodes the object and its key.
func (n *named[T]) UnmarshalJSON(text []byte) error {
	var about struct {
		Metadata struct {
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
		} `json:"metadata"`
	}
	if err := apijson.Unmarshal(text, &about); err != nil {
		return err
	}
	n.key = cache.ObjectKey(about.Metadata.Namespace, about.Metadata.Name)
	return apijson.Unmarshal(text, &n.object)
}

// Object reads one object as JSON; nil if there is none of that name. For a watched cluster, it
// lists the objects with that name, so that the list can be watched. Users without the right to
// list read the object again each time.
func Object(ctx context.Context, c *Cluster, r schema.GroupVersionResource, namespace, name string) (text []byte, err error) {
	get := func() ([]byte, error) {
		request, err := c.JSON(r, namespace)
		if err != nil {
			return nil, err
		}
		result := request.Name(name).Do(ctx)
		if err := result.Error(); err != nil {
			return nil, c.Checked(err, r, name)
		}
		return result.Raw()
	}
	if c.Cache(ctx) == nil {
		text, err = get()
	} else {
		var found json.RawMessage
		byName := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()}
		err = EachObject(ctx, c, r, namespace, byName, func(o json.RawMessage) { found = o })
		if text = found; apierrors.IsForbidden(err) {
			text, err = cache.Keep(c.Cache(ctx), strings.Join([]string{"get", r.String(), namespace, name}, "\n"), cache.Soon, get)
		}
	}
	if apierrors.IsNotFound(err) {
		text, err = nil, nil
	}
	if to := c.recorder.Load(); to != nil && text != nil {
		var whole map[string]any
		if err = wire.DecodeText(text, &whole); err == nil {
			(*to).Keep(r, whole)
		}
	}
	c.recordRequest(ctx, r, err)
	return text, err
}
