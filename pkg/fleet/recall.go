package fleet

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

// Recall calls visit for the objects of a source as they arrive. If the cluster is watched, it
// sends one list request, and later calls return the objects as a watch has updated them.
//
// visit must not keep its T. For a watched cluster, it must not change it: later calls pass the
// same T, at the same address, until the object changes.
//
// The call itself lists, so that it reports errors as usual, and the watch keeps the result
// current. client-go's RetryWatcher would run for ever if the server no longer knows a resource,
// and report nothing if the server does not answer.
func Recall[T any](ctx context.Context, c *Cluster, s Source[T], visit func(key string, object *T)) error {
	m := c.recalls(ctx)
	if m == nil {
		var one T
		_, err := s.List(ctx, func(key string, object T) {
			one = object
			visit(key, &one)
		})
		return err
	}
	r := m.find(s.Key)
	r.asking.Lock()
	defer r.asking.Unlock()
	if !m.knows(r) {
		return listed(ctx, m, r, s, visit)
	}
	keys, objects, err := m.recall(r)
	for i, key := range keys {
		if object, ok := objects[i].(*T); ok {
			visit(key, object)
		}
	}
	return err
}

// listed lists a source and keeps the result.
func listed[T any](ctx context.Context, m *memory, r *recollection, s Source[T], visit func(string, *T)) error {
	var now recollection
	version, err := s.List(ctx, func(key string, object T) {
		now.put(key, &object)
		visit(key, &object)
	})
	if err != nil {
		m.fail(r, err)
		return err
	}
	follow(m, r, s, &now, version)
	return nil
}

// recall returns the current content of a recollection.
func (m *memory) recall(r *recollection) (keys []string, objects []any, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(r.keys), slices.Clone(r.objects), r.err
}

// follow keeps a list and watches it from there on.
func follow[T any](m *memory, r *recollection, s Source[T], listed *recollection, version string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r.stop()
	r.isKept, r.err, r.keys, r.objects, r.until = true, nil, listed.keys, listed.objects, time.Time{}
	// If the recollection was forgotten meanwhile, nothing would end its watch.
	if now := m.clock.Now(); version == "" || now.Before(r.noWatch) || m.kept[s.Key] != r {
		r.until = now.Add(Soon)
		return
	}
	ctx, stop := context.WithCancel(quiet(m.ctx))
	r.stop = stop
	go func() {
		defer stop()
		err := watchFrom(ctx, m, r, s, version)
		if ctx.Err() == nil {
			m.lose(r, s.What, err)
		}
	}()
}

// errNoWatch means that the server ends watches immediately after their start.
var errNoWatch = errors.New("the server ends watches at once")

// watchFrom applies all changes after a resource version. Servers end watches now and then; it
// continues after the last event.
func watchFrom[T any](ctx context.Context, m *memory, r *recollection, s Source[T], version string) error {
	for {
		began := m.clock.Now()
		watching, err := s.Watch(ctx, metav1.ListOptions{Watch: true, ResourceVersion: version, AllowWatchBookmarks: true})
		if err != nil {
			return err
		}
		m.mu.Lock()
		delete(m.refused, s.What)
		m.mu.Unlock()
		last, err := takeIn(ctx, m, r, s, watching, version)
		watching.Stop()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return err
		case last == version && m.clock.Since(began) < time.Second:
			return errNoWatch
		}
		version = last
	}
}

// takeIn applies the events of a watch, and returns the resource version of the last one.
func takeIn[T any](ctx context.Context, m *memory, r *recollection, s Source[T], watching watch.Interface, version string) (last string, err error) {
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
		m.mu.Lock()
		r.isExpired = false
		// If the watch was stopped, newer data has replaced the list.
		if event.Type != watch.Bookmark && ctx.Err() == nil {
			r.put(ObjectKey(about.GetNamespace(), about.GetName()), object)
			m.notifyChange()
		}
		m.mu.Unlock()
	}
	return version, nil
}
