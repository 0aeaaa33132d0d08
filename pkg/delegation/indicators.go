package delegation

import (
	"slices"
	"strconv"
	"strings"
)

// Indicators lists where a kind's spec and status show the state of an object.
type Indicators struct {
	// Suspend are the indicators in the spec that suspend the object.
	Suspend []Indicator
	// Complete, Failed, Suspended and Running are the indicators of these states. Any one of
	// them is enough.
	Complete, Failed, Suspended, Running []Indicator
	// Invalid are the indicators of an object that its controller does not start until its spec is valid.
	Invalid []Indicator
	// Explanation is what explains a state, besides the conditions that show it.
	Explanation Explanation
	// Restarts is where the status shows restarts of the whole object.
	Restarts RestartFields
	// Start and End are the paths of the start and end times; nil if the status has none.
	Start, End []string
	// Strict is whether an object without any of the indicators has an unknown state. Otherwise
	// its controller has not started it yet.
	Strict bool
	// ChildKind is the kind that the controller creates for an object, and that shows the
	// object's state instead. It is set only for kinds whose controller, in some versions,
	// writes no status while an object runs: there an unwritten status proves nothing.
	ChildKind string
}

// Indicator is a condition or a field of an object that shows a state.
type Indicator struct {
	// Condition is the type of a condition in the status; "" if Path is set.
	Condition string
	// ConditionStatus is the condition's status; "" means True.
	ConditionStatus string
	// Reasons are the accepted reasons of the condition. None means any.
	Reasons []string
	// Path is the path of a field. It passes through lists, where any item is enough.
	Path []string
	// Values are the accepted values, as text. None means any number greater than zero.
	Values []string
	// AllOf are other indicators that must show, too. NoneOf are indicators that must not show.
	AllOf, NoneOf []Indicator
}

// shows reports whether any of the indicators shows.
func shows(indicators []Indicator, s State) bool {
	return slices.ContainsFunc(indicators, func(indicator Indicator) bool { return indicator.shows(s) })
}

func (g Indicator) shows(s State) bool {
	if !g.matches(s) || shows(g.NoneOf, s) {
		return false
	}
	return !slices.ContainsFunc(g.AllOf, func(required Indicator) bool { return !required.shows(s) })
}

// matches reports whether the condition or the field itself shows, without AllOf and NoneOf.
func (g Indicator) matches(s State) bool {
	if g.Condition != "" {
		c, ok := s.condition(g.Condition, g.ConditionStatus)
		return ok && (len(g.Reasons) == 0 || slices.Contains(g.Reasons, c.Reason))
	}
	return slices.ContainsFunc(At(s.Content, g.Path...), func(value any) bool {
		if len(g.Values) == 0 {
			n, ok := number(value)
			return ok && n > 0
		}
		return slices.Contains(g.Values, text(value))
	})
}

// Hold returns the field that suspends an object of the kind, with its value, and the value that
// resumes the object, nil for none. The path is nil if there is no such field.
func (k Kind) Hold() (path []string, held, resumed any) {
	for _, indicator := range k.Indicators.Suspend {
		if len(indicator.Path) < 2 || indicator.Path[0] != "spec" || len(indicator.Values) == 0 {
			continue
		}
		if indicator.Values[0] == "true" {
			return indicator.Path, true, false
		}
		return indicator.Path, indicator.Values[0], nil
	}
	return nil, nil, nil
}

// At returns the values at a path in an object's content, including those of all items of lists.
func At(content any, path ...string) []any {
	switch value := content.(type) {
	case nil:
		return nil
	case []any:
		var all []any
		for _, item := range value {
			all = append(all, At(item, path...)...)
		}
		return all
	case map[string]any:
		if len(path) > 0 {
			return At(value[path[0]], path[1:]...)
		}
	}
	if len(path) > 0 {
		return nil
	}
	return []any{content}
}

// TextAt returns the text at a path, or "".
func TextAt(content any, path ...string) string {
	if len(path) == 0 {
		return ""
	}
	for _, value := range At(content, path...) {
		if s, ok := value.(string); ok {
			return s
		}
	}
	return ""
}

func number(value any) (float64, bool) {
	switch n := value.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}

func text(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// condition returns the indicator of a condition that is True.
func condition(conditionType string) Indicator { return Indicator{Condition: conditionType} }

// field returns the indicator of a field, by its path with dots, that has one of some values.
func field(path string, values ...string) Indicator {
	return Indicator{Path: strings.Split(path, "."), Values: values}
}

// NeverEnds reports whether objects of a kind run until they are deleted. They may fail and
// recover.
func (k Kind) NeverEnds() bool { return len(k.Indicators.Complete) == 0 }
