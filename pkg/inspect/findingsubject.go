package inspect

import (
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// Subject returns the kind and name of the finding's object; "" if it has no name.
func (f *Finding) Subject() string {
	if f.Name == "" {
		return ""
	}
	return delegation.Named(f.Kind, f.Namespace, f.Name)
}

// Say sets the message. Unless the text names the object or a Job, Say puts the object before it,
// or replaces an "it" at its start, because a message must stand alone in a pager.
func (f *Finding) Say(text string) {
	f.Message = text
	subject := f.Subject()
	if subject == "" || f.names(text) && !strings.HasPrefix(text, "it ") && !strings.HasPrefix(text, "its ") {
		return
	}
	if rest, isOfIt := strings.CutPrefix(text, "it "); isOfIt {
		f.Message = subject + " " + rest
		return
	}
	f.Message = subject + ": " + text
}

// names says whether a text names the object of the finding or one of its Jobs. The object's kind
// must be present, unless it is a Job or cluster-scoped.
func (f *Finding) names(text string) bool {
	name := f.Subject()
	if f.Kind == "Job" {
		name = f.Namespace + "/" + f.Name
	}
	if f.Namespace == "" && containsWord(text, f.Name) {
		return true
	}
	return containsWord(text, name) || slices.ContainsFunc(f.Jobs, func(j Ref) bool { return containsWord(text, j.Namespace+"/"+j.Name) })
}

// Predicate returns the message without the object, for output that shows the object next to it.
func (f *Finding) Predicate() string {
	text, _ := f.cut()
	return text
}

// Clause returns the message with "it" instead of the object, for text that has named the object
// before.
func (f *Finding) Clause() string {
	text, isVerb := f.cut()
	if isVerb {
		return "it " + text
	}
	return text
}

// cut removes the object from the start of the message. isVerb is whether a verb follows, so that
// the text needs a subject.
func (f *Finding) cut() (text string, isVerb bool) {
	subject := f.Subject()
	rest, begins := strings.CutPrefix(f.Message, subject)
	if !begins || subject == "" {
		return f.Message, false
	}
	if text, isLabel := strings.CutPrefix(rest, ": "); isLabel {
		return text, false
	}
	if text, isVerb := strings.CutPrefix(rest, " "); isVerb {
		return text, true
	}
	return f.Message, false
}

// containsWord says whether a text contains a name that is not part of a longer one.
func containsWord(text, name string) bool {
	for from := 0; name != ""; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			break
		}
		start := from + i
		if endsWord(text[start+len(name):]) && (start == 0 || !isNamePart(text[start-1])) {
			return true
		}
		from = start + 1
	}
	return false
}

// endsWord says whether a name ends before rest. A full stop at the end of a sentence is not part
// of the name.
func endsWord(rest string) bool {
	return rest == "" || !isNamePart(rest[0]) || rest == "." || strings.HasPrefix(rest, ". ")
}

// isNamePart says whether a byte may be part of an object's name, or join it to a namespace.
func isNamePart(b byte) bool {
	return b == '-' || b == '.' || b == '/' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}
