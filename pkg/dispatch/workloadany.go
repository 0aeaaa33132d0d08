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

// anyWorkload is the workload of all kinds except Job. It copies their status unchanged (as
// kueue: pkg/controller/admissionchecks/multikueue/externalframeworks/adapter.go does). Of their
// spec, only the field that suspends the object is written to the mirror.
type anyWorkload struct{ kind delegation.Kind }

// stoppedStatus clears the status: the origin is as it was without a mirror.
func (w anyWorkload) stoppedStatus(*unstructured.Unstructured) (any, error) { return nil, nil }

func (w anyWorkload) failedStatus(origin *unstructured.Unstructured, reason, message string, now time.Time) (any, error) {
	s := &signer{object: origin.DeepCopy(), reason: reason, message: message, now: now}
	if !s.fail(w.kind) {
		return nil, nil
	}
	return mergeStatus(origin, s.object), nil
}

func (w anyWorkload) newCopier(int) copier { return &anyCopier{kind: w.kind} }

// anyCopier copies the whole status.
type anyCopier struct {
	kind delegation.Kind
	// remaining is the difference that the last write has left; nil if there is none.
	remaining *difference
}

// difference has the statuses of a mirror and its origin whose difference no write can remove.
type difference struct{ mirror, origin any }

func (c *anyCopier) statusFor(origin, mirror *unstructured.Unstructured, _ bool) (copyResult, error) {
	from, to := content.At(mirror, "status"), content.At(origin, "status")
	if equivalent(from, to) || c.remaining != nil && equivalent(from, c.remaining.mirror) && equivalent(to, c.remaining.origin) {
		return copyResult{}, nil
	}
	return copyResult{status: mergeStatus(origin, mirror), ends: object.EndOf(c.kind, mirror) != nil}, nil
}

// onRefused returns false: there is no alternative status.
func (c *anyCopier) onRefused() bool { return false }

// onStored finds the fields that the origin's API server dropped or added.
func (c *anyCopier) onStored(mirror, stored *unstructured.Unstructured) string {
	from, to := content.At(mirror, "status"), content.At(stored, "status")
	if equivalent(from, to) {
		c.remaining = nil
		return ""
	}
	c.remaining = &difference{from, to}
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

// mergeStatus returns the merge patch that turns the status of from into that of to.
func mergeStatus(from, to *unstructured.Unstructured) any {
	return content.MergePatch(content.MapAt(from, "status"), content.MapAt(to, "status"))
}

// equivalent reports whether two values are equivalent. Null equals a missing value, because
// merge patches cannot distinguish them.
func equivalent(a, b any) bool {
	x, isMap := a.(map[string]any)
	y, bothMaps := b.(map[string]any)
	l, isList := a.([]any)
	m, bothLists := b.([]any)
	switch {
	case isMap && (bothMaps || b == nil), a == nil && bothMaps:
		for key, value := range x {
			if !equivalent(value, y[key]) {
				return false
			}
		}
		for key, value := range y {
			if _, known := x[key]; !known && !equivalent(nil, value) {
				return false
			}
		}
		return true
	case isList && bothLists:
		if len(l) != len(m) {
			return false
		}
		for i := range l {
			if !equivalent(l[i], m[i]) {
				return false
			}
		}
		return true
	}
	return content.IsSame(a, b)
}
