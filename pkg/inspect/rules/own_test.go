package rules_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// traceOf returns the answered trace of a Job of a recording.
func traceOf(t *testing.T, v *inspect.Inventory, name string) *inspect.Trace {
	t.Helper()
	for _, trace := range answersOf(t, v, 0) {
		if trace.Origin != nil && trace.Origin.Name == name || trace.Origin == nil && trace.Mirrors[0].Name == name {
			return trace
		}
	}
	t.Fatalf("no Job %s", name)
	return nil
}

// TestFindingOfSeveralJobsInTrace checks that a trace has the traced Job's own part of a finding about
// several Jobs: its object, its Pods and its fix.
func TestFindingOfSeveralJobsInTrace(t *testing.T) {
	v := inventory(t, recordings+"/two-flavors")
	for name, pod := range map[string]string{"fits-on-demand": "fits-on-demand-jnstp", "tolerates": "tolerates-tdnx2"} {
		trace := traceOf(t, v, name)
		assert.Assert(t, strings.HasSuffix(trace.Fixes[0].Shell(), " describe pod "+pod), trace.Fixes[0].Shell())
		f := findingOf(t, trace.Findings, "JM049")
		assert.Equal(t, f.Name, name)
		assert.Equal(t, f.Jobs[0].Name, name)
		assert.Equal(t, len(f.Jobs), 2)
		assert.Assert(t, strings.Contains(strings.Join(f.Evidence, "\n"), pod), "%q", f.Evidence)
	}
}

// TestSelect checks that check has the part of a chosen Job, too, with the fingerprint of the whole.
func TestSelect(t *testing.T) {
	judgment := rules.Judge(inventory(t, recordings+"/two-flavors"), rules.All(), rules.Options{})
	all := func(*inspect.Finding) bool { return true }
	whole := findingOf(t, judgment.Select(all, func(inspect.Ref) bool { return false }), "JM049")
	own := findingOf(t, judgment.Select(all, func(r inspect.Ref) bool { return r.Name == "fits-on-demand" }), "JM049")
	assert.Equal(t, whole.Name, "tolerates")
	assert.Equal(t, own.Name, "fits-on-demand")
	assert.Equal(t, own.Fingerprint, whole.Fingerprint)
}
