package rules_test

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
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

	var snapshot *rules.Confirmer
	assert.Equal(t, len(snapshot.Keep(start, reading).Findings), 2)
	assert.Assert(t, !snapshot.IsPending())
}
