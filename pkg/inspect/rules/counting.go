package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

// CountYoung returns how many errors and warnings that isWanted accepts do not
// count yet, and the longest of their grace periods. It leaves out those whose cause an older finding
// reports that isWanted accepts, too.
func (j Judgment) CountYoung(isWanted func(*inspect.Finding) bool) (count int, period time.Duration) {
	reported := sets.New[string]()
	for i := range j.Findings {
		if isWanted(&j.Findings[i]) {
			reported.Insert(j.Findings[i].Fingerprint)
		}
	}
	for i := range j.young {
		if f := &j.young[i]; f.Severity.IsAtLeast(inspect.Warning) && isWanted(&f.Finding) && !reported.Has(f.Fingerprint) {
			count++
			period = max(period, f.period)
		}
	}
	return count, period
}

// Confirmer drops findings that depend on absence until they have been seen for
// a while. Clusters are not read at one instant, so a Job may have ended
// between two reads. A nil Confirmer keeps everything, as snapshots need,
// because they never change.
type Confirmer struct {
	// After is how long such a finding must be seen before it counts.
	After time.Duration
	// since is when each subject first had such a finding, if it had one in every reading since. A subject is an object,
	// because the code may change as the problem gets older, or the fingerprint of a finding that Lasts was asked
	// about. current is the same for the reading that Keep has begun.
	since, current map[any]time.Time
	// isPending is whether another reading may confirm findings of this one.
	isPending bool
	// apart are the Confirmers of further judgments, by name.
	apart map[string]*Confirmer
}

// Keep returns a judgment made now without the findings that do not count yet.
func (s *Confirmer) Keep(now time.Time, j Judgment) Judgment {
	if s == nil {
		return j
	}
	s.since, s.current, s.isPending = s.current, map[any]time.Time{}, false
	j.lasts = func(f inspect.Finding) bool { return !s.isEarly(now, f.Fingerprint) }
	undated := codesOf(func(r Rule) bool { return r.Undated })
	isEarly := func(f inspect.Finding) bool {
		return undated.Has(f.Code) && s.isEarly(now, view.Object{Context: f.Context, Kind: f.Kind, Namespace: f.Namespace, Name: f.Name})
	}
	j.Findings = slices.DeleteFunc(slices.Clone(j.Findings), isEarly)
	j.suppressed = slices.DeleteFunc(slices.Clone(j.suppressed), isEarly)
	return j
}

// isEarly records a subject of the current reading, and reports whether it had such a finding for less than After.
func (s *Confirmer) isEarly(now time.Time, subject any) bool {
	first, isKnown := s.since[subject]
	if !isKnown {
		first = now
	}
	s.current[subject] = first
	isEarly := now.Sub(first) < s.After
	s.isPending = s.isPending || isEarly
	return isEarly
}

// Lasts reports whether what Kueue says of a finding's Jobs was outdated in all readings since Confirmer.After. Without a
// Confirmer, one reading is enough.
func (j Judgment) Lasts(f inspect.Finding) bool { return j.lasts == nil || j.lasts(f) }

// IsPending reports whether another reading may confirm findings that Keep has dropped, or that Lasts was asked about,
// from any judgment.
func (s *Confirmer) IsPending() bool {
	if s == nil {
		return false
	}
	for _, other := range s.apart {
		if other.isPending {
			return true
		}
	}
	return s.isPending
}

// Apart returns the Confirmer of a further judgment of each reading, such as that of another Job. The name tells it from
// the others. It is nil if s is.
func (s *Confirmer) Apart(name string) *Confirmer {
	if s == nil {
		return nil
	}
	if s.apart[name] == nil {
		if s.apart == nil {
			s.apart = map[string]*Confirmer{}
		}
		s.apart[name] = &Confirmer{After: s.After}
	}
	return s.apart[name]
}

// codesOf returns the codes of the rules that satisfy is.
func codesOf(is func(Rule) bool) sets.Set[string] {
	codes := sets.New[string]()
	for _, r := range All() {
		if is(r) {
			codes.Insert(r.Code)
		}
	}
	return codes
}

// fingerprint identifies a problem across runs: by its cause if several
// objects can share it, otherwise by its object.
func fingerprint(code string, s view.Sighting) string {
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
