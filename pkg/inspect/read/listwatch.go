package read

import (
	"context"
	"fmt"
	"maps"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// source is where a watcher has the objects of a kind from.
type source struct {
	listWatch cache.ListerWatcher
	// example is an empty object of the Go type that comes.
	example runtime.Object
	// trim drops what the model does not keep before the informer stores it.
	trim cache.TransformFunc
	// read reads an object; ok is false if it is none that is looked at.
	read func(any) (r read, ok bool)
}

func (w *watcher) source(kind delegation.Kind) (*source, error) {
	if kind.IsJob() {
		return w.jobSource(kind)
	}
	return w.objectSource(kind)
}

// jobSource is that of batch/v1 Jobs, as protobuf where the server has it.
func (w *watcher) jobSource(kind delegation.Kind) (*source, error) {
	client, err := jobClient(w.cluster)
	if err != nil {
		return nil, err
	}
	namespace := w.query.namespace(w.cluster)
	return &source{
		example: &batchv1.Job{},
		listWatch: w.listerWatcher(kind,
			func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				return collectJobs(ctx, client, namespace, o)
			},
			func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				return watchJobs(ctx, client, namespace, o)
			}),
		trim: func(o any) (any, error) {
			if job, ok := o.(*batchv1.Job); ok {
				drop(job)
			}
			return o, nil
		},
		read: func(o any) (read, bool) {
			job, ok := o.(*batchv1.Job)
			if !ok {
				return read{}, false
			}
			return readJob(job), true
		},
	}, nil
}

// objectSource is that of any other kind.
func (w *watcher) objectSource(kind delegation.Kind) (*source, error) {
	objects, slim := w.cluster.Dynamic().Resource(kind.Resource).Namespace(w.query.namespace(w.cluster)), newSlimmer(kind)
	return &source{
		example: &unstructured.Unstructured{},
		listWatch: w.listerWatcher(kind,
			func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return objects.List(ctx, o) },
			func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return objects.Watch(ctx, o) }),
		trim: func(o any) (any, error) {
			if object, ok := o.(*unstructured.Unstructured); ok {
				slim.trim(object)
			}
			return o, nil
		},
		read: func(o any) (read, bool) {
			object, ok := o.(*unstructured.Unstructured)
			if !ok {
				return read{}, false
			}
			r := readObject(slim.kind, object, object.Object)
			return r, !isPart(kind, &r.job)
		},
	}, nil
}

// trim does to a decoded object what read does to one that is not decoded yet.
func (s *slimmer) trim(o *unstructured.Unstructured) {
	for name, wanted := range s.wanted {
		fields, _ := o.Object[name].(map[string]any)
		for key := range fields {
			if !wanted[key] {
				fields[key] = nil
			}
		}
	}
	isNoMark := func(key, _ string) bool { return !delegation.IsMark(key) }
	labels, annotations, entries := o.GetLabels(), o.GetAnnotations(), o.GetManagedFields()
	maps.DeleteFunc(labels, isNoMark)
	maps.DeleteFunc(annotations, isNoMark)
	for i := range entries {
		entries[i].FieldsV1 = nil
	}
	o.SetLabels(labels)
	o.SetAnnotations(annotations)
	o.SetManagedFields(entries)
}

// listerWatcher asks the API server, and tells when it stops and starts to
// answer.
func (w *watcher) listerWatcher(kind delegation.Kind,
	list func(context.Context, metav1.ListOptions) (runtime.Object, error),
	begin func(context.Context, metav1.ListOptions) (watch.Interface, error),
) cache.ListerWatcher {
	what := fmt.Sprintf("watch %s", kind.ResourceName())
	told := func(err error) {
		if err == nil {
			w.recovered(what)
		} else if w.ctx.Err() == nil {
			w.report(what, kubecontext.InContext(w.cluster.Context, w.query.doing("watch", kind, w.cluster), err))
		}
	}
	selected := func(o *metav1.ListOptions) {
		o.LabelSelector, o.FieldSelector = w.query.selector(kind), w.query.FieldSelector
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			selected(&o)
			objects, err := list(ctx, o)
			if chunk, isList := objects.(metav1.ListInterface); err == nil && isList {
				err = fleet.GoesOn(o.Continue, chunk.GetContinue())
			}
			told(err)
			return objects, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			selected(&o)
			o.Watch = true
			watcher, err := begin(ctx, o)
			if o.SendInitialEvents == nil || !apierrors.IsInvalid(err) {
				// Servers that cannot begin a watch with all there is say so, and are
				// listed then: it is no failure (KEP-3157).
				told(err)
			}
			return watcher, err
		},
	}
}
