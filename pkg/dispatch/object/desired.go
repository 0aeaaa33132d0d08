package object

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// Desired is what tells two states of an object apart by all but their status: a
// generation counts changes of the spec.
type Desired struct {
	uid                 types.UID
	generation          int64
	labels, annotations map[string]string
}

// DesiredOf is that of an object.
func DesiredOf(o *unstructured.Unstructured) Desired {
	return Desired{uid: o.GetUID(), generation: o.GetGeneration(), labels: o.GetLabels(), annotations: o.GetAnnotations()}
}

// IsOf says whether an object asks for the same.
func (d Desired) IsOf(o *unstructured.Unstructured) bool {
	return d.uid == o.GetUID() && d.generation == o.GetGeneration() &&
		maps.Equal(d.labels, o.GetLabels()) && equalButMark(d.annotations, o.GetAnnotations())
}

// equalButMark says whether annotations are the same but for the mark that we put there
// ourselves, which asks for nothing.
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
