package dispatch

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
)

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
