package rules_test

import (
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/chain"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// TestConfirmer checks that a finding that depends on absence counts once it has
// been seen for long enough, even if its code has changed. Other findings
// count at once.
func TestConfirmer(t *testing.T) {
	finding := func(code, name string) inspect.Finding { return inspect.Finding{Code: code, Kind: "Job", Name: name} }
	undated := ""
	for _, r := range rules.All() {
		if r.Undated {
			undated = r.Code
		}
	}
	reading := rules.Judgment{Findings: []inspect.Finding{finding(undated, "gone"), finding("JM013", "seen")}}
	start := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)
	s := &rules.Confirmer{After: 2 * time.Second}
	names := func(at time.Duration, j rules.Judgment) (found []string) {
		for _, f := range s.Keep(start.Add(at), j).Findings {
			found = append(found, f.Name)
		}
		return found
	}
	assert.DeepEqual(t, names(0, reading), []string{"seen"})
	assert.Assert(t, s.IsPending())
	assert.DeepEqual(t, names(2*time.Second, reading), []string{"gone", "seen"})
	assert.Assert(t, !s.IsPending())
	// A finding that was missing in one reading starts again.
	assert.DeepEqual(t, names(3*time.Second, rules.Judgment{}), []string(nil))
	assert.DeepEqual(t, names(4*time.Second, reading), []string{"seen"})
	assert.DeepEqual(t, names(6*time.Second, reading), []string{"gone", "seen"})
	// Judgments of other Jobs count apart, and may also need another reading.
	other := s.Apart("Job ml/other")
	assert.Equal(t, len(other.Keep(start, reading).Findings), 1)
	assert.Assert(t, s.IsPending())
	assert.Equal(t, len(s.Apart("Job ml/other").Keep(start.Add(2*time.Second), reading).Findings), 2)
	assert.Assert(t, !s.IsPending())

	var snapshot *rules.Confirmer
	assert.Equal(t, len(snapshot.Keep(start, reading).Findings), 2)
	assert.Equal(t, len(snapshot.Apart("Job ml/other").Keep(start, reading).Findings), 2)
	assert.Assert(t, !snapshot.IsPending())
}

// TestLasts checks that what two readings in a row doubt is doubted for long enough, and that one reading without doubt
// begins again. In a snapshot, one reading is enough.
func TestLasts(t *testing.T) {
	s, start, doubtful := &rules.Confirmer{After: 2 * time.Second}, time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC), inspect.Finding{Fingerprint: "one"}
	read := func(at time.Duration) rules.Judgment { return s.Keep(start.Add(at), rules.Judgment{}) }
	assert.Assert(t, !read(0).Lasts(doubtful))
	assert.Assert(t, s.IsPending())
	assert.Assert(t, read(2*time.Second).Lasts(doubtful))
	assert.Assert(t, !s.IsPending())
	read(3 * time.Second)
	again := read(4 * time.Second)
	assert.Assert(t, !again.Lasts(doubtful))
	assert.Assert(t, !again.Lasts(inspect.Finding{Fingerprint: "other"}))
	assert.Assert(t, read(6*time.Second).Lasts(doubtful))

	var snapshot *rules.Confirmer
	assert.Assert(t, snapshot.Keep(start, rules.Judgment{}).Lasts(doubtful))
}

// TestYoungWithOlderCause checks that a young finding whose cause an older one reports is about its own
// Job, and that it counts only for users who do not see the older one.
func TestYoungWithOlderCause(t *testing.T) {
	v := inventory(t, recordings+"/jobsets")
	judgment := rules.Judge(v, rules.Catalogue(), rules.Options{Grace: 5 * time.Minute})
	isAbout := func(names ...string) func(*inspect.Finding) bool {
		return func(f *inspect.Finding) bool {
			return f.Code == "JM020" && slices.ContainsFunc(f.Jobs, func(r inspect.Ref) bool { return slices.Contains(names, r.Name) })
		}
	}
	for _, tt := range []struct {
		names []string
		want  int
	}{{[]string{"d05a"}, 1}, {[]string{"d05b"}, 0}, {[]string{"d05a", "d05b"}, 0}} {
		count, _ := judgment.CountYoung(isAbout(tt.names...))
		assert.Equal(t, count, tt.want, "%v", tt.names)
	}
	for _, name := range []string{"d05a", "d05b"} {
		i := slices.IndexFunc(v.Pairs.Pairs, func(p inspect.Pair) bool { return p.Origin.Name == name })
		about := judgment.About(chain.Follow(v, v.Pairs.Pairs[i]))
		f := findingOf(t, about, "JM020")
		assert.Equal(t, f.Young, name == "d05a")
		assert.Assert(t, isAbout(name)(&f), "%v", f.Jobs)
	}
}
