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

// driftOfAny carries over labels and annotations, and what holds the object back. What
// else the user has changed since the mirror was written last is only told of: a
// field that a kind's controller does not take while it runs would be refused, or
// taken without any effect.
func driftOfAny(k delegation.Kind, planned, before, mirror *unstructured.Unstructured) Drift {
	known := before != nil
	if !known {
		before = &unstructured.Unstructured{}
	}
	d := &drifter{planned: planned, before: before, mirror: mirror, desired: mirror.DeepCopy(), foreign: sets.New[string]()}
	d.metadata(func(_, _ string) bool { return false })
	isQueued := content.StringsAt(mirror, "metadata", "labels")[delegation.QueueNameLabel] != ""
	for _, path := range object.Holds(k) {
		to, differs := heldAs(k, planned, mirror, path)
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

// heldAs says what a field that can hold an object back is to be on the mirror, nil
// for nothing, and whether it is something else there. No value is as good as a
// false one. What is only on the mirror, and does not hold it back, is the worker's.
func heldAs(k delegation.Kind, planned, mirror *unstructured.Unstructured, path []string) (to any, differs bool) {
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

// unshared are the fields of the spec that differ between two plans of one mirror
// and are not carried over.
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
