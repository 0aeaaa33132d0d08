package answer

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestClosestFinding checks that a finding about the Job itself explains an answer before one of the
// same severity about another object, and not before a more severe one.
func TestClosestFinding(t *testing.T) {
	job := &inspect.Job{Context: "hub", Kind: "Job", Namespace: "ml", Name: "train"}
	finding := func(severity inspect.Severity, kind, name, message string) inspect.Finding {
		return inspect.Finding{Severity: severity, Kind: kind, Namespace: job.Namespace, Name: name, Message: message, Jobs: []inspect.Ref{inspect.RefOf(job)}}
	}
	own := finding(inspect.Warning, "Job", "train", "its mirror is cut off")
	for severity, want := range map[inspect.Severity]string{inspect.Warning: "Its mirror is cut off.", inspect.Error: "Check fleet is broken."} {
		q := &Question{Inventory: &inspect.Inventory{}, Pair: inspect.Pair{Origin: job}, Trace: inspect.NewTrace()}
		q.Trace.Findings = []inspect.Finding{finding(severity, "AdmissionCheck", "fleet", "check fleet is broken"), own}
		a := Answer{State: inspect.StateRunning}
		q.explain(&a)
		assert.Equal(t, a.Message, want)
	}
}
