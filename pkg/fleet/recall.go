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

// Source is where objects come from that may be read again and again, as a T each.
type Source[T any] struct {
	// Key tells it from all others of a cluster, and What is what it has, for people.
	Key, What string
	// List reads all of them, by the keys of ObjectKey, and tells the resource version of
	// what came first: from there on a watch leaves nothing out.
	List func(ctx context.Context, visit func(key string, object T)) (resourceVersion string, err error)
	// Watch watches them, and Decode reads what comes.
	Watch  func(context.Context, metav1.ListOptions) (watch.Interface, error)
	Decode func(runtime.Object) (T, error)
}

// ObjectKey is by what an object is known among those of a source: API servers list them
// in the order of these.
func ObjectKey(namespace, name string) string { return namespace + "/" + name }

// Recall calls visit for the objects of a source while they come in. Where the cluster is
// watched, it is asked once, and a watch tells from then on what has changed of them.
//
// A T is visit's only until it returns, and where the cluster is watched, it is not to be
// changed: it is the same one at each reading, at the same place, until the object changes.
//
// It is the reading itself that lists, so that what could not be read is told as always,
// and the watch keeps that true. client-go's RetryWatcher would go on for ever where the
// server does not know a resource any more, and say nothing where it cannot be reached.
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

// listed lists a source, and keeps what it has.
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

// recall is what is known, as it is now.
func (m *memory) recall(r *recollection) (keys []string, objects []any, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(r.keys), slices.Clone(r.objects), r.err
}

// follow keeps what was listed, and has it watched from there on.
func follow[T any](m *memory, r *recollection, s Source[T], listed *recollection, version string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r.stop()
	r.isKept, r.err, r.keys, r.objects, r.until = true, nil, listed.keys, listed.objects, time.Time{}
	// What was forgotten meanwhile, nobody would end a watch of.
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

// errNoWatch is why a watch is given up that the server ends as soon as it has begun.
var errNoWatch = errors.New("the server ends watches at once")

// watchFrom takes in what happens from a resource version on. Servers end watches now and
// then; it goes on behind what came last.
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

// takeIn takes in the events of a watch, and returns the resource version of the last.
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
		// Whoever has stopped it has got something newer.
		if event.Type != watch.Bookmark && ctx.Err() == nil {
			r.put(ObjectKey(about.GetNamespace(), about.GetName()), object)
			m.tell()
		}
		m.mu.Unlock()
	}
	return version, nil
}
