package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
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
	return request.SpecificallyVersionedParams(&o, scheme.ParameterCodec, optionsVersion()).Stream(ctx)
}

// eachOf calls visit for the objects of a list while it comes in, so that no more than one
// is in memory, and closes it. about becomes what the list says of itself, wherever in it
// that stands.
func eachOf[T any](list io.ReadCloser, about *metav1.ListMeta, visit func(T)) (err error) {
	defer func() { err = errors.Join(err, list.Close()) }()
	*about = metav1.ListMeta{}
	in := json.NewDecoder(list)
	if err := begins(in, '{'); err != nil {
		return err
	}
	for in.More() {
		key, err := in.Token()
		if err != nil {
			return senseless(err)
		}
		switch key {
		case "items":
			err = eachItem(in, visit)
		case "metadata":
			err = senseless(in.Decode(about))
		default:
			var other json.RawMessage
			err = senseless(in.Decode(&other))
		}
		if err != nil {
			return err
		}
	}
	// Without its end a list is not whole.
	_, err = in.Token()
	return senseless(err)
}

// eachItem calls visit for the elements of an array, or for none where it is null, as
// old servers write an empty one.
func eachItem[T any](in *json.Decoder, visit func(T)) error {
	token, err := in.Token()
	if err == nil && token == nil {
		return nil
	}
	if err := is(token, '[', err); err != nil {
		return err
	}
	var text json.RawMessage
	for in.More() {
		if err := in.Decode(&text); err != nil {
			return senseless(err)
		}
		var item T
		if err := DecodeText(text, &item); err != nil {
			return err
		}
		visit(item)
	}
	_, err = in.Token()
	return senseless(err)
}

// errNoList is that something else came.
var errNoList = errors.New("it is no list")

// begins reads what an object or an array begins with.
func begins(in *json.Decoder, with json.Delim) error {
	token, err := in.Token()
	return is(token, with, err)
}

func is(token json.Token, with json.Delim, err error) error {
	if err == nil && token != with {
		err = fmt.Errorf("%w: %v in place of %v", errNoList, token, with)
	}
	return senseless(err)
}

// senseless is why an answer cannot be read: by what it says, or that it did not come.
func senseless(err error) error {
	var syntax *json.SyntaxError
	var other *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	case errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &syntax), errors.As(err, &other), errors.Is(err, errNoList):
	default:
		return err
	}
	return fmt.Errorf("%w: %w", ErrSenseless, err)
}
