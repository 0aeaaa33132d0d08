package fleet

import (
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
	kjson "sigs.k8s.io/json"
)

// JSON begins a request for objects of any kind, as JSON; namespace is "" for all
// of them, and for kinds that have none.
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

// DecodeJSON reads the answer to a request for JSON.
func DecodeJSON(result rest.Result, into any) error {
	if err := result.Error(); err != nil {
		return err
	}
	body, err := result.Raw()
	if err != nil {
		return err
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(body, into); err != nil {
		return fmt.Errorf("the server's answer makes no sense: %w", err)
	}
	return nil
}

// chunk is how many objects are asked for at once, as kubectl does
// (cmdutil.DefaultChunkSize).
const chunk = 500

// EachObject lists objects of any kind in chunks, as JSON that is decoded into Ts,
// and calls visit for each. Where the snapshot that the chunks come from was compacted
// away in between, the server offers a token to go on from the same place in the
// present state, and that is taken.
func EachObject[T any](ctx context.Context, c *Cluster, r schema.GroupVersionResource, namespace string, o metav1.ListOptions, visit func(T)) error {
	// client-go's scheme knows the options of lists in this version; they are the
	// same for every group.
	optionsVersion := schema.GroupVersion{Version: "v1"}
	o.Limit = chunk
	for {
		request, err := c.JSON(r, namespace)
		if err != nil {
			return err
		}
		var page struct {
			Kind            string `json:"kind"`
			metav1.ListMeta `json:"metadata"`
			Items           []T `json:"items"`
		}
		err = DecodeJSON(request.SpecificallyVersionedParams(&o, scheme.ParameterCodec, optionsVersion).Do(ctx), &page)
		var status apierrors.APIStatus
		if o.Continue != "" && apierrors.IsResourceExpired(err) && errors.As(err, &status) && status.Status().Continue != "" {
			page.Continue, err = status.Status().Continue, nil
		}
		switch {
		case err != nil:
		case page.Items == nil && page.Continue == "" && !strings.HasSuffix(page.Kind, "List"):
			// From there being none nothing could be told from anything else.
			err = errors.New("the server's answer makes no sense: it is no list")
		default:
			err = GoesOn(o.Continue, page.Continue)
		}
		if err != nil {
			return err
		}
		for _, item := range page.Items {
			visit(item)
		}
		if page.Continue == "" {
			return nil
		}
		o.Continue = page.Continue
	}
}

// ErrNoEnd is why a list is given up whose server never comes to its end.
var ErrNoEnd = errors.New("the server gives the same continue token again, so that the list would never end")

// GoesOn checks that the next chunk of a list is another one than the last, by the token
// that was sent and the one that came.
func GoesOn(sent, got string) error {
	if sent != "" && sent == got {
		return ErrNoEnd
	}
	return nil
}
