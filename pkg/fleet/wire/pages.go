package wire

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"
)

// EachItem calls visit for the items of a list, chunk by chunk. If the snapshot behind the chunks was
// compacted in between, EachItem continues as EachObject does.
func EachItem[L interface {
	runtime.Object
	metav1.ListInterface
}, T runtime.Object](ctx context.Context, list func(context.Context, metav1.ListOptions) (L, error), o metav1.ListOptions, visit func(T)) error {
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		page, err := list(ctx, o)
		if token, isOffered := NextToken(err, o); isOffered {
			if err := CheckContinue(o.Continue, token); err != nil {
				return nil, err
			}
			o.Continue = token
			page, err = list(ctx, o)
		}
		if err == nil {
			err = CheckContinue(o.Continue, page.GetContinue())
		}
		return page, err
	})
	// Request a chunk only when the previous one is used up.
	pages.PageBufferSize = 0
	return pages.EachListItem(ctx, o, func(item runtime.Object) error {
		t, ok := item.(T)
		if !ok {
			return fmt.Errorf("%w: a %T is none of its items", ErrInvalidAnswer, item)
		}
		visit(t)
		return nil
	})
}
