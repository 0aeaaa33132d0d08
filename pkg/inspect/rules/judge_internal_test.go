package rules

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

// TestFindingIsAboutTheWorst checks that of the objects with one cause, a finding is about the most
// severe one, and of these about the one that has waited longest.
func TestFindingIsAboutTheWorst(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	rule := view.Rule{Code: "JM999", Severity: inspect.Error}
	sighting := func(name string, minutes int, severity inspect.Severity) view.Sighting {
		return view.Sighting{
			Object: view.Object{Context: "m", Kind: "Job", Namespace: "ml", Name: name}, Cause: "queue gpu is missing",
			Since: now.Add(-time.Duration(minutes) * time.Minute), Severity: severity,
		}
	}
	v := inspect.NewInventory(now, []*inspect.Facts{{Context: "m"}}, nil)
	for name, sightings := range map[string][]view.Sighting{
		"new": {sighting("old", 30, inspect.Warning), sighting("new", 5, inspect.Error)},
		"old": {sighting("new", 5, inspect.Error), sighting("old", 30, "")},
	} {
		found := findings(rule, v, sightings, 0)
		assert.Equal(t, len(found), 1)
		assert.Equal(t, found[0].Severity, inspect.Error)
		assert.Equal(t, found[0].Name, name)
	}
}
