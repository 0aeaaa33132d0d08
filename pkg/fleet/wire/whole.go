package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/apijson"
)

// maxWholeList is the maximum size, in bytes, of a list requested in one answer. Servers abort
// requests after a minute (kube-apiserver --request-timeout).
const maxWholeList = 64 << 20

// isOfMany reports whether the rest of a list, after this first chunk, should be requested as a
// whole. A server has whole lists in its watch cache. It may read chunks from etcd and decode
// each object again, which for custom resources is several times the work (measured with
// kube-apiserver 1.36: 2.9 CPU seconds instead of 0.6 for 10,000 Workloads).
func (p *page[T]) isOfMany() bool {
	if p.Continue == "" || p.RemainingItemCount == nil || len(p.Items) == 0 {
		return false
	}
	all := *p.RemainingItemCount + int64(len(p.Items))
	return *p.RemainingItemCount > chunk && int64(p.size)/int64(len(p.Items))*all <= maxWholeList
}

// openWhole requests a list in one answer. The caller has to close it.
func (l List) openWhole(ctx context.Context, o metav1.ListOptions) (io.ReadCloser, error) {
	request, err := l.Request()
	if err != nil {
		return nil, err
	}
	o.Limit, o.Continue = 0, ""
	ctx = context.WithValue(ctx, streamedList{}, true)
	return request.SpecificallyVersionedParams(&o, scheme.ParameterCodec, optionsVersion()).Stream(ctx)
}

// eachOf calls visit for the objects of a list while it arrives, so that only one object at a
// time is in memory, and closes the list. about receives the metadata of the list, wherever it
// appears.
func eachOf[T any](list io.ReadCloser, about *metav1.ListMeta, visit func(T)) (err error) {
	defer func() { err = errors.Join(err, list.Close()) }()
	*about = metav1.ListMeta{}
	in := jsontext.NewDecoder(list, apijson.Lenient())
	if err := begins(in, jsontext.KindBeginObject); err != nil {
		return err
	}
	kind, hasItems := "", false
	for in.PeekKind() == jsontext.KindString {
		key, err := in.ReadToken()
		if err != nil {
			return invalid(err)
		}
		switch key.String() {
		case "items":
			hasItems = in.PeekKind() == jsontext.KindBeginArray
			err = eachItem(in, visit)
		case "kind":
			err = invalid(apijson.Decode(in, &kind))
		case "metadata":
			err = invalid(apijson.Decode(in, about))
		default:
			err = invalid(in.SkipValue())
		}
		if err != nil {
			return err
		}
	}
	// A list without its end is incomplete.
	if _, err = in.ReadToken(); err == nil && !isList(kind, hasItems) {
		err = errNoList
	}
	return invalid(err)
}

// eachItem calls visit for the elements of an array. Old servers write null for an empty one.
func eachItem[T any](in *jsontext.Decoder, visit func(T)) error {
	if in.PeekKind() == jsontext.KindNull {
		return invalid(in.SkipValue())
	}
	if err := begins(in, jsontext.KindBeginArray); err != nil {
		return err
	}
	for in.PeekKind() != jsontext.KindEndArray {
		var item T
		if err := apijson.Decode(in, &item); err != nil {
			return invalid(err)
		}
		visit(item)
	}
	_, err := in.ReadToken()
	return invalid(err)
}

// begins reads the beginning of an object or an array.
func begins(in *jsontext.Decoder, with jsontext.Kind) error {
	token, err := in.ReadToken()
	if err == nil && token.Kind() != with {
		err = fmt.Errorf("%w: %v instead of %v", errNoList, token, with)
	}
	return invalid(err)
}

// invalid returns the error of an unreadable answer: a malformed one, or one that did not
// arrive completely.
func invalid(err error) error {
	var syntax *jsontext.SyntacticError
	var other *json.SemanticError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = io.ErrUnexpectedEOF
	case errors.As(err, &syntax), errors.As(err, &other), errors.Is(err, errNoList):
	default:
		// Errors of the connection are returned without the decoder's context.
		return cmp.Or(errors.Unwrap(err), err)
	}
	return fmt.Errorf("%w: %w", ErrInvalidAnswer, err)
}
