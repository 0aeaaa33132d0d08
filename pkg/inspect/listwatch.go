package inspect

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// listerWatcher asks the API server, and tells when it stops and starts to
// answer.
func (w *watcher) listerWatcher(client rest.Interface) cache.ListerWatcher {
	namespace := w.query.namespace(w.cluster)
	told := func(err error) {
		if err != nil && w.ctx.Err() == nil {
			w.report("cluster", err)
		} else if _, was := w.lost.LoadAndDelete("cluster"); was {
			w.lost.Delete("workloads")
			w.send(Change{Type: Found})
		}
	}
	selected := func(o *metav1.ListOptions) {
		o.LabelSelector, o.FieldSelector = w.query.LabelSelector, w.query.FieldSelector
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			selected(&o)
			list, err := getJobs(ctx, client, namespace, o)
			told(err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			selected(&o)
			o.Watch = true
			watcher, err := client.Get().NamespaceIfScoped(namespace, namespace != "").Resource("jobs").
				VersionedParams(&o, scheme.ParameterCodec).Watch(ctx)
			told(err)
			return watcher, err
		},
	}
}

// trim drops what the model does not keep before the informer stores it.
func trim(o any) (any, error) {
	if job, ok := o.(*batchv1.Job); ok {
		drop(job)
	}
	return o, nil
}
