package quote

import (
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// MostLines is how many lines of evidence a finding has at most.
const MostLines = 10

// MaybeTime quotes a time that may be unknown.
func MaybeTime(t time.Time) string {
	if t.IsZero() {
		return "an unknown time"
	}
	return Time(t)
}

// OrNotSet quotes the value of a field that may not be set.
func OrNotSet(value string) string {
	if value == "" {
		return "not set"
	}
	return value
}

// MostNames is how many names a list quotes at most.
const MostNames = 3

// Time quotes a time.
func Time(t interface{ UTC() time.Time }) string { return t.UTC().Format(time.RFC3339) }

// Plural returns the plural of an object's kind.
func Plural(j *inspect.Job) string { return delegation.Plural(j.Kind) }
