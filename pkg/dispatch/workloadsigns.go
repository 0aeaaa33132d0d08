package dispatch

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
)

// signer writes signs of a state into the status of an object, as listed in its kind's table row.
type signer struct {
	object          *unstructured.Unstructured
	reason, message string
	now             time.Time
}

// fail makes the object show that it has failed and no longer runs. It reports whether this
// changed the object's status to failed. A kind may have no sign of failure, or only one outside
// the status.
func (s *signer) fail(k delegation.Kind) bool {
	if len(k.Reading.Failed) == 0 || object.StatusOf(k, s.object) == delegation.Failed {
		return false
	}
	for _, sign := range k.Reading.Running {
		s.hide(sign)
	}
	s.show(k.Reading.Failed[0])
	if isStatus(k.Reading.End) && k.Ended(object.StateOf(k, s.object)).IsZero() {
		s.set(s.stamp(), k.Reading.End...)
	}
	return object.StatusOf(k, s.object) == delegation.Failed
}

// isStatus reports whether a path is inside the status, the only part that the signer can write.
func isStatus(path []string) bool { return len(path) > 1 && path[0] == "status" }

// show adds a sign.
func (s *signer) show(sign delegation.Sign) {
	switch {
	case sign.Condition != "":
		is := sign.Is
		if is == "" {
			is = "True"
		}
		s.condition(sign.Condition, is)
	case isStatus(sign.Path) && len(sign.In) > 0:
		s.set(sign.In[0], sign.Path...)
		s.set(s.reason, "status", "reason")
		s.set(s.message, "status", "message")
	}
	for _, with := range sign.With {
		s.show(with)
	}
	for _, unless := range sign.Unless {
		s.hide(unless)
	}
}

// hide removes a sign.
func (s *signer) hide(sign delegation.Sign) {
	switch {
	case sign.Condition != "":
		conditions := content.Objects(content.At(s.object, "status", "conditions"))
		if slices.ContainsFunc(conditions, func(c map[string]any) bool { return c["type"] == sign.Condition }) {
			is := "False"
			if sign.Is == is {
				is = "Unknown"
			}
			s.condition(sign.Condition, is)
		}
	case !isStatus(sign.Path), sign.Path[len(sign.Path)-1] == "succeeded":
		// Signs of finished work remain.
	case len(sign.In) == 0:
		empty(s.object.Object, sign.Path)
	case slices.Contains(sign.In, content.StringAt(s.object, sign.Path...)):
		unstructured.RemoveNestedField(s.object.Object, sign.Path...)
	}
}

// empty sets the numbers at a path to 0, in all items of the lists on that path.
func empty(value any, path []string) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			empty(item, path)
		}
	case map[string]any:
		inner, there := v[path[0]]
		switch {
		case !there:
		case len(path) > 1:
			empty(inner, path[1:])
		default:
			v[path[0]] = int64(0)
		}
	}
}

// condition sets a condition, and replaces one of the same type.
func (s *signer) condition(conditionType, is string) {
	conditions, _ := content.At(s.object, "status", "conditions").([]any)
	i := slices.IndexFunc(conditions, func(c any) bool { return delegation.TextAt(c, "type") == conditionType })
	if i < 0 {
		conditions = append(conditions, map[string]any{"type": conditionType})
		i = len(conditions) - 1
	}
	if c, ok := conditions[i].(map[string]any); ok && c["status"] != is {
		// Other fields of the condition remain: the kind's schema may require them.
		c["status"], c["reason"], c["message"], c["lastTransitionTime"] = is, s.reason, s.message, s.stamp()
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
