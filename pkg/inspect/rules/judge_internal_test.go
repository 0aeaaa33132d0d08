package rules

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

// TestFindingIsAboutTheWorst checks that of the objects with one cause, a finding is about the most
// severe one, and of these about the one that has waited longest. Errors are a finding of their own: the others of its
// objects only wait.
func TestFindingIsAboutTheWorst(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	sighting := func(name string, minutes int, severity inspect.Severity) view.Sighting {
		return view.Sighting{
			Object: view.Object{Context: "m", Kind: "Job", Namespace: "ml", Name: name}, Cause: "queue gpu is missing",
			Since: now.Add(-time.Duration(minutes) * time.Minute), Severity: severity,
		}
	}
	v := inspect.NewInventory(now, []*inspect.Facts{{Context: "m"}}, nil)
	for _, tt := range []struct {
		first     string
		severity  inspect.Severity
		sightings []view.Sighting
		apart     string
	}{
		{"new", inspect.Warning, []view.Sighting{sighting("old", 30, inspect.Info), sighting("new", 5, inspect.Warning)}, ""},
		{"old", inspect.Error, []view.Sighting{sighting("new", 5, inspect.Error), sighting("old", 30, "")}, ""},
		{"new", inspect.Error, []view.Sighting{sighting("old", 30, inspect.Warning), sighting("new", 5, inspect.Error)}, "old"},
	} {
		for _, severity := range []inspect.Severity{inspect.Error, inspect.Warning} {
			rule := view.Rule{Code: "JM999", Severity: severity}
			if tt.sightings[1].Severity == "" && severity != tt.severity {
				continue
			}
			found := findings(rule, v, tt.sightings, 0)
			assert.Equal(t, found[0].Severity, tt.severity)
			assert.Equal(t, found[0].Name, tt.first)
			if tt.apart == "" {
				assert.Equal(t, len(found), 1)
				continue
			}
			assert.Equal(t, len(found), 2)
			assert.Equal(t, found[1].Severity, inspect.Warning)
			assert.Equal(t, found[1].Name, tt.apart)
			assert.Assert(t, found[0].Fingerprint != found[1].Fingerprint)
		}
	}
}
