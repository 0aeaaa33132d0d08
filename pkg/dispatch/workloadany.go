package dispatch

import (
	"fmt"
	"slices"
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

// difference has the statuses of a mirror and its origin whose difference no write can remove. lost is
// the sentence about the fields that the origin lacks, if any.
type difference struct {
	mirror, origin any
	lost           []string
}

func (c *anyCopier) statusFor(origin, mirror *unstructured.Unstructured, _ bool) (copyResult, error) {
	from, to := content.At(mirror, "status"), content.At(origin, "status")
	switch {
	case equivalent(from, to):
		return copyResult{}, nil
	case c.remaining != nil && equivalent(from, c.remaining.mirror) && equivalent(to, c.remaining.origin):
		return copyResult{diverged: c.remaining.lost}, nil
	}
	return copyResult{status: mergeStatus(origin, mirror), ended: endedWith(c.kind, origin, from)}, nil
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
	c.remaining = &difference{mirror: from, origin: to}
	paths := content.LostIn("status", from, to)
	if len(paths) == 0 {
		return ""
	}
	names := make([]string, len(paths))
	for i, p := range paths {
		names[i] = p.Path
	}
	lost := fmt.Sprintf("the origin's API server does not know %s, which the mirror has; the rest of its status is copied", strings.Join(names, ", "))
	c.remaining.lost = []string{lost}
	return lost
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

// signer writes indicators of a state, as listed in the kind's row, into an object's status.
type signer struct {
	object          *unstructured.Unstructured
	reason, message string
	now             time.Time
}

// fail makes the object show that it has failed and no longer runs. It reports whether this
// changed the object's status to failed. A kind may have no indicator of failure, or only one outside
// the status.
func (s *signer) fail(k delegation.Kind) bool {
	if len(k.Indicators.Failed) == 0 || object.StatusOf(k, s.object) == delegation.Failed {
		return false
	}
	for _, indicator := range k.Indicators.Running {
		s.hide(indicator)
	}
	s.show(k.Indicators.Failed[0])
	if isStatus(k.Indicators.End) && k.Ended(object.StateOf(k, s.object)).IsZero() {
		s.set(s.stamp(), k.Indicators.End...)
	}
	return object.StatusOf(k, s.object) == delegation.Failed
}

// isStatus reports whether a path is inside the status, the only part that the signer can write.
func isStatus(path []string) bool { return len(path) > 1 && path[0] == "status" }

// show adds an indicator.
func (s *signer) show(indicator delegation.Indicator) {
	switch {
	case indicator.Condition != "":
		status := indicator.ConditionStatus
		if status == "" {
			status = "True"
		}
		s.condition(indicator.Condition, status)
	case isStatus(indicator.Path) && len(indicator.Values) > 0:
		s.set(indicator.Values[0], indicator.Path...)
		s.set(s.reason, "status", "reason")
		s.set(s.message, "status", "message")
	}
	for _, required := range indicator.AllOf {
		s.show(required)
	}
	for _, excluded := range indicator.NoneOf {
		s.hide(excluded)
	}
}

// hide removes an indicator.
func (s *signer) hide(indicator delegation.Indicator) {
	switch {
	case indicator.Condition != "":
		conditions := content.Objects(content.At(s.object, "status", "conditions"))
		if slices.ContainsFunc(conditions, func(c map[string]any) bool { return c["type"] == indicator.Condition }) {
			status := "False"
			if indicator.ConditionStatus == status {
				status = "Unknown"
			}
			s.condition(indicator.Condition, status)
		}
	case !isStatus(indicator.Path), indicator.Path[len(indicator.Path)-1] == "succeeded":
		// Indicators of finished work remain.
	case len(indicator.Values) == 0:
		zeroNumbers(s.object.Object, indicator.Path)
	case slices.Contains(indicator.Values, content.StringAt(s.object, indicator.Path...)):
		unstructured.RemoveNestedField(s.object.Object, indicator.Path...)
	}
}

// zeroNumbers sets the numbers at a path to 0, in all items of the lists on that path.
func zeroNumbers(value any, path []string) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			zeroNumbers(item, path)
		}
	case map[string]any:
		inner, exists := v[path[0]]
		switch {
		case !exists:
		case len(path) > 1:
			zeroNumbers(inner, path[1:])
		default:
			v[path[0]] = int64(0)
		}
	}
}

// condition sets a condition, and replaces one of the same type.
func (s *signer) condition(conditionType, status string) {
	conditions, _ := content.At(s.object, "status", "conditions").([]any)
	i := slices.IndexFunc(conditions, func(c any) bool { return delegation.TextAt(c, "type") == conditionType })
	if i < 0 {
		conditions = append(conditions, map[string]any{"type": conditionType})
		i = len(conditions) - 1
	}
	if c, ok := conditions[i].(map[string]any); ok && c["status"] != status {
		// Other fields of the condition remain: the kind's schema may require them.
		c["status"], c["reason"], c["message"], c["lastTransitionTime"] = status, s.reason, s.message, s.stamp()
	}
	s.set(conditions, "status", "conditions")
}

func (s *signer) stamp() string { return s.now.UTC().Format(time.RFC3339) }

// set sets a field of the status. If something that is not an object blocks the path, the kind's
// controller did not write that status, so set replaces it.
func (s *signer) set(value any, path ...string) {
	if err := unstructured.SetNestedField(s.object.Object, value, path...); err != nil {
		unstructured.RemoveNestedField(s.object.Object, path[0])
		_ = unstructured.SetNestedField(s.object.Object, value, path...)
	}
}
