package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// This file decides when a finding counts: it is older than its grace period, and where it
// rests on absence, two readings have seen it. Options.Suppressed and the grace period are
// applied by Judge.

// Younger returns how many errors and warnings do not count yet, of those that are wanted, and
// the longest of their grace periods.
func (j Judgment) Younger(isWanted func(*inspect.Finding) bool) (count int, period time.Duration) {
	for i := range j.young {
		if f := &j.young[i]; f.Severity.IsAtLeast(inspect.Warning) && isWanted(&f.Finding) {
			count++
			period = max(period, j.young[i].period)
		}
	}
	return count, period
}

// Counting returns the findings that count of those that About returns.
func Counting(findings []inspect.Finding) []inspect.Finding {
	return slices.DeleteFunc(slices.Clone(findings), func(f inspect.Finding) bool { return f.Young })
}

// Steady drops findings that rest on absence until they have been seen for a while. Clusters
// are not read at one instant, so that a Job may have ended between two of them. A nil Steady
// keeps everything, which is for snapshots: nothing changes there.
type Steady struct {
	// After is for how long such a finding has to be seen.
	After time.Duration
	// since is when each object had such a finding first, of those that had one in every
	// reading. The code may change, because the problem gets older.
	since map[Object]time.Time
	// isPending is whether the last reading had findings that were dropped.
	isPending bool
}

// Keep returns a judgment made now without the findings that do not count yet.
func (s *Steady) Keep(now time.Time, j Judgment) Judgment {
	if s == nil {
		return j
	}
	since, undated := map[Object]time.Time{}, codesOf(func(r Rule) bool { return r.Undated })
	s.isPending = false
	j.Findings = slices.DeleteFunc(slices.Clone(j.Findings), func(f inspect.Finding) bool {
		if !undated.Has(f.Code) {
			return false
		}
		about := Object{Context: f.Context, Kind: f.Kind, Namespace: f.Namespace, Name: f.Name}
		first, isKnown := s.since[about]
		if !isKnown {
			first = now
		}
		since[about] = first
		isEarly := now.Sub(first) < s.After
		s.isPending = s.isPending || isEarly
		return isEarly
	})
	s.since = since
	return j
}

// IsPending reports whether another reading may confirm findings that Keep has dropped.
func (s *Steady) IsPending() bool { return s != nil && s.isPending }

// codesOf returns the codes of some rules.
func codesOf(is func(Rule) bool) sets.Set[string] {
	codes := sets.New[string]()
	for _, r := range All() {
		if is(r) {
			codes.Insert(r.Code)
		}
	}
	return codes
}

// fingerprint identifies a problem across runs: by its cause where several objects may have
// it, and else by its object.
func fingerprint(code string, s Sighting) string {
	parts := []string{code, s.Cause}
	if s.Cause == "" {
		o := s.Object
		group, _, _ := strings.Cut(o.APIVersion, "/")
		parts = append(parts, o.Context, group, o.Kind, o.Namespace, o.Name)
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	const length = 8
	return hex.EncodeToString(sum[:length])
}
