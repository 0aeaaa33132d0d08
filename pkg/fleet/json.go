package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/apijson"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/cache"
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

// DecodeJSON decodes the answer to a request for JSON.
func DecodeJSON(result rest.Result, into any) error {
	if err := result.Error(); err != nil {
		return err
	}
	body, err := result.Raw()
	if err != nil {
		return err
	}
	return DecodeText(body, into)
}

// DecodeText decodes JSON from a server.
func DecodeText(text []byte, into any) error {
	if err := apijson.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%w: %w", ErrSenseless, err)
	}
	return nil
}

// ErrSenseless means that the answer of a server is malformed, or is not what was requested.
var ErrSenseless = errors.New("the answer of the server is invalid")

// chunk is the number of objects per request, as in kubectl (cmdutil.DefaultChunkSize).
const chunk = 500

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
	return cache.Recall(ctx, c.Cache(ctx), Objects(c, r, namespace, o, same), func(_ string, object *T) { visit(*object) })
}

// eachObject is EachObject without a Cache. It also returns the resource version of the first
// chunk.
func eachObject[T any](ctx context.Context, c *Cluster, r schema.GroupVersionResource, namespace string, o metav1.ListOptions, visit func(T)) (version string, err error) {
	to := c.recorder.Load()
	if to == nil {
		return eachListed(ctx, c, r, namespace, o, visit)
	}
	var failed error
	version, err = eachListed(ctx, c, r, namespace, o, func(one recorded[T]) {
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

// eachListed sends the requests of a list.
func eachListed[T any](ctx context.Context, c *Cluster, r schema.GroupVersionResource, namespace string, o metav1.ListOptions, visit func(T)) (version string, err error) {
	o.Limit = chunk
	for {
		var page page[T]
		if err := page.ask(ctx, c, r, namespace, o); err != nil {
			return version, err
		}
		if o.Continue == "" {
			version = page.ResourceVersion
		}
		if o.Continue == "" && page.isOfMany() {
			if whole, err := openWhole(ctx, c, r, namespace, o); err == nil {
				if err := eachOf(whole, &page.ListMeta, visit); err != nil {
					return version, err
				}
				version, page.Items = page.ResourceVersion, nil
			}
		}
		for _, item := range page.Items {
			visit(item)
		}
		if page.Continue == "" {
			return version, nil
		}
		o.Continue = page.Continue
	}
}

// optionsVersion returns the version in which client-go's scheme registers list options, which
// are the same for every group.
func optionsVersion() schema.GroupVersion { return schema.GroupVersion{Version: "v1"} }

// page is a chunk of a list.
type page[T any] struct {
	Kind            string `json:"kind"`
	metav1.ListMeta `json:"metadata"`
	Items           []T `json:"items"`

	// size is the size of the chunk in bytes.
	size int
}

// ask requests a chunk.
func (p *page[T]) ask(ctx context.Context, c *Cluster, r schema.GroupVersionResource, namespace string, o metav1.ListOptions) error {
	request, err := c.JSON(r, namespace)
	if err != nil {
		return err
	}
	result := request.SpecificallyVersionedParams(&o, scheme.ParameterCodec, optionsVersion()).Do(ctx)
	if err = DecodeJSON(result, p); err == nil {
		body, _ := result.Raw()
		p.size = len(body)
	}
	var status apierrors.APIStatus
	if o.Continue != "" && apierrors.IsResourceExpired(err) && errors.As(err, &status) && status.Status().Continue != "" {
		p.Continue, err = status.Status().Continue, nil
	}
	switch {
	case err != nil:
		return c.Checked(err, r, "")
	case p.Items == nil && p.Continue == "" && !strings.HasSuffix(p.Kind, "List"):
		// An empty answer of another kind would look like an empty list.
		return fmt.Errorf("%w: it is no list", ErrSenseless)
	}
	return CheckContinue(o.Continue, p.Continue)
}

// ErrNoEnd means that a list was abandoned because it would never end.
var ErrNoEnd = errors.New("the server repeats a continue token: the list would never end")

// CheckContinue returns ErrNoEnd if the continue token that was sent equals the one that came back.
func CheckContinue(sent, got string) error {
	if sent != "" && sent == got {
		return ErrNoEnd
	}
	return nil
}
