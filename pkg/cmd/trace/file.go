package trace

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/manifest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// readFiles judges what is not submitted yet.
func (o *traceOptions) readFiles(ctx context.Context, f *fleet.Fleet, addresses []kubecontext.Address) (*inspect.TraceList, error) {
	manifests, err := manifest.Read(ctx, o.filenames, o.In)
	if err != nil {
		return nil, err
	}
	requests := make([]placement.Request, len(manifests))
	var queues []types.NamespacedName
	var errs []error
	for i, m := range manifests {
		requests[i], err = o.request(m.Object)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", m.Source, err))
			continue
		}
		queues = append(queues, types.NamespacedName{Namespace: requests[i].Namespace, Name: cmp.Or(requests[i].Queue, placement.DefaultQueue)})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	inventory := read.Read(ctx, f, read.Want{Room: true, Queues: queues, Addresses: addresses, Now: o.Clock.Now})
	list := inspect.NewTraceList()
	list.Errors = inventory.Errors()
	for i, m := range manifests {
		t := inspect.Unsubmitted(m.Object.GetKind(), requests[i].Namespace, m.Object.GetName())
		t.Placements = append(t.Placements, placement.Submit(inventory, &requests[i])...)
		t.Summary = fmt.Sprintf("%s %s/%s is not submitted; %s", t.Origin.Kind, t.Origin.Namespace, t.Origin.Name, placement.Outlook(t.Placements))
		t.Errors = list.Errors
		list.Items = append(list.Items, *t)
	}
	return list, nil
}

// request is what an object of a manifest asks for. Of other kinds than Jobs it is not
// known what they come to: that is for their controllers.
func (o *traceOptions) request(object *unstructured.Unstructured) (placement.Request, error) {
	namespace := object.GetNamespace()
	if namespace == "" {
		namespace = o.wanted.Namespace
	}
	queue := o.submitTo
	if marks := delegation.MarksOf(object.GetLabels(), object.GetAnnotations()); queue == "" && marks != nil {
		queue = marks.Queue
	}
	r := placement.Request{Namespace: namespace, Queue: queue, Delegated: isMultiKueues(object)}
	if object.GroupVersionKind() != delegation.Job().GroupVersionKind() {
		return r, nil
	}
	job := &batchv1.Job{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, job); err != nil {
		return r, fmt.Errorf("%q does not have the fields of a Job: %w", object.GetName(), err)
	}
	r.PodSets = placement.OfJob(job, queue).PodSets
	return r, nil
}

// isMultiKueues says whether an object is to be run by MultiKueue and nobody else.
func isMultiKueues(object *unstructured.Unstructured) bool {
	kind, known := delegation.KindOf(object.GroupVersionKind())
	return known && kind.OwnerOf(delegation.TextAt(object.Object, kind.ManagedBy...)) == delegation.MultiKueue
}

// neverError says that something can run nowhere, which has been told before.
type neverError struct{ count, total int }

func (e *neverError) ExitCode() int { return util.ExitFindings }

func (e *neverError) Error() string {
	if e.total == 1 {
		return "it can run nowhere, as things stand"
	}
	return fmt.Sprintf("%d of %d can run nowhere, as things stand", e.count, e.total)
}

// fits makes an error of what is not submitted and can run nowhere.
func (o *traceOptions) fits(list *inspect.TraceList) error {
	if len(o.filenames) == 0 {
		return nil
	}
	never := 0
	for i := range list.Items {
		if placement.Overall(list.Items[i].Placements) == inspect.Never {
			never++
		}
	}
	if never == 0 {
		return nil
	}
	return &neverError{count: never, total: len(list.Items)}
}
