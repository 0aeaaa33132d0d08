package check

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	testclock "k8s.io/utils/clock/testing"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestNotifier compares successive readings and the events that they cause.
func TestNotifier(t *testing.T) {
	lost := []inspect.ContextError{{Context: "worker-1"}}
	refused := []inspect.Unchecked{{What: "Workloads", Contexts: []string{"management"}}}
	n := &notifier{leastSeverity: inspect.Warning, clock: testclock.NewFakeClock(time.Now()), open: map[string]openFinding{}, more: make(chan struct{}, 1)}
	for _, step := range []struct {
		why       string
		found     []inspect.Finding
		errors    []inspect.ContextError
		unchecked []inspect.Unchecked
		want      string
	}{
		{why: "both are new, and info does not count", found: found("warning a", "error b", "info c"), want: "new a, new b"},
		{why: "nothing changed", found: found("error b", "warning a")},
		{why: "one is cleared", found: found("error b"), want: "cleared a"},
		{why: "it is back", found: found("error b", "warning a"), want: "new a"},
		{why: "a context is lost", errors: lost, found: found("warning d"), want: "new d"},
		{why: "another part too", errors: lost, unchecked: refused, found: found()},
		{why: "what was found without the context is cleared without it", errors: lost, want: "cleared d"},
		{why: "everything is read again", want: "cleared a, cleared b"},
		{why: "it got worse", found: found("warning c"), want: "new c"},
	} {
		n.update(&inspect.FindingList{Items: step.found, Errors: step.errors, Unchecked: step.unchecked})
		var got []string
		for e, ok := n.next(); ok; e, ok = n.next() {
			assert.Assert(t, !e.Time.IsZero())
			got = append(got, string(e.Event)+" "+e.Finding.Fingerprint)
		}
		assert.Equal(t, strings.Join(got, ", "), step.want, step.why)
	}
}

// found returns findings, each given by its severity and fingerprint.
func found(all ...string) []inspect.Finding {
	var findings []inspect.Finding
	for _, text := range all {
		severity, fingerprint, _ := strings.Cut(text, " ")
		findings = append(findings, inspect.Finding{Severity: inspect.Severity(severity), Fingerprint: fingerprint})
	}
	return findings
}

// TestLastLine keeps the end of a command's output.
func TestLastLine(t *testing.T) {
	var l lastLine
	for _, text := range []string{"one\n", "two\nthr\xffee\n"} {
		n, err := l.Write([]byte(text))
		assert.NilError(t, err)
		assert.Equal(t, n, len(text))
	}
	assert.Equal(t, string(l), "three")
	_, err := l.Write([]byte(strings.Repeat("x", 3*lineLimit)))
	assert.NilError(t, err)
	assert.Equal(t, len(l), lineLimit)
}
