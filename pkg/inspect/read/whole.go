package read

import (
	"context"
	"errors"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Whole reads each context of a fleet as Read does, and nothing of it for certain Jobs alone:
// whatever some reading of these kinds and namespaces asks for is read, whole and as JSON, for
// who records it (fleet.Record). The facts tell what else there is to know of a cluster. They
// are those of each context by itself, and not to judge by: statuses that depend on Workloads
// are not settled, and there are no pods and events.
//
// Of the kinds that omits picks the facts tell, and no objects are read; nil picks none. Jobs
// are always read.
func Whole(ctx context.Context, f *fleet.Fleet, q Query, omits func(delegation.Kind) bool) []*inspect.Facts {
	q = q.Across(ctx, f)
	q.isWhole, q.omits = true, omits
	w := Want{Jobs: &q, Evidence: true, Room: true}
	return askAll(ctx, f, w.read)
}

// listed are those of the kinds whose objects are read.
func (q Query) listed(kinds []delegation.Kind) []delegation.Kind {
	if !q.isWhole {
		return kinds
	}
	listed := slices.DeleteFunc(slices.Clone(kinds), func(k delegation.Kind) bool { return !k.IsJob() && q.omits != nil && q.omits(k) })
	if !slices.ContainsFunc(listed, func(k delegation.Kind) bool { return k.IsJob() }) {
		// They are there where nobody knows what else is.
		listed = append(listed, delegation.Job())
	}
	return listed
}

// wholeJobsOf is where the batch/v1 Jobs of a query come from, as JSON.
func wholeJobsOf(c *fleet.Cluster, q Query, kind *delegation.Kind) fleet.Source[read] {
	// The template is whole for others, and here it would be decoded to be dropped.
	type jobWithoutTemplate struct {
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			batchv1.JobSpec
			Template struct{} `json:"template"`
		} `json:"spec"`
		Status batchv1.JobStatus `json:"status"`
	}
	names := interner{}
	return fleet.Objects(c, kind.Resource, q.namespace(c), q.selected(kind), func(o *jobWithoutTemplate) (string, read) {
		job := &batchv1.Job{ObjectMeta: o.ObjectMeta, Spec: o.Spec.JobSpec, Status: o.Status}
		drop(job, nil)
		r := readJob(kind, job)
		names.intern(&r.job)
		return fleet.ObjectKey(o.Namespace, o.Name), r
	})
}

// beyondJobs is why there is nothing else to read of a cluster whose Jobs could not be listed:
// it did not answer. A refusal is a gap, like any other, and so is what makes no sense here.
func beyondJobs(facts *inspect.Facts, err error) error {
	if err == nil {
		err = facts.Gaps[inspect.PartJobs]
	}
	var answered apierrors.APIStatus
	if errors.As(err, &answered) || errors.Is(err, fleet.ErrSenseless) {
		facts.AddGap(inspect.PartJobs, err)
		return nil
	}
	return err
}

// tellCause has gaps tell why ctx is over, if it is, and not in which request that was noticed.
func tellCause(ctx context.Context, facts *inspect.Facts) {
	for part, err := range facts.Gaps {
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			facts.Gaps[part] = context.Cause(ctx)
		}
	}
}

// readUnselected reads the pods of all kinds of which there are objects, and those that Jobs
// have left; and all events.
func (r *factReader) readUnselected(ctx context.Context, namespace string) {
	ofKinds := sets.New(delegation.Job().PodLabel)
	for _, j := range r.facts.Jobs {
		if label := j.Row().PodLabel; label != "" {
			ofKinds.Insert(label)
		}
	}
	for _, label := range sets.List(ofKinds) {
		r.pass(ctx, inspect.PartPods, corev1.SchemeGroupVersion.WithResource("pods"), namespace, metav1.ListOptions{LabelSelector: label})
	}
	r.pass(ctx, inspect.PartEvents, corev1.SchemeGroupVersion.WithResource("events"), namespace, metav1.ListOptions{})
}

// pass has objects pass by of which nothing is kept here.
func (r *factReader) pass(ctx context.Context, part inspect.Part, resource schema.GroupVersionResource, namespace string, o metav1.ListOptions) {
	r.read(part, func() error {
		return listObjects(ctx, r.cluster, resource, namespace, o, func(*struct{}) {})
	})
}

// passNamespaces has at least those Namespaces pass by that tell which cluster it is, and what
// is looked at, where all may not be listed. That they cannot be had is a gap already.
func (r *factReader) passNamespaces(ctx context.Context, namespace string) {
	for _, name := range []string{metav1.NamespaceSystem, namespace} {
		if name != metav1.NamespaceAll {
			_, _ = getNamespace(ctx, r.cluster, name)
		}
	}
}
