package dispatch

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
)

// anyWorkload is the workload of all kinds but Job: their status is copied as it is
// (kueue: pkg/controller/admissionchecks/multikueue/externalframeworks/adapter.go
// does the same), and of the spec only what holds the object back.
type anyWorkload struct{ kind delegation.Kind }

// stopped leaves nothing of the status: the origin is as it was before it had a
// mirror.
func (w anyWorkload) stopped(*unstructured.Unstructured) (any, error) { return nil, nil }

func (w anyWorkload) failed(origin *unstructured.Unstructured, reason, message string, now time.Time) (any, error) {
	s := &signer{object: origin.DeepCopy(), reason: reason, message: message, now: now}
	if !s.fail(w.kind) {
		return nil, nil
	}
	return mergeStatus(origin, s.object), nil
}

func (w anyWorkload) copier(int) copier { return &anyCopier{kind: w.kind} }

// anyCopier copies the whole status.
type anyCopier struct {
	kind delegation.Kind
	// rest is what a write has left of the difference between the two statuses; nil if
	// nothing.
	rest *rest
}

// rest are the statuses of a mirror and its origin between which there is a
// difference that no write removes.
type rest struct{ from, to any }

func (c *anyCopier) copied(origin, mirror *unstructured.Unstructured, _ bool) (copied, error) {
	from, to := content.At(mirror, "status"), content.At(origin, "status")
	if agree(from, to) || c.rest != nil && agree(from, c.rest.from) && agree(to, c.rest.to) {
		return copied{}, nil
	}
	return copied{status: mergeStatus(origin, mirror), ends: object.EndOf(c.kind, mirror) != nil}, nil
}

// refused never has another status to offer.
func (c *anyCopier) refused() bool { return false }

// wrote finds what the origin's API server does not know, and what it adds.
func (c *anyCopier) wrote(mirror, stored *unstructured.Unstructured) string {
	from, to := content.At(mirror, "status"), content.At(stored, "status")
	if agree(from, to) {
		c.rest = nil
		return ""
	}
	c.rest = &rest{from, to}
	paths := content.LostIn("status", from, to)
	if len(paths) == 0 {
		return ""
	}
	names := make([]string, len(paths))
	for i, p := range paths {
		names[i] = p.Path
	}
	return fmt.Sprintf("the origin's API server does not know %s, which the mirror has; the rest of its status is copied", strings.Join(names, ", "))
}

// mergeStatus is the merge patch of the status that makes that of one object the
// other's.
func mergeStatus(from, to *unstructured.Unstructured) any {
	return content.MergePatch(content.MapAt(from, "status"), content.MapAt(to, "status"))
}

// agree says whether two values mean the same. A null is as good as nothing, and a
// merge patch cannot tell them apart.
func agree(a, b any) bool {
	x, isMap := a.(map[string]any)
	y, bothMaps := b.(map[string]any)
	l, isList := a.([]any)
	m, bothLists := b.([]any)
	switch {
	case isMap && (bothMaps || b == nil), a == nil && bothMaps:
		for key, value := range x {
			if !agree(value, y[key]) {
				return false
			}
		}
		for key, value := range y {
			if _, seen := x[key]; !seen && !agree(nil, value) {
				return false
			}
		}
		return true
	case isList && bothLists:
		if len(l) != len(m) {
			return false
		}
		for i := range l {
			if !agree(l[i], m[i]) {
				return false
			}
		}
		return true
	}
	return content.IsSame(a, b)
}
