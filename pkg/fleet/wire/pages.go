package wire

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// EachItem calls visit for the items of a list, chunk by chunk. If the snapshot behind the chunks was
// compacted in between, EachItem continues as EachObject does.
func EachItem[L interface {
	runtime.Object
	metav1.ListInterface
}, T runtime.Object](ctx context.Context, list func(context.Context, metav1.ListOptions) (L, error), o metav1.ListOptions, visit func(T)) error {
	o.Limit = chunk
	for {
		page, err := list(ctx, o)
		token, isOffered := NextToken(err, o)
		switch {
		case isOffered:
		case err != nil:
			return err
		default:
			token = page.GetContinue()
			if err := eachIn(page, visit); err != nil {
				return err
			}
		}
		if err := CheckContinue(o.Continue, token); err != nil {
			return err
		}
		if token == "" {
			return nil
		}
		o.Continue = token
	}
}

// eachIn calls visit for the items of a chunk.
func eachIn[T runtime.Object](page runtime.Object, visit func(T)) error {
	return meta.EachListItem(page, func(item runtime.Object) error {
		t, ok := item.(T)
		if !ok {
			return fmt.Errorf("%w: a %T is none of its items", ErrInvalidAnswer, item)
		}
		visit(t)
		return nil
	})
}
