package answer

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestChangedJobIsTheReason checks that a change that Kueue cannot follow is the reason at once, also
// while the Job runs.
func TestChangedJobIsTheReason(t *testing.T) {
	origin := &inspect.Job{APIVersion: "batch/v1", Kind: "Job", Context: "hub", Namespace: "ml", Name: "a", UID: "a", ManagedBy: delegation.MultiKueue, Status: delegation.Running}
	v := inspect.NewInventory(time.Unix(0, 0), []*inspect.Facts{{Context: "hub", ClusterUID: "hub", Jobs: []*inspect.Job{origin}}}, nil)
	q := Question{Inventory: v, Pair: v.Pairs.Pairs[0], Trace: Trace(v, v.Pairs.Pairs[0])}
	q.Trace.Findings = []inspect.Finding{{Young: true, Code: changedJob, Severity: inspect.Error, Message: "it now has 3 Pods", Jobs: []inspect.Ref{inspect.RefOf(origin)}}}
	Fill(q)
	assert.Equal(t, q.Trace.State, inspect.StateRunning)
	assert.Equal(t, q.Trace.Message, "It now has 3 Pods.")
}

// TestOriginLag checks that the answer names the field in which an origin differs from its mirror, and
// that a startTime that Kueue removed for a moment is none.
func TestOriginLag(t *testing.T) {
	mirror := inspect.Mirror{Job: &inspect.Job{Context: "w", Status: delegation.Running}}
	removed := inspect.Difference{Field: "status.startTime", Mirror: `"2026-01-01T00:00:00Z"`}
	for name, tt := range map[string]struct {
		isStopping  bool
		differences []inspect.Difference
		want        string
	}{
		"a count":                {false, []inspect.Difference{{Field: "status.ready", Mirror: "6"}, removed}, "The origin shows 0 ready, not 6."},
		"a count after a change": {true, []inspect.Difference{removed, {Field: "status.ready", Origin: "5", Mirror: "6"}}, "The origin shows 5 ready, not 6."},
		"another field":          {false, []inspect.Difference{removed}, "The origin differs in status.startTime."},
		"a removed time":         {true, []inspect.Difference{removed}, ""},
	} {
		origin := &inspect.Job{Context: "hub", Status: delegation.Running, Marks: &delegation.Marks{Stopping: tt.isStopping}}
		q := Question{Pair: inspect.Pair{Origin: origin}, Trace: &inspect.Trace{Differences: tt.differences}}
		assert.Equal(t, q.isStatusNotCopied(mirror), tt.want != "", name)
		assert.Equal(t, q.originLag(mirror), tt.want, name)
	}
}
