package read

import (
	"context"
	"errors"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/cache"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/wire"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Whole reads from each context everything that any Want may read for these kinds and namespaces,
// as whole JSON objects, for a snapshot (fleet.Record). The facts show what else there is to read
// of a cluster. They are separate for each context and unsuitable for judging: statuses that depend
// on Workloads are not settled, and there are no Pods and events.
//
// For kinds that omits selects, the facts have the kind, but no objects are read; a nil omits
// selects none. Jobs are always read.
func Whole(ctx context.Context, f *fleet.Fleet, q Query, omits func(delegation.Kind) bool) []*inspect.Facts {
	q = q.across(ctx, f)
	q.isWhole, q.omits = true, omits
	w := Want{Jobs: &q, Evidence: true, Capacity: true}
	return askAll(ctx, f, w.read)
}

// listed returns the kinds whose objects are read.
func (q Query) listed(kinds []delegation.Kind) []delegation.Kind {
	if !q.isWhole {
		return kinds
	}
	listed := slices.DeleteFunc(slices.Clone(kinds), func(k delegation.Kind) bool { return !k.IsJob() && q.omits != nil && q.omits(k) })
	if !slices.ContainsFunc(listed, func(k delegation.Kind) bool { return k.IsJob() }) {
		// Jobs exist even if the other kinds are unknown.
		listed = append(listed, delegation.Job())
	}
	return listed
}

// wholeJobsOf returns the source of a query's batch/v1 Jobs, as JSON.
func wholeJobsOf(c *fleet.Cluster, q Query, kind *delegation.Kind) cache.Source[read] {
	// The snapshot gets the template; decoding it here would be wasted.
	type jobWithoutTemplate struct {
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			batchv1.JobSpec
			Template struct {
				Spec struct {
					NodeSelector map[string]string `json:"nodeSelector"`
				} `json:"spec"`
			} `json:"template"`
		} `json:"spec"`
		Status batchv1.JobStatus `json:"status"`
	}
	names := interner{}
	return fleet.SourceOf(c, kind.Resource, q.namespace(c), q.selected(kind), func(o *jobWithoutTemplate) (string, read) {
		job := &batchv1.Job{ObjectMeta: o.ObjectMeta, Spec: o.Spec.JobSpec, Status: o.Status}
		job.Spec.Template.Spec.NodeSelector = o.Spec.Template.Spec.NodeSelector
		drop(job, nil)
		r := readJob(kind, job)
		names.intern(&r.job)
		return cache.ObjectKey(o.Namespace, o.Name), r
	})
}

// unansweredError returns the error that makes other reads of a cluster pointless after its Jobs could
// not be listed: it did not answer. A denial or an invalid answer becomes a gap.
func unansweredError(facts *inspect.Facts, err error) error {
	if err == nil {
		err = facts.Gaps[inspect.PartJobs]
	}
	if kubecontext.IsAnswer(err) || errors.Is(err, wire.ErrInvalidAnswer) {
		facts.AddGap(inspect.PartJobs, err)
		return nil
	}
	return err
}

// useContextCause replaces the errors of requests that ctx ended by its cause.
func useContextCause(ctx context.Context, facts *inspect.Facts) {
	for part, err := range facts.Gaps {
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			facts.Gaps[part] = context.Cause(ctx)
		}
	}
}

// readUnselected reads the Pods of all kinds with objects, Pods that deleted Jobs left, and all
// events.
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

// pass reads objects only for the recording, and keeps none.
func (r *factReader) pass(ctx context.Context, part inspect.Part, resource schema.GroupVersionResource, namespace string, o metav1.ListOptions) {
	r.read(part, func() error {
		return listObjects(ctx, r.cluster, resource, namespace, o, func(*struct{}) {})
	})
}

// passNamespaces records at least the Namespace that identifies the cluster and the one that is
// read, if all may not be listed. That is already a gap.
func (r *factReader) passNamespaces(ctx context.Context, namespace string) {
	for _, name := range []string{metav1.NamespaceSystem, namespace} {
		if name != metav1.NamespaceAll {
			_, _ = getNamespace(ctx, r.cluster, name)
		}
	}
}
