package delegation

import (
	"slices"
	"strings"
)

// Explanation lists what explains a state of an object, besides the conditions that show the state.
type Explanation struct {
	// Conditions explain why an object failed or restarts, if fields show that.
	Conditions []Indicator
	// Reason and Message are the paths of fields that explain the present state; nil if the status has none.
	Reason, Message []string
}

// Failure returns why an object has failed: a reason, and a message after a colon. It is "" if the object
// has not failed, or does not say why.
func (k Kind) Failure(s State) string {
	if !shows(k.Indicators.Failed, s) {
		return ""
	}
	return k.explain(s, k.Indicators.Failed)
}

// Invalid returns why the spec of an object is invalid, according to its controller. ok is false if the
// controller does not say that it is.
func (k Kind) Invalid(s State) (why string, ok bool) {
	if !shows(k.Indicators.Invalid, s) {
		return "", false
	}
	return brief(TextAt(s.Content, k.Indicators.Explanation.Message...)), true
}

// explain returns the reason and the message of a state that indicators show: those of the first condition that has
// any, otherwise those of the fields.
func (k Kind) explain(s State, indicators []Indicator) string {
	by := k.Indicators.Explanation
	for _, i := range slices.Concat(indicators, by.Conditions) {
		if i.Condition == "" || !i.shows(s) {
			continue
		}
		if c, _ := s.condition(i.Condition, i.ConditionStatus); c.Reason != "" || c.Message != "" {
			return reasonAndMessage(c.Reason, c.Message)
		}
	}
	return reasonAndMessage(TextAt(s.Content, by.Reason...), TextAt(s.Content, by.Message...))
}

func reasonAndMessage(reason, message string) string {
	message = brief(message)
	if reason == "" || message == "" {
		return reason + message
	}
	return reason + ": " + message
}

// brief returns a message in one line: the first line of several and, if that announces a log, the log's last line.
func brief(message string) string {
	lines := strings.FieldsFunc(message, func(r rune) bool { return r == '\n' || r == '\r' })
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.TrimSpace(line) == "" })
	if len(lines) == 0 {
		return ""
	}
	first, last := strings.TrimSpace(lines[0]), strings.TrimSpace(lines[len(lines)-1])
	switch {
	case len(lines) == 1:
		return first
	case strings.HasSuffix(first, ":"):
		return first + " " + last
	}
	return first + " …"
}
