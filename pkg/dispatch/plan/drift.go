package plan

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
)

// Drift has the changes that would make a mirror match its plan.
type Drift struct {
	// Patch is a JSON merge patch without UID and resourceVersion; nil if there is nothing to
	// write.
	Patch map[string]any
	// Fields are the changed paths with their new values, such as "spec.parallelism=4", sorted.
	// The value of a removed field is null. Long values are cut.
	Fields []string
	// Deferred are fields that differ but cannot be changed in the current state of the mirror
	// (job-api D4: parts of the Pod template while Pods run). Immutable are fields that can never
	// be changed. They follow the Job API of Kubernetes 1.37; fields of later versions count as
	// immutable.
	Deferred, Immutable []string
	// Foreign are fields that differ, and that another controller on the worker sets. For
	// example, Kueue sets spec.suspend of a mirror in a queue.
	Foreign []string
	// Unshared are fields that the user has changed on the origin, and that are not copied,
	// because it is unknown which fields of that kind may change.
	Unshared []string
}

// DriftOf compares a mirror with its plan. planned is the mirror that New returns for the current
// origin. before is the planned mirror of this process's last write, or nil. Labels and
// annotations in before that are missing in planned are removed from the mirror. All others that
// only the mirror has belong to other clients and remain. The same applies to maps and sets in
// the Pod template: its labels and annotations, nodeSelector, tolerations, schedulingGates, and
// the resources of containers.
//
// A field that is missing in planned gets the worker's default. A field that servers always set
// and that is missing in the mirror is unknown to the worker. Neither is drift.
//
// One write may not be enough, so compare again after each write. The API server changes
// completions only together with an equal parallelism; the wanted parallelism follows in a second
// write. If the Pod template has to change before the Pods start, a suspended mirror is not
// resumed while the template is Deferred. Written returns before for the next comparison.
//
// All of this applies to Jobs, where the API defines which fields may change. For other kinds,
// only labels, annotations and the field that suspends the object are copied.
func DriftOf(k delegation.Kind, planned, before, mirror *unstructured.Unstructured) Drift {
	if k.IsJob() {
		return driftOfJob(planned, before, mirror)
	}
	return driftOfAny(k, planned, before, mirror)
}

func driftOfJob(planned, before, mirror *unstructured.Unstructured) Drift {
	if before == nil {
		before = &unstructured.Unstructured{}
	}
	d := &drifter{
		planned: planned, before: before, mirror: mirror, desired: mirror.DeepCopy(),
		deferred: sets.New[string](), immutable: sets.New[string](), foreign: sets.New[string](),
	}
	d.metadata(func(field, key string) bool {
		return field == "labels" && (object.IsGenerated(key) || object.InDomain(key, "batch.kubernetes.io"))
	})
	d.template()
	d.spec()
	d.fixed()
	return d.result()
}

// WithoutTemplate returns the drift without changes of the Pod template, which become deferred.
// Use it if the server refuses the whole patch. Servers before Kubernetes 1.36 allow changes of
// the template only before the Job's first start, and never changes of its containers' resources,
// and the mirror does not show whether it has started. A mirror that this drift resumes starts
// with its current template.
func (d Drift) WithoutTemplate() Drift {
	spec, _ := d.Patch["spec"].(map[string]any)
	if spec["template"] == nil {
		return d
	}
	d.Patch = runtime.DeepCopyJSON(d.Patch)
	unstructured.RemoveNestedField(d.Patch, "spec", "template")
	if spec, _ := d.Patch["spec"].(map[string]any); len(spec) == 0 {
		delete(d.Patch, "spec")
	}
	if len(d.Patch) == 0 {
		d.Patch = nil
	}
	deferred := sets.New(d.Deferred...)
	var fields []string
	for _, field := range d.Fields {
		if path, inTemplate := templateField(field); inTemplate {
			deferred.Insert(path)
		} else {
			fields = append(fields, field)
		}
	}
	d.Fields, d.Deferred = fields, sets.List(deferred)
	return d
}

// Written returns before for the next comparison, after Patch was written or if it was nil. The
// result is planned, but with the Pod template of before if the template is Deferred, so that
// fields to remove from it are not forgotten. It changes neither argument; before may be nil.
func (d Drift) Written(planned, before *unstructured.Unstructured) *unstructured.Unstructured {
	written := planned.DeepCopy()
	if !hasTemplate(d.Deferred) {
		return written
	}
	unstructured.RemoveNestedField(written.Object, "spec", "template")
	if before != nil {
		if template := content.MapAt(before, "spec", "template"); template != nil {
			_ = unstructured.SetNestedMap(written.Object, template, "spec", "template")
		}
	}
	return written
}

// drifter changes a copy of a mirror to match the plan.
type drifter struct {
	planned, before, mirror, desired *unstructured.Unstructured
	deferred, immutable, foreign     sets.Set[string]
}

// put sets a field of the copy; nil removes it.
func (d *drifter) put(value any, path ...string) {
	if value == nil {
		unstructured.RemoveNestedField(d.desired.Object, path...)
		return
	}
	// SetNestedField cannot fail: servers and New ensure that all parents are objects.
	_ = unstructured.SetNestedField(d.desired.Object, value, path...)
}

// metadata compares labels and annotations. It ignores the worker's own labels, by which a mirror
// finds its Pods, and never removes our marks.
func (d *drifter) metadata(isWorkers func(field, key string) bool) {
	for _, field := range []string{"labels", "annotations"} {
		path := []string{"metadata", field}
		planned := without(content.MapAt(d.planned, path...), func(key string) bool { return isWorkers(field, key) })
		before := without(content.MapAt(d.before, path...), func(key string) bool { return isWorkers(field, key) || object.InDomain(key, object.OurDomain) })
		now := content.At(d.mirror, path...)
		if to := mergeMaps(planned, before, now); !content.IsSame(now, to) {
			d.put(to, path...)
		}
	}
}

func (d *drifter) result() Drift {
	result := Drift{Deferred: listOf(d.deferred), Immutable: listOf(d.immutable), Foreign: listOf(d.foreign)}
	if patch := content.MergePatch(d.mirror.Object, d.desired.Object); len(patch) > 0 {
		result.Patch = patch
		result.Fields = changedFields("", d.mirror.Object, d.desired.Object)
	}
	return result
}

func listOf(s sets.Set[string]) []string {
	if len(s) == 0 {
		return nil
	}
	return sets.List(s)
}
