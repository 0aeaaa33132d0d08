package inspect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/glob"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// Filter matches Jobs by criteria that API servers have no selectors for. The zero value matches
// all.
type Filter struct {
	// Delegated excludes Jobs that the built-in controller reconciles.
	Delegated bool
	// ManagedBy is a glob for the owner, or for the value of spec.managedBy that means the built-in controller; ""
	// matches all.
	ManagedBy string
	// Statuses are the statuses to match; none means all.
	Statuses []delegation.Status
	// Names are the names to match; none means all.
	Names []JobName
	// Findings are codes, at least one of which the Job must have; none means all.
	Findings []string
}

// JobName is the name of Jobs in any namespace, with a word for their kind; "" is for Jobs.
type JobName struct{ Kind, Name string }

// Matches reports whether a Job has the name.
func (n JobName) Matches(j *Job) bool {
	if n.Name != j.Name {
		return false
	}
	if n.Kind == "" {
		return j.Row().IsJob()
	}
	return j.Row().IsNamed(n.Kind)
}

// NewFilter validates a user's input and returns the Filter. Statuses are case-insensitive.
func NewFilter(delegated bool, managedBy string, statuses []string) (Filter, error) {
	f := Filter{Delegated: delegated, ManagedBy: managedBy}
	if _, err := glob.Match(managedBy, ""); err != nil {
		return f, fmt.Errorf("owner pattern %q: %w", managedBy, err)
	}
	known := delegation.Statuses()
	for _, s := range statuses {
		i := slices.IndexFunc(known, func(k delegation.Status) bool { return strings.EqualFold(string(k), s) })
		if i < 0 {
			return f, fmt.Errorf("unknown status %q; choose one of %s", s, join(known))
		}
		f.Statuses = append(f.Statuses, known[i])
	}
	return f, nil
}

// Matches reports whether the filter matches the Job.
func (f Filter) Matches(j *Job) bool {
	if f.Delegated && j.ManagedBy.IsBuiltIn() {
		return false
	}
	if len(f.Names) > 0 && !slices.ContainsFunc(f.Names, func(n JobName) bool { return n.Matches(j) }) {
		return false
	}
	if len(f.Statuses) > 0 && !slices.Contains(f.Statuses, j.Status) {
		return false
	}
	if len(f.Findings) > 0 && !slices.ContainsFunc(f.Findings, func(code string) bool { return slices.Contains(j.Findings, code) }) {
		return false
	}
	if f.ManagedBy == "" {
		return true
	}
	// NewFilter has validated the pattern, so there is no error.
	is, _ := glob.Match(f.ManagedBy, string(j.ManagedBy))
	isReserved, _ := glob.Match(f.ManagedBy, j.Row().Reserved)
	return is || isReserved && j.ManagedBy.IsBuiltIn()
}

func join[S ~string](values []S) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = string(v)
	}
	return strings.Join(words, ", ")
}
