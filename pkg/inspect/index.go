package inspect

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	// warnings are the latest warnings about objects, and podWarnings those about the start of Pods, by
	// UID.
	warnings, podWarnings map[string]*Event
	// preemptions are the preemption events of Workloads.
	preemptions map[types.NamespacedName][]*Event
	objects     objects
}

func (f *Facts) buildIndex() {
	x := &index{
		workloads: map[types.NamespacedName]*kueue.Workload{}, workloadsOfJob: map[string][]*kueue.Workload{},
		podsOfJob: map[string][]*Pod{}, podsLabelled: map[string][]*Pod{}, warnings: map[string]*Event{}, podWarnings: map[string]*Event{},
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
		x.addEvent(e)
	}
	f.index = x
}

func (x *index) addEvent(e *Event) {
	if e.isPreemption() {
		of := types.NamespacedName{Namespace: e.Namespace, Name: e.Name}
		x.preemptions[of] = append(x.preemptions[of], e)
	}
	if last := x.warnings[e.UID]; e.Warning && (last == nil || e.Time.After(last.Time)) {
		x.warnings[e.UID] = e
	}
	if e.IsAboutStart() && e.Replaces(x.podWarnings[e.UID]) {
		x.podWarnings[e.UID] = e
	}
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
		for _, w := range f.workloadsOfOrigin(o) {
			add(w)
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

// workloadsOfOrigin returns the Workloads that Kueue created for an origin, and the one that the origin names.
func (f *Facts) workloadsOfOrigin(o *Job) []*kueue.Workload {
	found := slices.Clone(f.index.workloadsOfJob[o.UID])
	for _, name := range o.WorkloadNames() {
		if w := f.Workload(o.Namespace, name); w != nil && (name != o.Prebuilt() || !isOfAnother(w, o)) {
			found = append(found, w)
		}
	}
	return found
}

// isOfAnother reports whether another object controls a Workload. Kueue ignores such a Workload if a Job
// names it (kueue: pkg/controller/jobframework/reconciler.go, ensureOneWorkload).
func isOfAnother(w *kueue.Workload, j *Job) bool {
	owner := metav1.GetControllerOf(w)
	return owner != nil && string(owner.UID) != j.UID
}

// MissingPrebuilt returns why the Workload that an origin names is not its own: it does not exist, or belongs
// to another object. Kueue then creates none. It returns "" if there is no such reason, or if Workloads
// were not read.
func (f *Facts) MissingPrebuilt(j *Job) string {
	name := j.Prebuilt()
	if name == "" || j.IsMirror() || !f.isIndexed() || f.Kueue == nil || f.Unread(PartWorkloads) != nil {
		return ""
	}
	w := f.Workload(j.Namespace, name)
	switch {
	case w == nil:
		return "does not exist on " + f.Context
	case isOfAnother(w, j):
		owner := metav1.GetControllerOf(w)
		return fmt.Sprintf("belongs to %s %s/%s", owner.Kind, w.Namespace, owner.Name)
	}
	return ""
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

// ObjectName identifies an object on its cluster, in any version. An origin and its mirror share
// it, unless the owner gave the mirror another name or namespace.
type ObjectName struct {
	schema.GroupKind
	types.NamespacedName
}

// NameOf returns the name of a Job.
func NameOf(j *Job) ObjectName { return NameLike(j, j.Namespace, j.Name) }

// NameLike returns the name of another object of a Job's kind.
func NameLike(j *Job, namespace, name string) ObjectName {
	return ObjectName{
		schema.FromAPIVersionAndKind(j.APIVersion, j.Kind).GroupKind(), types.NamespacedName{Namespace: namespace, Name: name},
	}
}

// objects indexes the objects of a cluster. Each map is nil until it is needed.
type objects struct {
	byUID  map[string]*Job
	byName map[ObjectName]*Job
	// parts are the objects that an object controls, by its UID.
	parts map[string][]*Job
}

// isIndexed reports whether f has an index to find objects in.
func (f *Facts) isIndexed() bool { return f != nil && f.index != nil }

// JobOf returns the object with this UID; nil if it was not read, or the UID is "".
func (f *Facts) JobOf(uid string) *Job {
	if !f.isIndexed() || uid == "" {
		return nil
	}
	x := &f.index.objects
	if x.byUID == nil {
		x.byUID = make(map[string]*Job, len(f.Jobs))
		for _, j := range f.Jobs {
			x.byUID[j.UID] = j
		}
	}
	return x.byUID[uid]
}

// JobNamed returns the object with this name; nil if it was not read.
func (f *Facts) JobNamed(name ObjectName) *Job {
	if !f.isIndexed() {
		return nil
	}
	x := &f.index.objects
	if x.byName == nil {
		x.byName = make(map[ObjectName]*Job, len(f.Jobs))
		for _, j := range f.Jobs {
			x.byName[NameOf(j)] = j
		}
	}
	return x.byName[name]
}

// PartsOf returns the objects that an object controls.
func (f *Facts) PartsOf(j *Job) []*Job {
	if !f.isIndexed() {
		return nil
	}
	x := &f.index.objects
	if x.parts == nil {
		x.parts = map[string][]*Job{}
		for _, part := range f.Jobs {
			if part.Controller != nil {
				uid := string(part.Controller.UID)
				x.parts[uid] = append(x.parts[uid], part)
			}
		}
	}
	return x.parts[j.UID]
}

// sort sorts what was read, so that no output depends on which answer came first, or on the order
// of a server's cache. Lists that are already sorted, as API servers send them, stay as they are.
// Others may be shared, so they are copied.
func (f *Facts) sort() {
	f.Jobs = sorted(f.Jobs, func(a, b *Job) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.UID, b.UID))
	})
	f.Pods = sorted(f.Pods, func(a, b *Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	f.Events = sorted(f.Events, byTime)
	if f.Kueue == nil {
		return
	}
	k := *f.Kueue
	k.Workloads = sorted(k.Workloads, func(a, b *kueue.Workload) int { return byMeta(&a.ObjectMeta, &b.ObjectMeta) })
	k.LocalQueues = sorted(k.LocalQueues, func(a, b *kueue.LocalQueue) int { return byMeta(&a.ObjectMeta, &b.ObjectMeta) })
	k.ClusterQueues = sorted(k.ClusterQueues, func(a, b *kueue.ClusterQueue) int { return byMeta(&a.ObjectMeta, &b.ObjectMeta) })
	k.Checks = sorted(k.Checks, func(a, b *kueue.AdmissionCheck) int { return byMeta(&a.ObjectMeta, &b.ObjectMeta) })
	k.Configs = sorted(k.Configs, func(a, b *kueue.MultiKueueConfig) int { return byMeta(&a.ObjectMeta, &b.ObjectMeta) })
	k.Clusters = sorted(k.Clusters, func(a, b *kueue.MultiKueueCluster) int { return byMeta(&a.ObjectMeta, &b.ObjectMeta) })
	f.Kueue = &k
}

func byMeta(a, b *metav1.ObjectMeta) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}

// byTime sorts events. Times are whole seconds, so events of one second are sorted by name, as API
// servers list them.
func byTime(a, b *Event) int {
	return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.ID, b.ID))
}

// sorted returns the list in order, as a copy if it was not.
func sorted[T any](list []*T, compare func(a, b *T) int) []*T {
	if !slices.IsSortedFunc(list, compare) {
		list = slices.Clone(list)
		slices.SortStableFunc(list, compare)
	}
	return list
}
