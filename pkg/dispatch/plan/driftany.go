package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
)

// driftOfAny copies labels, annotations and the field that suspends the object. Other changes
// since the last write are only reported: the kind's controller might refuse a change while the
// object runs, or ignore it.
func driftOfAny(k delegation.Kind, planned, before, mirror *unstructured.Unstructured) Drift {
	known := before != nil
	if !known {
		before = &unstructured.Unstructured{}
	}
	d := &drifter{planned: planned, before: before, mirror: mirror, desired: mirror.DeepCopy(), foreign: sets.New[string]()}
	d.metadata(func(_, _ string) bool { return false })
	isQueued := content.StringsAt(mirror, "metadata", "labels")[delegation.QueueNameLabel] != ""
	for _, path := range object.Holds(k) {
		to, differs := suspendValue(k, planned, mirror, path)
		switch {
		case !differs:
		case isQueued:
			d.foreign.Insert(content.Dotted(path))
		default:
			d.put(to, path...)
		}
	}
	result := d.result()
	if known {
		result.Unshared = unshared(k, planned, before)
	}
	return result
}

// suspendValue returns the wanted value of a field that can suspend an object, nil for none, and
// whether the mirror differs. A missing value equals false. A value that only the mirror has, and
// that does not suspend it, belongs to the worker.
func suspendValue(k delegation.Kind, planned, mirror *unstructured.Unstructured, path []string) (to any, differs bool) {
	to, now := content.At(planned, path...), content.At(mirror, path...)
	isUnset := func(value any) bool { return value == nil || value == false || value == "" }
	switch {
	case isUnset(to) && isUnset(now):
		return to, false
	case isUnset(to):
		alone := map[string]any{}
		_ = unstructured.SetNestedField(alone, now, path...)
		return to, k.StateOf(alone, true).Suspend
	}
	return to, !equality.Semantic.DeepEqual(to, now)
}

// unshared returns the fields of the spec that differ between two plans of one mirror and are not
// copied.
func unshared(k delegation.Kind, planned, before *unstructured.Unstructured) []string {
	now, then := planned.DeepCopy(), before.DeepCopy()
	for _, path := range object.Holds(k) {
		unstructured.RemoveNestedField(now.Object, path...)
		unstructured.RemoveNestedField(then.Object, path...)
	}
	fields := changedFields("spec", content.At(then, "spec"), content.At(now, "spec"))
	slices.Sort(fields)
	return fields
}
