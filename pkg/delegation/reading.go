package delegation

import (
	"slices"
	"strconv"
	"strings"
)

// Reading says how a kind's spec and status tell the state of an object.
type Reading struct {
	// Held is what in the spec holds the object back.
	Held []Sign
	// Complete, Failed, Suspended and Running are what shows these states; any one
	// of the signs is enough.
	Complete, Failed, Suspended, Running []Sign
	// Start and End are the paths of the times at which it started and ended; nil
	// where the status has none.
	Start, End []string
	// Strict says that a state which none of the signs shows is not known, instead
	// of one that comes before all of them.
	Strict bool
	// Silent is of kinds with versions of their controller that write no status while an
	// object runs, so that from a status that nobody wrote nothing follows: the name of
	// the kind that the controller makes of it, which tells; "" for all others.
	Silent string
}

// Sign is something in an object that shows a state: a condition, or a field with
// one of some values.
type Sign struct {
	// Condition is the type of a condition of the status; "" where Path is looked at.
	Condition string
	// Is is the condition's status; "" means True.
	Is string
	// Path leads to a field. Lists on the way are gone through, and any of their
	// items is enough.
	Path []string
	// In are the values that the field may have, as text. None means any number
	// greater than zero.
	In []string
	// With are signs that have to show too, and Unless some that must not.
	With, Unless []Sign
}

// shows says whether any of the signs is to be seen.
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
		_, ok := s.condition(g.Condition, g.Is)
		return ok
	}
	return slices.ContainsFunc(At(s.Content, g.Path...), func(value any) bool {
		if len(g.In) == 0 {
			n, ok := number(value)
			return ok && n > 0
		}
		return slices.Contains(g.In, text(value))
	})
}

// At returns the values to which a path leads in an object's content, those in
// lists on the way one by one.
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

// TextAt returns the text to which a path leads, "" if there is none.
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

// condition is a sign of a condition that is True.
func condition(conditionType string) Sign { return Sign{Condition: conditionType} }

// field is a sign of a field, by its path with dots, that has one of some values.
func field(path string, in ...string) Sign { return Sign{Path: strings.Split(path, "."), In: in} }
