package inspect_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// stepsOf returns the states of the steps, one letter each.
func stepsOf(r *inspect.ProbeReport) string {
	var b strings.Builder
	for i := range r.Steps {
		b.WriteByte(map[inspect.ProbeStepState]byte{inspect.StepDone: 'd', inspect.StepFailed: 'f', inspect.StepUnknown: 'u', inspect.StepNotReached: '-'}[r.Steps[i].State])
	}
	return b.String()
}

// TestObserve checks that steps stay done, that a later step implies the earlier ones, and that
// each step has its time since the previous one.
func TestObserve(t *testing.T) {
	start := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	r := inspect.NewProbeReport()
	at := func(n int, last time.Time, steps map[inspect.ProbeStepName]string) time.Time {
		return r.Observe(steps, last, start.Add(time.Duration(n)*time.Second))
	}
	last := at(1, start, map[inspect.ProbeStepName]string{inspect.ProbeCreated: "Job"})
	last = at(3, last, map[inspect.ProbeStepName]string{inspect.ProbeQueued: "Workload"})
	assert.Equal(t, stepsOf(r), "dd-------")
	last = at(5, last, nil)
	assert.Equal(t, last, start.Add(3*time.Second), "nothing was seen")
	// By then Kueue has cleared the nominated clusters.
	last = at(7, last, map[inspect.ProbeStepName]string{inspect.ProbeQueued: "other", inspect.ProbeAdmitted: "by paris"})
	assert.Equal(t, stepsOf(r), "ddddd----")
	assert.Equal(t, r.Step(inspect.ProbeQueued).Message, "Workload")
	assert.Equal(t, *r.Step(inspect.ProbeReserved).Seconds, 4.0)
	assert.Equal(t, *r.Step(inspect.ProbeAdmitted).Seconds, 0.0)
	assert.Equal(t, r.TotalSeconds, 7.0)
	assert.Equal(t, r.Stopped().Name, inspect.ProbeMirrored)
	_ = at(8, last, map[inspect.ProbeStepName]string{inspect.ProbeReported: "1 Pod ready"})
	assert.Equal(t, stepsOf(r), "dddddddd-")
}

// TestConclude checks that a probe that stopped has failed, unless its manager was not read, and
// that no probe passes without a cleanup.
func TestConclude(t *testing.T) {
	done := func(n int, cleaned inspect.ProbeStepState) *inspect.ProbeReport {
		r := inspect.NewProbeReport()
		for i := range r.Steps[:n] {
			r.Steps[i].State = inspect.StepDone
		}
		r.Step(inspect.ProbeCleaned).State = cleaned
		r.Trace = &inspect.Trace{Message: "No quota.", Unchecked: []inspect.Unchecked{{What: "x"}}}
		return r
	}
	for _, tt := range []struct {
		report          *inspect.ProbeReport
		isUnread        bool
		result          inspect.ProbeResult
		steps, message  string
		explains, opens bool
	}{
		{report: done(8, inspect.StepDone), result: inspect.ProbePassed, steps: "ddddddddd"},
		{report: done(2, inspect.StepDone), result: inspect.ProbeFailed, steps: "ddf-----d", message: "No quota.", explains: true, opens: true},
		{report: done(2, inspect.StepUnknown), result: inspect.ProbeFailed, steps: "ddf-----u", message: "No quota.", explains: true, opens: true},
		{report: done(4, inspect.StepDone), isUnread: true, result: inspect.ProbeUnknown, steps: "ddddu---d", message: "late"},
		{report: done(8, inspect.StepFailed), result: inspect.ProbeFailed, steps: "ddddddddf", message: "The Job got through, but not everything was removed."},
		{report: done(8, inspect.StepUnknown), result: inspect.ProbeUnknown, steps: "ddddddddu", message: "The Job got through, but not everything was removed."},
	} {
		tt.report.Conclude(tt.isUnread, "late")
		got := fmt.Sprint(tt.report.Result, stepsOf(tt.report), tt.report.Message, tt.report.Trace != nil, len(tt.report.Unchecked) > 0)
		assert.Check(t, got == fmt.Sprint(tt.result, tt.steps, tt.message, tt.explains, tt.opens), got)
	}
}
