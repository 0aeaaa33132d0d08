package read

import (
	"context"
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// jobsOf is where the batch/v1 Jobs of a query come from, as protobuf where the server has
// it.
func jobsOf(client rest.Interface, q Query, namespace string, kind delegation.Kind) fleet.Source[read] {
	selected := metav1.ListOptions{LabelSelector: q.selector(kind), FieldSelector: q.FieldSelector}
	return fleet.Source[read]{
		Key:  strings.Join([]string{"jobs", namespace, selected.LabelSelector, selected.FieldSelector}, "\n"),
		What: kind.ResourceName(),
		List: func(ctx context.Context, visit func(string, read)) (string, error) {
			return listAllJobs(ctx, client, namespace, selected, visit)
		},
		Watch: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector, o.FieldSelector = selected.LabelSelector, selected.FieldSelector
			return watchJobs(ctx, client, namespace, o)
		},
		Decode: func(o runtime.Object) (read, error) {
			job, ok := o.(*batchv1.Job)
			if !ok {
				return read{}, fmt.Errorf("the server sent a %T in a watch of Jobs", o)
			}
			drop(job)
			return readJob(job), nil
		},
	}
}

// listAllJobs lists in chunks; the resource version is that of the first.
func listAllJobs(ctx context.Context, client rest.Interface, namespace string, o metav1.ListOptions, visit func(string, read)) (version string, err error) {
	p := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		list, err := listChunk(ctx, client, namespace, o)
		if err != nil {
			return nil, err
		}
		if o.Continue == "" {
			version = list.ResourceVersion
		}
		return list, nil
	})
	p.PageSize, p.PageBufferSize, p.FullListIfExpired = chunk, 1, false
	err = p.EachListItem(ctx, o, func(o runtime.Object) error {
		job, ok := o.(*batchv1.Job)
		if !ok {
			return fmt.Errorf("the server sent a %T in a list of Jobs", o)
		}
		visit(fleet.ObjectKey(job.Namespace, job.Name), readJob(job))
		return nil
	})
	return version, err
}

func watchJobs(ctx context.Context, client rest.Interface, namespace string, o metav1.ListOptions) (watch.Interface, error) {
	return client.Get().NamespaceIfScoped(namespace, namespace != "").Resource("jobs").
		VersionedParams(&o, scheme.ParameterCodec).Watch(ctx)
}
