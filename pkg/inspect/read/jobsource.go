package read

import (
	"context"
	"errors"
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/cache"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/wire"
)

// jobsOf returns the source of a query's batch/v1 Jobs, as protobuf if the server supports it.
func jobsOf(client rest.Interface, q Query, namespace string, kind *delegation.Kind) cache.Source[read] {
	selected, names, labels := q.selected(kind), interner{}, newLabelSets(q.Labels)
	jobs := jobCollection{client: client, namespace: namespace, labels: q.Labels}
	var before *delegation.Marks
	readOne := func(job *batchv1.Job) read {
		r := readJob(kind, job)
		names.intern(&r.job)
		r.job.Labels = labels.of(job.Labels)
		// Queued Jobs without a chosen cluster often have the same marks.
		if m := r.job.Marks; m != nil && before != nil && *m == *before {
			r.job.Marks = before
		} else {
			before = m
		}
		return r
	}
	return cache.Source[read]{
		Key:  strings.Join(append([]string{"jobs", namespace, selected.LabelSelector, selected.FieldSelector}, q.Labels...), "\n"),
		What: kind.ResourceName(),
		List: func(ctx context.Context, visit func(string, read)) (string, error) {
			return jobs.list(ctx, selected, func(job *batchv1.Job) {
				visit(cache.ObjectKey(job.Namespace, job.Name), readOne(job))
			})
		},
		Watch: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector, o.FieldSelector = selected.LabelSelector, selected.FieldSelector
			return jobs.watch(ctx, o)
		},
		Decode: func(o runtime.Object) (read, error) {
			job, ok := o.(*batchv1.Job)
			if !ok {
				return read{}, fmt.Errorf("the server sent a %T in a watch of Jobs", o)
			}
			drop(job, q.Labels)
			return readOne(job), nil
		},
	}
}

// list lists Jobs in chunks, and returns the resource version of the first. It requests the next
// chunk as soon as one begins to arrive, so that the connection is never idle.
func (c jobCollection) list(ctx context.Context, o metav1.ListOptions, visit func(*batchv1.Job)) (version string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	o.Limit = chunk
	page, err := c.openChunk(ctx, o)
	if err != nil {
		return "", err
	}
	version = page.ResourceVersion
	var before, size int64
	for {
		var next func() (*jobPage, error)
		o.Continue = page.Continue
		ask := func(jobs int64) {
			if next == nil && o.Continue != "" {
				o.Limit = limitFor(before+jobs, size+page.size)
				next = c.ahead(ctx, o)
			}
		}
		jobs := int64(0)
		err := page.each(func(job *batchv1.Job) {
			jobs++
			if jobs == sample {
				ask(jobs)
			}
			visit(job)
		})
		if err != nil {
			return version, err
		}
		ask(jobs)
		if next == nil {
			return version, nil
		}
		before, size = before+jobs, size+page.size
		if page, err = next(); err != nil {
			return version, err
		}
	}
}

// sample is how many Jobs of a chunk are measured to estimate their size.
const sample = 20

// largePage is the target size of a chunk in bytes, once the size of Jobs is known. Each chunk
// costs a round trip, and memory on the server.
const largePage = 16 << 20

// limitFor returns how many Jobs to request after these many, with their size in bytes. The first
// chunk is small, so that output can start early.
func limitFor(jobs, size int64) int64 {
	if jobs == 0 || size == 0 {
		return chunk
	}
	return min(max(largePage/(size/jobs+1), chunk), 20*chunk)
}

// ahead requests a chunk in the background.
func (c jobCollection) ahead(ctx context.Context, o metav1.ListOptions) (wait func() (*jobPage, error)) {
	type answer struct {
		page *jobPage
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		page, err := c.openChunk(ctx, o)
		answers <- answer{page, err}
	}()
	return func() (*jobPage, error) {
		a := <-answers
		return a.page, a.err
	}
}

// openChunk requests one chunk. If the server has compacted the snapshot of the earlier chunks, it
// offers a token to continue at the same place in the current state, and openChunk uses it. No
// object is then seen twice, and none that existed all the time is missed.
func (c jobCollection) openChunk(ctx context.Context, o metav1.ListOptions) (*jobPage, error) {
	page, err := c.open(ctx, o)
	var status apierrors.APIStatus
	if o.Continue != "" && apierrors.IsResourceExpired(err) && errors.As(err, &status) && status.Status().Continue != "" {
		o.Continue = status.Status().Continue
		page, err = c.open(ctx, o)
	}
	if err != nil {
		return nil, err
	}
	if err := wire.CheckContinue(o.Continue, page.Continue); err != nil {
		return nil, errors.Join(err, page.body.Close())
	}
	return page, nil
}

func (c jobCollection) watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	return c.client.Get().NamespaceIfScoped(c.namespace, c.namespace != "").Resource("jobs").
		VersionedParams(&o, scheme.ParameterCodec).Watch(ctx)
}
