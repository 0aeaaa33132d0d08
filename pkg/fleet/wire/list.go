package wire

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// List requests the objects of a resource as JSON.
type List struct {
	// Request returns a new request for the list, without options.
	Request func() (*rest.Request, error)
	// Check returns the error of an answer, or another one if it says nothing about the list, such
	// as the 404 of a proxy.
	Check func(error) error
}

// chunk is the number of objects per request, as in kubectl (cmdutil.DefaultChunkSize).
const chunk = 500

// EachObject sends the requests of a list, and calls visit for each object, decoded into a T. It
// also returns the resource version of the first answer. If the snapshot behind the chunks was
// compacted in between, EachObject continues at the same place in the current state, with the token
// that the server offers.
func EachObject[T any](ctx context.Context, l List, o metav1.ListOptions, visit func(T)) (version string, err error) {
	o.Limit = chunk
	for {
		var page page[T]
		if err := page.read(ctx, l, o); err != nil {
			return version, err
		}
		if o.Continue == "" {
			version = page.ResourceVersion
		}
		if o.Continue == "" && page.isOfMany() {
			if whole, err := l.openWhole(ctx, o); err == nil {
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

// read requests a chunk.
func (p *page[T]) read(ctx context.Context, l List, o metav1.ListOptions) error {
	request, err := l.Request()
	if err != nil {
		return err
	}
	result := request.SpecificallyVersionedParams(&o, scheme.ParameterCodec, optionsVersion()).Do(ctx)
	if err = Decode(result, p); err == nil {
		body, _ := result.Raw()
		p.size = len(body)
	}
	if token, ok := NextToken(err, o); ok {
		p.Continue = token
		return CheckContinue(o.Continue, token)
	}
	switch {
	case err != nil:
		return l.Check(err)
	case !isList(p.Kind, p.Items != nil):
		return fmt.Errorf("%w: %w", ErrInvalidAnswer, errNoList)
	}
	return CheckContinue(o.Continue, p.Continue)
}

// isList reports whether an answer is a list: it has an array of items, or its kind says so. Old servers
// write null for no items. Any other object, such as a proxy's {}, would look like an empty list.
func isList(kind string, hasItems bool) bool { return hasItems || strings.HasSuffix(kind, "List") }

// errNoList means that the answer is not a list.
var errNoList = errors.New("it is not a list")

// NextToken returns the token that a server offers in the error of a request for a further chunk, if
// it has compacted the snapshot behind the chunks. The token continues at the same place in the current
// state: no object is seen twice, and none that existed all the time is missed.
func NextToken(err error, o metav1.ListOptions) (token string, ok bool) {
	var status apierrors.APIStatus
	if o.Continue == "" || !apierrors.IsResourceExpired(err) || !errors.As(err, &status) {
		return "", false
	}
	token = status.Status().Continue
	return token, token != ""
}

// errNoEnd means that a list was abandoned because it would never end.
var errNoEnd = errors.New("the server repeats a continue token: the list would never end")

// CheckContinue returns errNoEnd if the continue token that was sent equals the one that came back.
func CheckContinue(sent, got string) error {
	if sent != "" && sent == got {
		return errNoEnd
	}
	return nil
}
