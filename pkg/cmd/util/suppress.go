package util

import (
	"fmt"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/glob"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Suppression lists the findings that a user wants to leave out.
type Suppression []suppressed

// suppressed is one entry: a code, and the objects for which it is left out.
type suppressed struct{ code, object string }

// NewSuppression parses entries of the form CODE[=NAMESPACE/NAME]. The namespace is empty for objects
// without one.
func NewSuppression(entries []string) (Suppression, error) {
	var s Suppression
	for _, entry := range entries {
		code, object, limited := strings.Cut(entry, "=")
		codes, err := KnownCodes([]string{code})
		if err != nil {
			return nil, err
		}
		if _, err := glob.Match(object, ""); err != nil || limited && strings.Count(object, "/") != 1 {
			return nil, fmt.Errorf("--suppress %q is not of the form CODE=NAMESPACE/NAME, or CODE=/NAME for an object without a namespace", entry)
		}
		s = append(s, suppressed{codes[0], object})
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
