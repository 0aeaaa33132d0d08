package fleet

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// Source is where objects come from that may be read again and again, as a T each, which
// nobody changes who is given it.
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

// Recall calls visit for the objects of a source. Where the cluster is watched, it is asked
// once, and a watch tells from then on what has changed of them.
//
// It is the reading itself that lists, so that what could not be read is told as always,
// and the watch keeps that true. client-go's RetryWatcher would go on for ever where the
// server does not know a resource any more, and say nothing where it cannot be reached.
func Recall[T any](ctx context.Context, c *Cluster, s Source[T], visit func(T)) error {
	m := c.memory
	if m == nil {
		_, err := s.List(ctx, func(_ string, object T) { visit(object) })
		return err
	}
	r := m.find(s.Key)
	objects, err := recall(ctx, m, r, s)
	for _, object := range objects {
		visit(object)
	}
	return err
}

// recall lists a source, unless it is known what it has.
func recall[T any](ctx context.Context, m *memory, r *recollection, s Source[T]) (all []T, err error) {
	r.asking.Lock()
	defer r.asking.Unlock()
	if !m.knows(r) {
		listed := recollection{objects: map[string]any{}}
		version, err := s.List(ctx, func(key string, object T) {
			listed.put(key, object)
			all = append(all, object)
		})
		if err != nil {
			m.fail(r, err)
			return all, err
		}
		follow(m, r, s, &listed, version)
		return all, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	all = make([]T, 0, len(r.keys))
	for _, key := range r.keys {
		if object, ok := r.objects[key].(T); ok {
			all = append(all, object)
		}
	}
	return all, r.err
}

// follow keeps what was listed, and has it watched from there on.
func follow[T any](m *memory, r *recollection, s Source[T], listed *recollection, version string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r.stop()
	r.isKept, r.err, r.objects, r.keys, r.until = true, nil, listed.objects, listed.keys, time.Time{}
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
		if event.Type == watch.Bookmark {
			continue
		}
		var object any
		if event.Type != watch.Deleted {
			if object, err = s.Decode(event.Object); err != nil {
				return version, err
			}
		}
		m.mu.Lock()
		// Whoever has stopped it has got something newer.
		if ctx.Err() == nil {
			r.put(ObjectKey(about.GetNamespace(), about.GetName()), object)
			m.tell()
		}
		m.mu.Unlock()
	}
	return version, nil
}
