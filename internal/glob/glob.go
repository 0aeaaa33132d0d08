// Package glob matches names that may contain slashes, such as owners
// ("kueue.x-k8s.io/multikueue") and contexts ("arn:aws:eks:…:cluster/prod").
package glob

import (
	"path"
	"strings"
)

// slash stands in for "/" on both sides, because path.Match never lets a star
// cross a slash, and here it should.
const slash = "\x1f"

// Match says whether name as a whole matches pattern, in the syntax of
// path.Match, except that * and ? match slashes too. The error is
// path.ErrBadPattern.
func Match(pattern, name string) (bool, error) {
	return path.Match(strings.ReplaceAll(pattern, "/", slash), strings.ReplaceAll(name, "/", slash))
}

// IsPattern says whether s has any character that Match treats specially.
func IsPattern(s string) bool { return strings.ContainsAny(s, `*?[\`) }
