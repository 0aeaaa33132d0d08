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
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// jobsOf is where the batch/v1 Jobs of a query come from, as protobuf where the server has
// it.
func jobsOf(client rest.Interface, q Query, namespace string, kind *delegation.Kind) fleet.Source[read] {
	selected, names, labels := q.selected(kind), interner{}, newLabelSets(q.Labels)
	jobs := jobCollection{client: client, namespace: namespace, labels: q.Labels}
	var before *delegation.Marks
	readOne := func(job *batchv1.Job) read {
		r := readJob(kind, job)
		names.intern(&r.job)
		r.job.Labels = labels.of(job.Labels)
		// What is submitted to a queue and was given to no cluster has the same marks.
		if m := r.job.Marks; m != nil && before != nil && *m == *before {
			r.job.Marks = before
		} else {
			before = m
		}
		return r
	}
	return fleet.Source[read]{
		Key:  strings.Join(append([]string{"jobs", namespace, selected.LabelSelector, selected.FieldSelector}, q.Labels...), "\n"),
		What: kind.ResourceName(),
		List: func(ctx context.Context, visit func(string, read)) (string, error) {
			return jobs.list(ctx, selected, func(job *batchv1.Job) {
				visit(fleet.ObjectKey(job.Namespace, job.Name), readOne(job))
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

// list lists in chunks; the resource version is that of the first. The next chunk
// is asked for as soon as a chunk begins to come in, so that the line is never idle.
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

// sample is how many Jobs of a chunk tell how large they are.
const sample = 20

// largePage is how many bytes are asked for at once when it is known how large Jobs are. Each
// page costs a round trip, and memory at the server.
const largePage = 16 << 20

// limitFor is how many Jobs to ask for when so many have come in, in so many bytes: few at
// first, so that something can be shown.
func limitFor(jobs, size int64) int64 {
	if jobs == 0 || size == 0 {
		return chunk
	}
	return min(max(largePage/(size/jobs+1), chunk), 20*chunk)
}

// ahead asks for a chunk while other things are done.
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

// openChunk asks for one chunk. Where the snapshot that the chunks come from
// was compacted away in between, the server offers a token to go on from the
// same place in the present state, and that is taken: no object is seen twice,
// and none that existed all the time is missed.
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
	if err := fleet.GoesOn(o.Continue, page.Continue); err != nil {
		return nil, errors.Join(err, page.body.Close())
	}
	return page, nil
}

func (c jobCollection) watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	return c.client.Get().NamespaceIfScoped(c.namespace, c.namespace != "").Resource("jobs").
		VersionedParams(&o, scheme.ParameterCodec).Watch(ctx)
}
