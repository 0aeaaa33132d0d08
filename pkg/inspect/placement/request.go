// Package placement judges where what waits could run, and why it could not: a verdict
// for each cluster that it may be given to. It is pure, and works on what was read.
//
// Kueue's reckoning is followed as reference and source have it (kueue:
// pkg/scheduler/flavorassigner). What cannot be told from outside is unknown: never is
// said of nothing that could run.
package placement

import (
	"cmp"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/capacity"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Request is what is to be placed.
type Request struct {
	Namespace, Queue string
	// Delegated is whether nothing but Kueue can run it; else it runs without a queue, too.
	Delegated bool
	// PodSets are its pods; nil if they are not known.
	PodSets []kueue.PodTemplate
	// Turn is when its turn would be. Its UID is that of nobody while it is not submitted.
	Turn kueue.Turn
	// Owners are what Workloads were made for where they were submitted, by namespace and
	// name of the Workload.
	Owners map[string]string
	// ownersKnown is whether Owners has all Workloads of the cluster that it was submitted to.
	ownersKnown bool
	// At are the request as clusters would have it that it is submitted to, with their
	// defaults, by context, where that was tried; Refused is why one would not take it.
	At      map[string]*Request
	Refused map[string]string
	// Classes are what the classes that it names come to, by context. Those that it does not
	// name are not in them.
	Classes map[string]Class
	// priorityUnread says why its priority is unknown.
	priorityUnread string
	// isGiven is whether the cluster gives it to others, so that its pods run on none of
	// its own nodes.
	isGiven bool
}

// at is the request as it would be on a cluster that it is submitted to.
func (r *Request) at(context string) *Request {
	here := r.At[context]
	if here == nil {
		return r
	}
	with := *here
	with.Queue, with.Classes = cmp.Or(here.Queue, r.Queue), r.Classes
	return &with
}

// DefaultQueue is the LocalQueue that Kueue gives to what names none, where there is one
// of that name (kueue: LocalQueueDefaulting, since 0.10).
const DefaultQueue = "default"

// OfJob is what a batch Job asks for, before Kueue has made a Workload of it.
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
	return Request{Namespace: j.Namespace, Queue: queue, PodSets: []kueue.PodTemplate{set}}
}

// podSetsOf are the pods of an object, by its own template; nil if they are not known, as of
// other kinds than Job.
func podSetsOf(o *inspect.Job) []kueue.PodTemplate {
	job := &batchv1.Job{}
	if o.Object == nil || !o.Row().IsJob() || runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object.Object, job) != nil {
		return nil
	}
	return OfJob(job, "").PodSets
}

// asked is what the pods of one kind need: so many pods, and how much of each resource
// one of them.
type asked struct {
	set   *kueue.PodTemplate
	count int64
	// total is of all pods.
	total map[string]capacity.Amount
}

// on is what a request asks for on a cluster: what Kueue there has said itself, or what
// the pods' templates come to with the namespace's LimitRanges there.
func (r *Request) on(c *inspect.Capacity, told []kueue.PodSetRequests, by kueue.Counting) []asked {
	all := make([]asked, 0, len(r.PodSets))
	for i := range r.PodSets {
		set := &r.PodSets[i]
		a := asked{set: set, count: int64(set.Count), total: map[string]capacity.Amount{}}
		list := kueue.Times(kueue.Requests(&set.Template.Spec, limitsOf(c, r.Namespace), by), a.count)
		for _, t := range told {
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

// schedulerCounting is how the API server and the scheduler count: limits are requests before LimitRanges
// add theirs.
func schedulerCounting() kueue.Counting { return kueue.Counting{LimitsFirst: true} }

// countings returns how the Kueue of a cluster may count what a Pod requests, the likeliest first.
// Only versions before 0.20 serve the older API. Some of them were patched to take limits first.
func countings(k *inspect.KueueFacts) []kueue.Counting {
	if k.ServesOld {
		return []kueue.Counting{{}, {LimitsFirst: true}}
	}
	return []kueue.Counting{{LimitsFirst: true, Containers: true}}
}

// asksForDevices says whether some pods ask for devices by claims.
func (r *Request) asksForDevices() bool {
	return slices.ContainsFunc(r.PodSets, func(p kueue.PodTemplate) bool { return len(p.Template.Spec.ResourceClaims) > 0 })
}

// atLeast is the same with as few pods as it may be started with; isLess is false where
// that is no fewer.
func atLeast(all []asked) (least []asked, isLess bool) {
	for _, a := range all {
		if low := a.set.MinCount; low != nil && int64(*low) < a.count && a.count > 0 {
			less := asked{set: a.set, count: int64(*low), total: map[string]capacity.Amount{}}
			for name, total := range a.total {
				less.total[name] = total / capacity.Amount(a.count) * capacity.Amount(*low)
			}
			least, isLess = append(least, less), true
			continue
		}
		least = append(least, a)
	}
	return least, isLess
}

func limitsOf(c *inspect.Capacity, namespace string) []corev1.LimitRange {
	var limits []corev1.LimitRange
	for _, l := range c.LimitRanges {
		if l.Namespace == namespace {
			limits = append(limits, *l)
		}
	}
	return limits
}
