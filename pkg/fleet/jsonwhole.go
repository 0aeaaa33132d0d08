package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/apijson"
)

// wholeList is how many bytes are asked for in one answer: servers give up on one that
// takes a minute (kube-apiserver --request-timeout).
const wholeList = 64 << 20

// isOfMany says whether the rest of a list, of which this is the first chunk, had better be
// asked for as a whole. A server has whole lists in its watch cache; chunks it may read from
// etcd, and decode each object anew, which for custom resources is several times the work
// (seen with kube-apiserver 1.36: 2.9 seconds of a core in place of 0.6 for 10,000
// Workloads).
func (p *page[T]) isOfMany() bool {
	if p.Continue == "" || p.RemainingItemCount == nil || len(p.Items) == 0 {
		return false
	}
	all := *p.RemainingItemCount + int64(len(p.Items))
	return *p.RemainingItemCount > chunk && int64(p.size)/int64(len(p.Items))*all <= wholeList
}

// openWhole asks for a list in one answer. What is returned has to be closed.
func openWhole(ctx context.Context, c *Cluster, r schema.GroupVersionResource, namespace string, o metav1.ListOptions) (io.ReadCloser, error) {
	request, err := c.JSON(r, namespace)
	if err != nil {
		return nil, err
	}
	o.Limit, o.Continue = 0, ""
	ctx = context.WithValue(ctx, decodedWhileItComes{}, true)
	return request.SpecificallyVersionedParams(&o, scheme.ParameterCodec, optionsVersion()).Stream(ctx)
}

// eachOf calls visit for the objects of a list while it comes in, so that no more than one
// is in memory, and closes it. about becomes what the list says of itself, wherever in it
// that stands.
func eachOf[T any](list io.ReadCloser, about *metav1.ListMeta, visit func(T)) (err error) {
	defer func() { err = errors.Join(err, list.Close()) }()
	*about = metav1.ListMeta{}
	in := jsontext.NewDecoder(list, apijson.Lenient())
	if err := begins(in, jsontext.KindBeginObject); err != nil {
		return err
	}
	for in.PeekKind() == jsontext.KindString {
		key, err := in.ReadToken()
		if err != nil {
			return senseless(err)
		}
		switch key.String() {
		case "items":
			err = eachItem(in, visit)
		case "metadata":
			err = senseless(apijson.Decode(in, about))
		default:
			err = senseless(in.SkipValue())
		}
		if err != nil {
			return err
		}
	}
	// Without its end a list is not whole.
	_, err = in.ReadToken()
	return senseless(err)
}

// eachItem calls visit for the elements of an array, or for none where it is null, as
// old servers write an empty one.
func eachItem[T any](in *jsontext.Decoder, visit func(T)) error {
	if in.PeekKind() == jsontext.KindNull {
		return senseless(in.SkipValue())
	}
	if err := begins(in, jsontext.KindBeginArray); err != nil {
		return err
	}
	for in.PeekKind() != jsontext.KindEndArray {
		var item T
		if err := apijson.Decode(in, &item); err != nil {
			return senseless(err)
		}
		visit(item)
	}
	_, err := in.ReadToken()
	return senseless(err)
}

// errNoList is that something else came.
var errNoList = errors.New("it is no list")

// begins reads what an object or an array begins with.
func begins(in *jsontext.Decoder, with jsontext.Kind) error {
	token, err := in.ReadToken()
	if err == nil && token.Kind() != with {
		err = fmt.Errorf("%w: %v instead of %v", errNoList, token, with)
	}
	return senseless(err)
}

// senseless is why an answer cannot be read: by what it says, or that it did not come.
func senseless(err error) error {
	var syntax *jsontext.SyntacticError
	var other *json.SemanticError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = io.ErrUnexpectedEOF
	case errors.As(err, &syntax), errors.As(err, &other), errors.Is(err, errNoList):
	default:
		// What went wrong on the way is told without what was being done.
		return cmp.Or(errors.Unwrap(err), err)
	}
	return fmt.Errorf("%w: %w", ErrSenseless, err)
}
