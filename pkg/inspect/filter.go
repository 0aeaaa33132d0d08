package inspect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/glob"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// Filter picks Jobs by what no API server can select by. The zero value picks
// all.
type Filter struct {
	// Delegated leaves out Jobs that the built-in controller reconciles.
	Delegated bool
	// ManagedBy is a glob that the owner has to match; "" matches all.
	ManagedBy string
	// Statuses are those wanted; none means all.
	Statuses []delegation.Status
	// Names are those wanted; none means all.
	Names []JobName
	// Findings are the codes of which one has to be found of it; none means all.
	Findings []string
}

// JobName names Jobs of any namespace, by a word for their kind; "" is for Jobs.
type JobName struct{ Kind, Name string }

// Matches says whether a Job has the name.
func (n JobName) Matches(j *Job) bool {
	if n.Name != j.Name {
		return false
	}
	if n.Kind == "" {
		return j.Row().IsJob()
	}
	return j.Row().IsNamed(n.Kind)
}

// NewFilter checks what a user typed and makes a Filter of it. Statuses are
// taken in any case.
func NewFilter(delegated bool, managedBy string, statuses []string) (Filter, error) {
	f := Filter{Delegated: delegated, ManagedBy: managedBy}
	if _, err := glob.Match(managedBy, ""); err != nil {
		return f, fmt.Errorf("owner pattern %q: %w", managedBy, err)
	}
	known := delegation.Statuses()
	for _, s := range statuses {
		i := slices.IndexFunc(known, func(k delegation.Status) bool { return strings.EqualFold(string(k), s) })
		if i < 0 {
			return f, fmt.Errorf("unknown status %q; there are %s", s, join(known))
		}
		f.Statuses = append(f.Statuses, known[i])
	}
	return f, nil
}

// Matches says whether the filter picks the Job.
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
	// NewFilter has tried the pattern, so there is no error left to see.
	ok, _ := glob.Match(f.ManagedBy, string(j.ManagedBy))
	return ok
}

func join[S ~string](values []S) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = string(v)
	}
	return strings.Join(words, ", ")
}
