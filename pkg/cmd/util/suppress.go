package util

import (
	"fmt"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/glob"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// Suppression lists the findings that a user wants to leave out.
type Suppression []suppressed

// suppressed is one entry: a code, and the objects for which it is left out.
type suppressed struct{ code, object string }

// NewSuppression parses entries of the form CODE[=NAMESPACE/NAME].
func NewSuppression(entries []string, all []rules.Rule) (Suppression, error) {
	var s Suppression
	for _, entry := range entries {
		code, object, limited := strings.Cut(entry, "=")
		code = strings.ToUpper(code)
		if _, ok := rules.ByCode(code); !ok {
			return nil, UnknownCode(code, all)
		}
		if _, err := glob.Match(object, ""); err != nil || limited && strings.Count(object, "/") != 1 {
			return nil, fmt.Errorf("--suppress %q is not of the form CODE=NAMESPACE/NAME", entry)
		}
		s = append(s, suppressed{code, object})
	}
	return s, nil
}

// Matches reports whether a finding is left out: an entry matches its object, or all Jobs that it
// concerns.
func (s Suppression) Matches(f inspect.Finding) bool {
	for _, entry := range s {
		if entry.code != f.Code {
			continue
		}
		if entry.object == "" || entry.matches(f.Namespace, f.Name) {
			return true
		}
		all := len(f.Jobs) > 0
		for _, j := range f.Jobs {
			all = all && entry.matches(j.Namespace, j.Name)
		}
		if all {
			return true
		}
	}
	return false
}

// matches reports whether the entry is for an object.
func (s suppressed) matches(namespace, name string) bool {
	// NewSuppression has checked the pattern.
	ok, _ := glob.Match(s.object, namespace+"/"+name)
	return ok
}
