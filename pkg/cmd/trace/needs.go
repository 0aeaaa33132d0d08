package trace

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/dependency"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/preflight"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// checkNeeds adds which clusters lack an object that the Pods need, such as a ServiceAccount. It
// reports what it cannot check. It reads no Secrets.
func (o *traceOptions) checkNeeds(ctx context.Context, f *fleet.Fleet, v *inspect.Inventory, object *unstructured.Unstructured, r *placement.Request) {
	kind, isKnown := delegation.KindOf(object.GroupVersionKind())
	if !isKnown {
		return
	}
	o.checkQuotas(ctx, f, v, r)
	var unchecked []string
	for _, n := range preflight.NeededBy(kind, object) {
		if o.flags.From != "" || n.Kind == dependency.Secret {
			unchecked = append(unchecked, n.String())
			continue
		}
		_, lacking, unread := read.Presence(ctx, f, n.Resource(), types.NamespacedName{Namespace: r.Namespace, Name: n.Name})
		for name := range lacking {
			checked := r.Check(name)
			checked.Lacking = append(checked.Lacking, n.String())
		}
		o.noteUnread(v, unread, func(context string) string { return fmt.Sprintf("whether %s has %s", context, n) })
	}
	if len(unchecked) > 0 {
		util.Report(o.ErrOut, "note: not checked whether the clusters have what the Pods need: %s", inspect.Some(unchecked))
	}
}

// checkQuotas adds the ResourceQuotas of the Job's namespace on each cluster. It reports what it
// cannot read. Snapshots have none, which noteSnapshot reports.
func (o *traceOptions) checkQuotas(ctx context.Context, f *fleet.Fleet, v *inspect.Inventory, r *placement.Request) {
	if o.flags.From != "" {
		return
	}
	quotas, unread := read.ResourceQuotas(ctx, f, r.Namespace)
	for context, all := range quotas {
		r.Check(context).Quotas = all
	}
	o.noteUnread(v, unread, func(context string) string { return "whether the ResourceQuotas of " + context + " allow the Job" })
}

// checkClasses reads the classes that a Job names. If the one that decides its priority could not be read, it
// says so: its place in queues is unknown then.
func (o *traceOptions) checkClasses(ctx context.Context, f *fleet.Fleet, v *inspect.Inventory, m *planned, r *placement.Request) {
	unread, names := "", o.classNames(m.Object, r)
	entries := placement.Entries(v, r)
	for context, class := range read.Classes(ctx, f, names) {
		if slices.ContainsFunc(entries, func(at *inspect.Facts) bool { return at.Context == context }) {
			o.given.complete(&class, names.Deciding(&placement.Class{}).Name, names.Priority, names.Runtime)
		}
		r.Check(context).Class = &class
		if facts := v.Facts(context); class.IsNamed && facts != nil && facts.Err == nil && !facts.NoKueue {
			unread = max(unread, class.PriorityUnread)
		}
	}
	if unread != "" {
		util.Report(o.ErrOut, "note: the place of %s in queues is not estimated: %s", delegation.Named(m.kind, r.Namespace, m.name), unread)
	}
}

// checkWorkload adds which clusters lack the Workload that a Job names, and of which that is unknown.
func (o *traceOptions) checkWorkload(ctx context.Context, f *fleet.Fleet, object *unstructured.Unstructured, r *placement.Request) {
	marks := delegation.MarksOf(object.GetLabels(), object.GetAnnotations())
	if marks == nil || marks.Prebuilt == "" || o.hasWorkload(r.Namespace, marks.Prebuilt) {
		return
	}
	lacking, unread := read.WithoutWorkload(ctx, f, types.NamespacedName{Namespace: r.Namespace, Name: marks.Prebuilt})
	for _, name := range lacking {
		r.Check(name).MissingWorkload = marks.Prebuilt
	}
	for name, err := range unread {
		r.Check(name).UnreadWorkload = fmt.Sprintf("cannot tell whether Workload %s/%s exists: %s", r.Namespace, marks.Prebuilt, kubecontext.Because(err))
	}
}

// classNames returns the classes that a Job names, which determine what servers would add. Kueue's webhook
// may name one, which a dry run has shown.
func (o *traceOptions) classNames(object *unstructured.Unstructured, r *placement.Request) read.ClassNames {
	names := read.ClassNames{WorkloadPriority: object.GetLabels()[delegation.PriorityClassLabel], InSnapshot: o.flags.From != "", MayGetDefault: len(r.Tried()) == 0}
	for _, tried := range r.Tried() {
		names.WorkloadPriority = cmp.Or(names.WorkloadPriority, tried.PriorityClass)
	}
	for i := range r.PodSets {
		spec := &r.PodSets[i].Template.Spec
		names.Priority = cmp.Or(names.Priority, spec.PriorityClassName)
		if spec.RuntimeClassName != nil {
			names.Runtime = cmp.Or(names.Runtime, *spec.RuntimeClassName)
		}
	}
	return names
}

// noteSnapshot reports what is checked for no object of a file, because snapshots lack it.
func (o *traceOptions) noteSnapshot() {
	if o.flags.From != "" {
		util.Report(o.ErrOut, "note: ResourceQuotas were not checked: snapshots do not record them")
		util.Report(o.ErrOut, "note: Jobs were checked without the defaults and webhooks of API servers: snapshots have none")
	}
}

// noteUnread reports what was not checked on clusters that answer. The others are reported as a whole.
func (o *traceOptions) noteUnread(v *inspect.Inventory, unread map[string]error, what func(context string) string) {
	for _, name := range slices.Sorted(maps.Keys(unread)) {
		if facts := v.Facts(name); facts != nil && facts.Err == nil {
			util.Report(o.ErrOut, "note: not checked %s: %s", what(name), kubecontext.Because(unread[name]))
		}
	}
}
