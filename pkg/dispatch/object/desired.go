package object

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// Desired identifies a version of an object without its status. The generation counts changes of
// the spec.
type Desired struct {
	uid                 types.UID
	generation          int64
	labels, annotations map[string]string
}

// DesiredOf returns the Desired of an object.
func DesiredOf(o *unstructured.Unstructured) Desired {
	return Desired{uid: o.GetUID(), generation: o.GetGeneration(), labels: o.GetLabels(), annotations: o.GetAnnotations()}
}

// IsOf reports whether an object has the same spec, labels and annotations.
func (d Desired) IsOf(o *unstructured.Unstructured) bool {
	return d.uid == o.GetUID() && d.generation == o.GetGeneration() &&
		maps.Equal(d.labels, o.GetLabels()) && equalButMark(d.annotations, o.GetAnnotations())
}

// equalButMark reports whether annotations are equal, apart from our own mirror annotation.
func equalButMark(a, b map[string]string) bool {
	const mark = delegation.MirrorAnnotation
	_, inA := a[mark]
	_, inB := b[mark]
	if inA == inB && a[mark] == b[mark] {
		return maps.Equal(a, b)
	}
	a, b = maps.Clone(a), maps.Clone(b)
	delete(a, mark)
	delete(b, mark)
	return maps.Equal(a, b)
}
