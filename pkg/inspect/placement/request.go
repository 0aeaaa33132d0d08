// Package placement judges where a waiting Job could run, and why it could
// not: it returns a verdict for each cluster that may get the Job. It is
// pure, and works on an inventory.
//
// It follows Kueue's calculation according to its reference and source
// (kueue: pkg/scheduler/flavorassigner). What cannot be determined from
// outside is Unknown. Never means that the Job certainly cannot run.
package placement

import (
	"cmp"
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/capacity"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Request is a Job to place.
type Request struct {
	Namespace, Queue string
	// Kind is its kind, the zero Kind if unknown.
	Kind delegation.Kind
	// Owner is the Job's owner. Without a queue, MultiKueue runs nothing.
	Owner delegation.Owner
	// LabelsField is the field of its manifest with the Job's labels, "" for metadata.labels.
	LabelsField string
	// QueueFlag is the flag that gives its queue instead of the label in its manifest, "" if none does.
	// Label is the queue in the label then.
	QueueFlag, Label string
	// OwnerField is the field that names its owner, "" for spec.managedBy.
	OwnerField string
	// PodSets are its Pods, nil if unknown.
	PodSets []kueue.PodTemplate
	// PriorityClass is the WorkloadPriorityClass that it names, "" for none.
	PriorityClass string
	// Rank is its order in a queue. Its UID is "" while it is not submitted.
	Rank kueue.Rank
	// Checked has what was checked on each cluster, by context.
	Checked map[string]*Checked
	// priorityUnread says why its priority is unknown.
	priorityUnread string
	// LocalQueue is its LocalQueue in the files that create it, too, nil if they have none. It counts as existing where
	// the request is submitted, not on workers. ClusterQueues are the names of those in the files.
	LocalQueue    *kueue.LocalQueue
	ClusterQueues []string
	// origin is the submitted object, nil if it is not submitted yet.
	origin *inspect.Job
	// isPaused is whether its parallelism is 0, so that it starts no Pods.
	isPaused bool
	// selectsPods is whether it selects its Pods itself (spec.manualSelector).
	selectsPods bool
}

// Checked is what was checked about a request on one cluster.
type Checked struct {
	// As is the request with the defaults of the cluster, if it may be submitted there and that was
	// tried; otherwise nil. Refused is why the cluster refuses it, "" if it does not.
	As      *Request
	Refused string
	// RefusedFix says what to change so that the cluster does not refuse it, "" if that is unknown.
	RefusedFix string
	// IsTaken is whether the cluster has another object of its name.
	IsTaken bool
	// older is the mirror of an older object of its name that the cluster still has, nil without one.
	older *inspect.Job
	// Lacking has the objects that its Pods need and the cluster lacks, such as "ServiceAccount robot".
	Lacking []string
	// Quotas are the ResourceQuotas of its namespace, as far as they were read.
	Quotas []corev1.ResourceQuota
	// Class has the effects of the classes that it names, nil if they were not read.
	Class *Class
	// CreatesNamespace is whether the files of the request create its namespace, too, where it is submitted.
	CreatesNamespace bool
	// MissingWorkload is the Workload that it names and the cluster lacks, "" if none. UnreadWorkload says why it
	// is unknown whether that exists, "" if it is known.
	MissingWorkload, UnreadWorkload string
}

// Check returns what was checked on a cluster, for adding to it.
func (r *Request) Check(context string) *Checked {
	if r.Checked == nil {
		r.Checked = map[string]*Checked{}
	}
	if r.Checked[context] == nil {
		r.Checked[context] = &Checked{}
	}
	return r.Checked[context]
}

// Tried returns the request with the defaults of the clusters where that was tried, ordered by context.
func (r *Request) Tried() (all []*Request) {
	for _, context := range slices.Sorted(maps.Keys(r.Checked)) {
		if as := r.Checked[context].As; as != nil {
			all = append(all, as)
		}
	}
	return all
}

// on returns what was checked on a cluster, nothing if it was not checked.
func (r *Request) on(context string) Checked {
	if c := r.Checked[context]; c != nil {
		return *c
	}
	return Checked{}
}

// classOn returns the effects of the classes that the request names, none if they were not read.
func (r *Request) classOn(context string) Class {
	if class := r.on(context).Class; class != nil {
		return *class
	}
	return Class{}
}

// at returns the request with the defaults of a cluster that it is submitted
// to.
func (r *Request) at(context string) *Request {
	here := r.on(context).As
	if here == nil {
		return r
	}
	with := *r
	with.Queue, with.Owner = cmp.Or(here.Queue, r.Queue), here.Owner
	with.PodSets, with.isPaused = here.PodSets, here.isPaused
	return &with
}

// isIn reports whether the Job exists on a cluster, or has passed a dry run there. Its namespace exists
// then.
func (r *Request) isIn(context string) bool {
	return r.origin != nil && r.origin.Context == context || r.on(context).As != nil
}

// DefaultQueue is the LocalQueue that Kueue gives to objects without a queue
// label, if one with that name exists (kueue: LocalQueueDefaulting, since
// 0.10).
const DefaultQueue = "default"

// OfJob returns what a batch Job requests, before Kueue has created a
// Workload for it.
func OfJob(j *batchv1.Job, queue string) Request {
	count := int32(1)
	if j.Spec.Parallelism != nil {
		count = *j.Spec.Parallelism
	}
	if j.Spec.Completions != nil {
		count = min(count, *j.Spec.Completions)
	}
	set := kueue.PodTemplate{Name: "main", Count: count, Template: j.Spec.Template}
	if least, ok := numberIn(j.Annotations[delegation.MinParallelism]); ok {
		set.MinCount = &least
	}
	isPaused := ptr.Deref(j.Spec.Parallelism, 1) == 0 && ptr.Deref(j.Spec.Completions, 1) > 0
	return Request{
		Namespace: j.Namespace, Queue: queue, Kind: delegation.Job(), PodSets: []kueue.PodTemplate{set}, isPaused: isPaused,
		selectsPods: ptr.Deref(j.Spec.ManualSelector, false),
	}
}

// jobOf returns the batch Job of an object; nil for other kinds, or if it was
// not read.
func jobOf(o *inspect.Job) *batchv1.Job {
	job := &batchv1.Job{}
	if o.Object == nil || !o.Row().IsJob() || runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object.Object, job) != nil {
		return nil
	}
	return job
}

// podSetsOf returns the Pods of an object, by its own template. It returns
// nil if they are unknown, as for other kinds than Job.
func podSetsOf(o *inspect.Job) []kueue.PodTemplate {
	job := jobOf(o)
	if job == nil {
		return nil
	}
	return OfJob(job, "").PodSets
}

// podSetDemand is what one podset requests.
type podSetDemand struct {
	set   *kueue.PodTemplate
	count int64
	// total is the amount of each resource for all Pods.
	total map[string]capacity.Amount
}

// demands returns what a request requests on a cluster: what Kueue there reports
// or, without that, what the Pod templates come to with the LimitRanges of
// the namespace there.
func (r *Request) demands(c *inspect.Capacity, reported []kueue.PodSetRequests, by kueue.CountingRules) []podSetDemand {
	all := make([]podSetDemand, 0, len(r.PodSets))
	computed := kueue.RequestsOf(r.PodSets, c.LimitsOf(r.Namespace), by)
	for i := range r.PodSets {
		set := &r.PodSets[i]
		a := podSetDemand{set: set, count: int64(set.Count), total: map[string]capacity.Amount{}}
		list := computed[i].Resources
		for _, t := range reported {
			if t.Name == set.Name {
				list = t.Resources
			}
		}
		for name, quantity := range list {
			a.total[string(name)] = capacity.AmountOf(string(name), quantity)
		}
		all = append(all, a)
	}
	return all
}

// remaining returns the request without the Pods that need no quota any longer, according to its Workload on
// the cluster, which may be nil.
func (r *Request) remaining(w *kueue.PodTemplates) *Request {
	if w == nil || len(w.Status.Reclaimable) == 0 {
		return r
	}
	left := *r
	left.PodSets = kueue.Remaining(r.PodSets, w.Status.Reclaimable)
	return &left
}

// asksForDevices reports whether any Pods request devices by ResourceClaims.
func (r *Request) asksForDevices() bool {
	return slices.ContainsFunc(r.PodSets, func(p kueue.PodTemplate) bool { return len(p.Template.Spec.ResourceClaims) > 0 })
}

// dispensable returns how many Pods a request may start without.
func dispensable(all []podSetDemand) (total int64) {
	for i := range all {
		total += all[i].dispensable()
	}
	return total
}

func (d *podSetDemand) dispensable() int64 {
	if low := d.set.MinCount; low != nil && d.count > 0 {
		return max(0, d.count-int64(*low))
	}
	return 0
}

// without returns the podsets without a part of the Pods that they may start without: left of total
// (kueue: pkg/scheduler/flavorassigner, PodSetReducer).
func without(all []podSetDemand, left, total int64) []podSetDemand {
	fewer := slices.Clone(all)
	for i := range fewer {
		d := &all[i]
		count := d.count - d.dispensable()*left/total
		if count == d.count {
			continue
		}
		fewer[i] = podSetDemand{set: d.set, count: count, total: map[string]capacity.Amount{}}
		for name, amount := range d.total {
			fewer[i].total[name] = amount / capacity.Amount(d.count) * capacity.Amount(count)
		}
	}
	return fewer
}
