package cache

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// Source is a source of objects that are read repeatedly, each as a T.
type Source[T any] struct {
	// Key identifies the source within a cluster. What describes its objects.
	Key, What string
	// List reads all objects, with their ObjectKeys, and returns the resource version of the
	// first chunk. A watch from there misses nothing.
	List func(ctx context.Context, visit func(key string, object T)) (resourceVersion string, err error)
	// Watch watches the objects. Decode decodes their events.
	Watch  func(context.Context, metav1.ListOptions) (watch.Interface, error)
	Decode func(runtime.Object) (T, error)
}

// ObjectKey returns the key of an object within a source. API servers list objects in the order
// of these keys.
func ObjectKey(namespace, name string) string { return namespace + "/" + name }

// Recall calls visit for the objects of a source as they arrive. With a Cache, it sends one list
// request, and later calls return the objects as a watch has updated them.
//
// visit must not keep its T. With a Cache, it must not change it: later calls pass the
// same T, at the same address, until the object changes.
//
// The call itself lists, so that it reports errors as usual, and the watch keeps the result
// current. client-go's RetryWatcher would run for ever if the server no longer knows a resource,
// and report nothing if the server does not answer.
func Recall[T any](ctx context.Context, c *Cache, s Source[T], visit func(key string, object *T)) error {
	if c == nil {
		var one T
		_, err := s.List(ctx, func(key string, object T) {
			one = object
			visit(key, &one)
		})
		return err
	}
	e := c.find(s.Key)
	e.asking.Lock()
	defer e.asking.Unlock()
	if !c.knows(e) {
		return listed(ctx, c, e, s, visit)
	}
	keys, objects, err := c.recall(e)
	for i, key := range keys {
		if object, ok := objects[i].(*T); ok {
			visit(key, object)
		}
	}
	return err
}

// listed lists a source and keeps the result.
func listed[T any](ctx context.Context, c *Cache, e *entry, s Source[T], visit func(string, *T)) error {
	var now entry
	version, err := s.List(ctx, func(key string, object T) {
		now.put(key, &object)
		visit(key, &object)
	})
	if err != nil {
		c.fail(e, err)
		return err
	}
	follow(c, e, s, &now, version)
	return nil
}

// recall returns the current content of an entry.
func (c *Cache) recall(e *entry) (keys []string, objects []any, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(e.keys), slices.Clone(e.objects), e.err
}

// follow keeps a list and watches it from there on.
func follow[T any](c *Cache, e *entry, s Source[T], listed *entry, version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.stop()
	e.isKept, e.err, e.keys, e.objects, e.until = true, nil, listed.keys, listed.objects, time.Time{}
	// If the entry was forgotten meanwhile, nothing would end its watch.
	if now := c.clock.Now(); version == "" || now.Before(e.noWatch) || c.kept[s.Key] != e {
		e.until = now.Add(Soon)
		return
	}
	ctx, stop := context.WithCancel(c.ctx)
	e.stop = stop
	go func() {
		defer stop()
		err := watchFrom(ctx, c, e, s, version)
		if ctx.Err() == nil {
			c.lose(e, s.What, err)
		}
	}()
}

// errNoWatch means that the server ends watches immediately after their start.
var errNoWatch = errors.New("the server ends watches at once")

// watchFrom applies all changes after a resource version. Servers end watches now and then; it
// continues after the last event.
func watchFrom[T any](ctx context.Context, c *Cache, e *entry, s Source[T], version string) error {
	for {
		began := c.clock.Now()
		watching, err := s.Watch(ctx, metav1.ListOptions{Watch: true, ResourceVersion: version, AllowWatchBookmarks: true})
		if err != nil {
			return err
		}
		c.mu.Lock()
		delete(c.refused, s.What)
		c.mu.Unlock()
		last, err := takeIn(ctx, c, e, s, watching, version)
		watching.Stop()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return err
		case last == version && c.clock.Since(began) < time.Second:
			return errNoWatch
		}
		version = last
	}
}

// takeIn applies the events of a watch, and returns the resource version of the last one.
func takeIn[T any](ctx context.Context, c *Cache, e *entry, s Source[T], watching watch.Interface, version string) (last string, err error) {
	for event := range watching.ResultChan() {
		if event.Type == watch.Error {
			return version, apierrors.FromObject(event.Object)
		}
		about, err := meta.Accessor(event.Object)
		if err != nil {
			return version, err
		}
		version = about.GetResourceVersion()
		var object any
		if event.Type != watch.Deleted && event.Type != watch.Bookmark {
			decoded, err := s.Decode(event.Object)
			if err != nil {
				return version, err
			}
			object = &decoded
		}
		c.mu.Lock()
		e.isExpired = false
		// If the watch was stopped, newer data has replaced the list.
		if event.Type != watch.Bookmark && ctx.Err() == nil {
			e.put(ObjectKey(about.GetNamespace(), about.GetName()), object)
			c.notifyChange()
		}
		c.mu.Unlock()
	}
	return version, nil
}
