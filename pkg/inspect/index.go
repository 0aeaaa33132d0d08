package inspect

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// index finds objects in the facts of a cluster, so that judging many Jobs does not take quadratic
// time.
type index struct {
	workloads      map[types.NamespacedName]*kueue.Workload
	workloadsOfJob map[string][]*kueue.Workload
	podsOfJob      map[string][]*Pod
	// mirrors are the mirrors of MultiKueue, by the names of their Workloads.
	mirrors map[types.NamespacedName]*Job
	// podsLabelled are the Pods with a label that identifies their object.
	podsLabelled map[string][]*Pod
	warnings     map[string]*Event
	// preemptions are the preemption events of Workloads.
	preemptions map[types.NamespacedName][]*Event
	objects     objects
}

func (f *Facts) buildIndex() {
	x := &index{
		workloads: map[types.NamespacedName]*kueue.Workload{}, workloadsOfJob: map[string][]*kueue.Workload{},
		podsOfJob: map[string][]*Pod{}, podsLabelled: map[string][]*Pod{}, warnings: map[string]*Event{},
		preemptions: map[types.NamespacedName][]*Event{}, mirrors: map[types.NamespacedName]*Job{},
	}
	for _, j := range f.Jobs {
		if j.MultiKueueOrigin() != "" && j.Prebuilt() != "" {
			x.mirrors[types.NamespacedName{Namespace: j.Namespace, Name: j.Prebuilt()}] = j
		}
	}
	if f.Kueue != nil {
		for _, w := range f.Kueue.Workloads {
			x.workloads[types.NamespacedName{Namespace: w.Namespace, Name: w.Name}] = w
			if uid := jobUID(w); uid != "" {
				x.workloadsOfJob[uid] = append(x.workloadsOfJob[uid], w)
			}
		}
	}
	for _, p := range f.Pods {
		x.podsOfJob[p.JobUID] = append(x.podsOfJob[p.JobUID], p)
		for label, value := range p.OfKinds {
			k := labelled(p.Namespace, label, value)
			x.podsLabelled[k] = append(x.podsLabelled[k], p)
		}
	}
	for _, e := range f.Events {
		if e.IsPreemption() {
			of := types.NamespacedName{Namespace: e.Namespace, Name: e.Name}
			x.preemptions[of] = append(x.preemptions[of], e)
		}
		if last := x.warnings[e.UID]; e.Warning && (last == nil || e.Time.After(last.Time)) {
			x.warnings[e.UID] = e
		}
	}
	f.index = x
}

// jobUID returns the UID of the Job for which Kueue created a Workload on the same cluster, "" if
// unknown.
func jobUID(w *kueue.Workload) string {
	owner := metav1.GetControllerOf(w)
	switch {
	case w.IsVariant():
		return ""
	case owner != nil && owner.Kind == "Pod":
		// From Kueue 0.20 on, the label has the UID of the Pod's Deployment.
		return string(owner.UID)
	case owner == nil && slices.ContainsFunc(w.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "Pod" }):
		// A Workload of a Pod group is found by its name, unless the group belongs to an object such
		// as a LeaderWorkerSet.
		for _, o := range w.OwnerReferences {
			if o.Kind != "Pod" && string(o.UID) == w.Labels[delegation.JobUIDLabel] {
				return string(o.UID)
			}
		}
		return ""
	}
	if uid := w.Labels[delegation.JobUIDLabel]; uid != "" || owner == nil {
		return uid
	}
	return string(owner.UID)
}

// Workload returns the Workload with this namespace and name; nil if there is none.
func (f *Facts) Workload(namespace, name string) *kueue.Workload {
	if !f.isIndexed() {
		return nil
	}
	return f.index.workloads[types.NamespacedName{Namespace: namespace, Name: name}]
}

// JobOfWorkload returns the Job for which Kueue created a Workload on this cluster; nil if unknown
// or not read.
func (f *Facts) JobOfWorkload(w *kueue.Workload) *Job { return f.JobOf(jobUID(w)) }

// MirrorWith returns the mirror of MultiKueue whose Workload has the name of w, nil if there is
// none.
func (f *Facts) MirrorWith(w *kueue.Workload) *Job {
	if !f.isIndexed() {
		return nil
	}
	return f.index.mirrors[types.NamespacedName{Namespace: w.Namespace, Name: w.Name}]
}

// WorkloadsOf returns the Workloads of a pair on one cluster. On the origin's cluster these are the
// ones that Kueue created for the origin. Elsewhere they are their copies, which have the same
// names, and the Workloads of mirrors.
func (v *Inventory) WorkloadsOf(p Pair, f *Facts) []*kueue.Workload {
	if !f.isIndexed() || f.Kueue == nil {
		return nil
	}
	var found []*kueue.Workload
	add := func(w *kueue.Workload) {
		if w != nil && !slices.Contains(found, w) {
			found = append(found, w)
		}
	}
	if o := p.Origin; o != nil && o.Context == f.Context {
		for _, w := range f.index.workloadsOfJob[o.UID] {
			add(w)
		}
		for _, name := range o.WorkloadNames() {
			add(f.Workload(o.Namespace, name))
		}
	} else if o != nil {
		for _, w := range v.WorkloadsOf(p, v.Facts(o.Context)) {
			add(f.Workload(w.Namespace, w.Name))
		}
	}
	for _, m := range p.Mirrors {
		if m.Job.Context == f.Context && m.Job.Prebuilt() != "" {
			add(f.Workload(m.Job.Namespace, m.Job.Prebuilt()))
		}
	}
	return found
}

// CurrentWorkload returns the Workload that shows an object's current state, nil if there is none. An
// elastic Job has one for each size that it had. The result is the latest unfinished one, otherwise
// the latest.
func CurrentWorkload(workloads []*kueue.Workload) *kueue.Workload {
	if len(workloads) == 0 {
		return nil
	}
	return slices.MaxFunc(workloads, func(a, b *kueue.Workload) int {
		order := func(w *kueue.Workload) int {
			if w.Is(kueue.Finished) {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(order(a), order(b)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
}

// PodsOf returns the Pods that a Job controls. If it controls none, it returns those that carry the
// label of its kind, because another object between them and the Job may control them.
func (f *Facts) PodsOf(j *Job) []*Pod {
	if !f.isIndexed() {
		return nil
	}
	if pods := f.index.podsOfJob[j.UID]; len(pods) > 0 || j.PodLabelValue() == "" {
		return pods
	}
	return f.index.podsLabelled[labelled(j.Namespace, j.Row().PodLabel, j.PodLabelValue())]
}

func labelled(namespace, label, value string) string { return namespace + "/" + label + "=" + value }

// LastWarning returns the latest warning about a Job, nil if there is none.
func (f *Facts) LastWarning(j *Job) *Event {
	if !f.isIndexed() {
		return nil
	}
	return f.index.warnings[j.UID]
}
