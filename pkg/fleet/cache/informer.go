package cache

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientcache "k8s.io/client-go/tools/cache"
)

// Informed selects the objects of an Informer. A list of them is an L.
type Informed[L runtime.Object] struct {
	// Client lists and watches the objects.
	Client interface {
		List(context.Context, metav1.ListOptions) (L, error)
		Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
	}
	Selected metav1.ListOptions
	// Like is an empty object. Trim reduces an object to the parts to keep.
	Like runtime.Object
	Trim func(any) any
	// Handler receives the changes of the kept objects.
	Handler clientcache.ResourceEventHandler
	// OnResult receives the result of each request, except those cancelled by ctx. The informer's
	// own error handler omits refused connections.
	OnResult func(error)
}

// Informer keeps objects of a cluster current, also across restarts of its API server.
type Informer struct {
	informer clientcache.SharedIndexInformer
	handled  clientcache.ResourceEventHandlerRegistration
}

// NewInformer returns an Informer that has sent no request yet.
func NewInformer[L runtime.Object](i Informed[L]) *Informer {
	choose := func(o metav1.ListOptions) metav1.ListOptions {
		o.LabelSelector, o.FieldSelector = i.Selected.LabelSelector, i.Selected.FieldSelector
		return o
	}
	report := func(ctx context.Context, err error) {
		if ctx.Err() == nil {
			i.OnResult(err)
		}
	}
	informer := clientcache.NewSharedIndexInformerWithOptions(&clientcache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, err := i.Client.List(ctx, choose(o))
			report(ctx, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			watching, err := i.Client.Watch(ctx, choose(o))
			if o.SendInitialEvents == nil || !apierrors.IsInvalid(err) {
				// Servers that cannot start a watch with the existing objects say so, and get a
				// list request instead. That is not a failure (KEP-3157).
				report(ctx, err)
			}
			return watching, err
		},
	}, i.Like, clientcache.SharedIndexInformerOptions{})
	// None of these can fail before the informer runs.
	_ = informer.SetWatchErrorHandlerWithContext(func(context.Context, *clientcache.Reflector, error) {})
	_ = informer.SetTransform(func(o any) (any, error) { return i.Trim(o), nil })
	handled, _ := informer.AddEventHandler(i.Handler)
	return &Informer{informer, handled}
}

// Run keeps the objects current until ctx is done.
func (i *Informer) Run(ctx context.Context) { i.informer.RunWithContext(Quiet(ctx)) }

// HasSynced reports whether the handler has received all initial objects.
func (i *Informer) HasSynced() bool { return i.handled.HasSynced() }

// Get returns the latest version of an object by its ObjectKey; nil if there is none.
func (i *Informer) Get(key string) any {
	// The store is in memory, and returns no errors.
	found, _, _ := i.informer.GetStore().GetByKey(key)
	return found
}
