package fleet

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Informed says which objects an Informer keeps; a list of them is an L.
type Informed[L runtime.Object] struct {
	// Client lists and watches them.
	Client interface {
		List(context.Context, metav1.ListOptions) (L, error)
		Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
	}
	Selected metav1.ListOptions
	// Like is an empty one, and Trim cuts one down to what is kept of it.
	Like runtime.Object
	Trim func(any) any
	// Handler is told of what is kept.
	Handler cache.ResourceEventHandler
	// Told is told how each request ended that somebody still wants. The informer's own way
	// of telling errors leaves out refused connections.
	Told func(error)
}

// Informer keeps objects of a cluster up to date, over restarts of its API server and all else.
type Informer struct {
	informer cache.SharedIndexInformer
	handled  cache.ResourceEventHandlerRegistration
}

// NewInformer makes one that has not asked for anything yet.
func NewInformer[L runtime.Object](i Informed[L]) *Informer {
	choose := func(o metav1.ListOptions) metav1.ListOptions {
		o.LabelSelector, o.FieldSelector = i.Selected.LabelSelector, i.Selected.FieldSelector
		return o
	}
	tell := func(ctx context.Context, err error) {
		if ctx.Err() == nil {
			i.Told(err)
		}
	}
	informer := cache.NewSharedIndexInformerWithOptions(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, err := i.Client.List(ctx, choose(o))
			tell(ctx, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			watching, err := i.Client.Watch(ctx, choose(o))
			if o.SendInitialEvents == nil || !apierrors.IsInvalid(err) {
				// Servers that cannot begin a watch with all there is say so, and are
				// listed then: it is no failure (KEP-3157).
				tell(ctx, err)
			}
			return watching, err
		},
	}, i.Like, cache.SharedIndexInformerOptions{})
	// None of these can fail before the informer runs.
	_ = informer.SetWatchErrorHandlerWithContext(func(context.Context, *cache.Reflector, error) {})
	_ = informer.SetTransform(func(o any) (any, error) { return i.Trim(o), nil })
	handled, _ := informer.AddEventHandler(i.Handler)
	return &Informer{informer, handled}
}

// Run keeps the objects up to date until ctx is over.
func (i *Informer) Run(ctx context.Context) { i.informer.RunWithContext(quiet(ctx)) }

// HasSynced says whether the handler was told of all that there were to begin with.
func (i *Informer) HasSynced() bool { return i.handled.HasSynced() }

// Get is an object as it was seen last, by its ObjectKey; nil if there is none.
func (i *Informer) Get(key string) any {
	// The store is in memory, and has no errors.
	found, _, _ := i.informer.GetStore().GetByKey(key)
	return found
}

// Link is whether a cluster answers, of which each change is told, once.
type Link struct {
	// Lost is told why it does not, and Back that it does again.
	Lost func(error)
	Back func()

	mu     sync.Mutex
	isLost bool
}

// Note notes why the cluster has not answered, or, with nil, that it has.
func (l *Link) Note(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch isLost := err != nil; {
	case isLost == l.isLost:
	case isLost:
		l.isLost = true
		l.Lost(err)
	default:
		l.isLost = false
		l.Back()
	}
}
