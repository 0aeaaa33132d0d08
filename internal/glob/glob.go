// Package glob matches names that may contain slashes, such as owners
// ("kueue.x-k8s.io/multikueue") and contexts ("arn:aws:eks:…:cluster/prod").
package glob

import (
	"path"
	"strings"
)

// slash replaces "/" on both sides, because a star of path.Match never matches a slash, and here
// it should.
const slash = "\x1f"

// Match reports whether the whole name matches pattern, in the syntax of path.Match, except that
// * and ? match slashes too. The error is path.ErrBadPattern.
func Match(pattern, name string) (bool, error) {
	return path.Match(strings.ReplaceAll(pattern, "/", slash), strings.ReplaceAll(name, "/", slash))
}

// IsPattern reports whether s has any character that Match treats specially.
func IsPattern(s string) bool { return strings.ContainsAny(s, `*?[\`) }
