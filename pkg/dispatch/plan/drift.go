package plan

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
)

// Drift is what has to be written to a mirror so that it is what its plan says.
type Drift struct {
	// Patch is a JSON merge patch without uid and resourceVersion; nil if there
	// is nothing to write.
	Patch map[string]any
	// Fields are the paths that it changes with their new values, such as
	// "spec.parallelism=4", sorted. What is removed is null; what is long is cut.
	Fields []string
	// Deferred are fields that differ, but cannot be changed as the mirror is now
	// (job-api D4: parts of the pod template while pods run), and Immutable those
	// that can never be. Immutable knows what the Job API of Kubernetes 1.37 lets
	// change; a field of later versions counts as immutable.
	Deferred, Immutable []string
	// Foreign are fields that differ, and that somebody else on the worker decides
	// on: spec.suspend of a mirror in a queue is Kueue's.
	Foreign []string
	// Unshared are fields that the user has changed on the origin, and that nobody
	// carries over: those of kinds of which it is not known what may change.
	Unshared []string
}

// DriftOf compares a mirror of a kind with the one that was planned. planned is what New
// made of the origin as it is now; before is what it made of it when the mirror was
// last written to by this process, nil if it was not: labels and annotations that
// before has and planned has not are taken off the mirror, all others that only
// the mirror has are somebody else's and stay. The same holds for what is kept by
// name or in a set in the pod template: its labels and annotations, nodeSelector,
// tolerations, schedulingGates, and the resources of containers.
//
// A field that planned has not is left to the worker's defaults, and one that the
// mirror has not while servers always fill it in is unknown to the worker; neither
// is drift.
//
// One write may not be enough: after it, compare again. The number of completions
// changes only together with an equal parallelism, which is put right after that;
// and where the pod template has to change before the pods start, a mirror that is
// suspended is not resumed as long as the template is Deferred. Written tells what
// before is from then on.
//
// All of that is about a Job, of which the API server knows what may change. Of other
// kinds only labels, annotations and what holds the object back are carried over.
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

// WithoutTemplate is the drift without what it changes in the pod template, which
// is then deferred. Servers before Kubernetes 1.36 let a template change only as
// long as the Job has never started, and its containers' resources never, which a
// mirror does not tell: this is what is left to write where they refuse the whole.
// A mirror that it resumes starts from the template that it has.
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

// Written is the next comparison's before, once Patch was written or there was none
// to write: what was planned, but of a pod template that is Deferred what was
// before, so that what has to be removed from it is not forgotten. Neither planned
// nor before is changed; before may be nil.
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

// drifter changes a copy of a mirror into what it is to be.
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
	// The paths are those of objects on both sides: a server stores nothing else,
	// and New takes nothing else.
	_ = unstructured.SetNestedField(d.desired.Object, value, path...)
}

// metadata is about labels and annotations. Those by which a mirror finds its pods
// are the worker's, and our marks are never taken off.
func (d *drifter) metadata(isWorkers func(field, key string) bool) {
	for _, field := range []string{"labels", "annotations"} {
		path := []string{"metadata", field}
		planned := without(content.MapAt(d.planned, path...), func(key string) bool { return isWorkers(field, key) })
		before := without(content.MapAt(d.before, path...), func(key string) bool { return isWorkers(field, key) || object.InDomain(key, object.OurDomain) })
		now := content.At(d.mirror, path...)
		if to := merged(planned, before, now); !content.IsSame(now, to) {
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
