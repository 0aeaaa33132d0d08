package delegation

import (
	"slices"
	"strconv"
	"strings"
)

// Reading defines how a kind's spec and status show the state of an object.
type Reading struct {
	// Held are the signs in the spec that suspend the object.
	Held []Sign
	// Complete, Failed, Suspended and Running are the signs of these states. Any one of them is
	// enough.
	Complete, Failed, Suspended, Running []Sign
	// Start and End are the paths of the start and end times; nil if the status has none.
	Start, End []string
	// Strict is whether an object without any of the signs has an unknown state. Otherwise it is
	// in a state before all of them.
	Strict bool
	// Silent is set if versions of the kind's controller write no status while an object runs, so
	// that an unwritten status proves nothing. It is the name of the kind that the controller
	// creates, which shows the state instead; "" for all others.
	Silent string
}

// Sign is something in an object that shows a state: a condition, or a field with one of some
// values.
type Sign struct {
	// Condition is the type of a condition in the status; "" if Path is set.
	Condition string
	// Is is the condition's status; "" means True.
	Is string
	// Reasons are the accepted reasons of the condition. None means any.
	Reasons []string
	// Path is the path of a field. It passes through lists, where any item is enough.
	Path []string
	// In are the accepted values, as text. None means any number greater than zero.
	In []string
	// With are signs that have to show, too. Unless are signs that must not show.
	With, Unless []Sign
}

// shows reports whether any of the signs shows.
func shows(signs []Sign, s State) bool {
	return slices.ContainsFunc(signs, func(sign Sign) bool { return sign.shows(s) })
}

func (g Sign) shows(s State) bool {
	if !g.isSeen(s) || shows(g.Unless, s) {
		return false
	}
	return !slices.ContainsFunc(g.With, func(with Sign) bool { return !with.shows(s) })
}

func (g Sign) isSeen(s State) bool {
	if g.Condition != "" {
		c, ok := s.condition(g.Condition, g.Is)
		return ok && (len(g.Reasons) == 0 || slices.Contains(g.Reasons, c.Reason))
	}
	return slices.ContainsFunc(At(s.Content, g.Path...), func(value any) bool {
		if len(g.In) == 0 {
			n, ok := number(value)
			return ok && n > 0
		}
		return slices.Contains(g.In, text(value))
	})
}

// Hold returns the field that suspends an object of the kind, with its value, and the value that
// resumes the object, nil for none. The path is nil if there is no such field.
func (k Kind) Hold() (path []string, held, resumed any) {
	for _, sign := range k.Reading.Held {
		if len(sign.Path) < 2 || sign.Path[0] != "spec" || len(sign.In) == 0 {
			continue
		}
		if sign.In[0] == "true" {
			return sign.Path, true, false
		}
		return sign.Path, sign.In[0], nil
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

// condition returns the sign of a condition that is True.
func condition(conditionType string) Sign { return Sign{Condition: conditionType} }

// field returns the sign of a field, by its path with dots, that has one of some values.
func field(path string, in ...string) Sign { return Sign{Path: strings.Split(path, "."), In: in} }
