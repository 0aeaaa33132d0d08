package dispatch

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
)

// signer writes signs of a state into the status of an object, as its kind's row in
// the table has them.
type signer struct {
	object          *unstructured.Unstructured
	reason, message string
	now             time.Time
}

// fail has the object show that it has failed, and runs no more. It says whether
// that is so now, and was not before: a kind may have no sign of failure, or only
// one in a field that a status cannot have.
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

// isStatus says whether a path leads into the status, which is all that can be
// written with it.
func isStatus(path []string) bool { return len(path) > 1 && path[0] == "status" }

// show has a sign be seen.
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

// hide has a sign not be seen any more.
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
		// What was done stays done.
	case len(sign.In) == 0:
		empty(s.object.Object, sign.Path)
	case slices.Contains(sign.In, content.StringAt(s.object, sign.Path...)):
		unstructured.RemoveNestedField(s.object.Object, sign.Path...)
	}
}

// empty sets the numbers to which a path leads to 0, in all items of lists on the
// way.
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

// condition puts a condition into the status, in the place of the one of its type.
func (s *signer) condition(conditionType, is string) {
	conditions, _ := content.At(s.object, "status", "conditions").([]any)
	i := slices.IndexFunc(conditions, func(c any) bool { return delegation.TextAt(c, "type") == conditionType })
	if i < 0 {
		conditions = append(conditions, map[string]any{"type": conditionType})
		i = len(conditions) - 1
	}
	if c, ok := conditions[i].(map[string]any); ok && c["status"] != is {
		// What a kind's conditions have beside this is theirs, and its schema may ask
		// for it.
		c["status"], c["reason"], c["message"], c["lastTransitionTime"] = is, s.reason, s.message, s.stamp()
	}
	s.set(conditions, "status", "conditions")
}

func (s *signer) stamp() string { return s.now.UTC().Format(time.RFC3339) }

// set sets a field of the status. What is in the way of it and no object is not a
// status that the kind's controller has written.
func (s *signer) set(value any, path ...string) {
	if err := unstructured.SetNestedField(s.object.Object, value, path...); err != nil {
		unstructured.RemoveNestedField(s.object.Object, path[0])
		_ = unstructured.SetNestedField(s.object.Object, value, path...)
	}
}
