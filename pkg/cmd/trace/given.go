package trace

import (
	"cmp"
	"slices"

	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/manifest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// given are the objects of the files that Jobs may name: namespaces, queues, classes and Workloads. They count as existing
// on the clusters that the Jobs would be submitted to. What a namespace and a ClusterQueue will have is unknown.
type given []*unstructured.Unstructured

// isNameable reports whether Jobs may name objects of its kind.
func isNameable(object *unstructured.Unstructured) bool {
	gvk := object.GroupVersionKind()
	return slices.Contains([]string{
		"Namespace.", "PriorityClass." + schedulingv1.GroupName, "RuntimeClass." + nodev1.GroupName, "WorkloadPriorityClass." + kueue.Group, "Workload." + kueue.Group,
		"LocalQueue." + kueue.Group, "ClusterQueue." + kueue.Group,
	}, gvk.Kind+"."+gvk.Group)
}

// find returns an object by its kind and name, nil if the files lack it.
func (g given) find(kind, name string) *unstructured.Unstructured {
	i := slices.IndexFunc(g, func(o *unstructured.Unstructured) bool { return o.GetKind() == kind && o.GetName() == name })
	if i < 0 {
		return nil
	}
	return g[i]
}

// hasWorkload reports whether the files have a Workload of a namespace.
func (o *traceOptions) hasWorkload(namespace, name string) bool {
	return o.givenIn("Workload", namespace, name) != nil
}

// givenIn returns an object by its kind, namespace and name, nil if the files lack it. Objects without a namespace are
// in that of the Jobs.
func (o *traceOptions) givenIn(kind, namespace, name string) *unstructured.Unstructured {
	i := slices.IndexFunc(o.given, func(object *unstructured.Unstructured) bool {
		in, err := manifest.NamespaceOf(object, *o.flags.Kube.Namespace, o.wanted.Namespace)
		return err == nil && object.GetKind() == kind && object.GetName() == name && in == namespace
	})
	if i < 0 {
		return nil
	}
	return o.given[i]
}

// addQueues notes the LocalQueue of a Job that the files create, and their ClusterQueues.
func (o *traceOptions) addQueues(r *placement.Request) {
	for _, object := range o.given {
		if object.GetKind() == "ClusterQueue" {
			r.ClusterQueues = append(r.ClusterQueues, object.GetName())
		}
	}
	object := o.givenIn("LocalQueue", r.Namespace, cmp.Or(r.Queue, placement.DefaultQueue))
	var local kueue.LocalQueue
	if object == nil || runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &local) != nil {
		return
	}
	local.Namespace = r.Namespace
	r.LocalQueue = &local
}

// noteNewQueue says that a Job gets its owner only if Kueue knows its new LocalQueue in time. CronJobs create their Jobs
// later.
func (o *traceOptions) noteNewQueue(v *inspect.Inventory, m *planned, r *placement.Request) {
	if m.file != m.Object || !placement.IsDefaultedByNewQueue(v, r) {
		return
	}
	util.Report(o.ErrOut, "note: MultiKueue rejects %s if Kueue does not know LocalQueue %s yet when the %s is created: create the LocalQueue first, or set %s to %s",
		delegation.Named(m.kind, r.Namespace, m.name), r.LocalQueue.Name, m.kind, cmp.Or(r.OwnerField, "spec.managedBy"), delegation.MultiKueue)
}

// addNamespace notes that the files create the namespace of a Job on the clusters that it would be submitted to.
func (g given) addNamespace(v *inspect.Inventory, r *placement.Request) {
	if g.find("Namespace", r.Namespace) == nil {
		return
	}
	for _, at := range placement.Entries(v, r) {
		r.Check(at.Context).CreatesNamespace = true
	}
}

// complete makes classes that the files have exist, unless the cluster has them.
func (g given) complete(class *placement.Class, wanted inspect.ClassName, pods, ofRuntime string) {
	if object := g.find(wanted.Kind, wanted.Name); object != nil && (class.Missing != inspect.ClassName{} || class.Unread != "") {
		value, _, _ := unstructured.NestedInt64(object.Object, "value")
		class.Priority, class.PriorityUnread, class.Unread, class.Missing = int32(value), "", "", inspect.ClassName{}
	}
	if g.find("PriorityClass", pods) != nil {
		class.UnreadForPods = ""
		if class.MissingForPods.Kind == "PriorityClass" {
			class.MissingForPods = inspect.ClassName{}
		}
	}
	var runtimeClass nodev1.RuntimeClass
	object := g.find("RuntimeClass", ofRuntime)
	if object == nil || class.Runtime != nil || runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &runtimeClass) != nil {
		return
	}
	class.Runtime, class.RuntimeUnread = &runtimeClass, ""
	if class.MissingForPods.Kind == "RuntimeClass" {
		class.MissingForPods = inspect.ClassName{}
	}
}

// noteSkipped reports objects of files that are neither Jobs nor named by Jobs.
func (o *traceOptions) noteSkipped(others []string) {
	if len(others) > 0 {
		util.Report(o.ErrOut, "note: skipped, because not a Job: %s", inspect.Some(others))
	}
}
