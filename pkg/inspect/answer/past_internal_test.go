package answer

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestPastIsNotTheReason checks that a finding about past evictions is the reason of a running Job only if no finding
// says what is wrong now. A young one counts unless a controller may still solve it.
func TestPastIsNotTheReason(t *testing.T) {
	const past = "It was evicted 6 times."
	for name, tt := range map[string]struct {
		now  inspect.Finding
		want string
	}{
		"an error":          {inspect.Finding{Code: "JM022", Severity: inspect.Error, Young: true}, "It is wrong."},
		"a warning":         {inspect.Finding{Code: "JM104", Severity: inspect.Warning, Young: true}, "It is wrong."},
		"a lasting warning": {inspect.Finding{Code: "JM139", Severity: inspect.Warning, AwaitsActor: true}, "It is wrong."},
		"a step":            {inspect.Finding{Code: "JM104", Severity: inspect.Warning, Young: true, AwaitsActor: true}, past},
		"more of the past":  {inspect.Finding{Code: "JM045", Severity: inspect.Warning, Young: true}, past},
		"a wrong clock":     {inspect.Finding{Code: clocksApart, Severity: inspect.Warning, Young: true}, past},
		"information":       {inspect.Finding{Code: "JM104", Severity: inspect.Info}, past},
	} {
		t.Run(name, func(t *testing.T) {
			v, p := delegated("job", delegation.Running)
			p.Origin.Status = delegation.Suspended // The status of the mirror is not copied.
			q := Question{Inventory: v, Pair: p, Trace: Trace(v, p)}
			found := func(f inspect.Finding, message string) inspect.Finding {
				f.Kind, f.Namespace, f.Name, f.Jobs = "Job", "ml", "train", []inspect.Ref{inspect.RefOf(p.Origin)}
				f.Message = message
				return f
			}
			q.Trace.Findings = []inspect.Finding{
				found(inspect.Finding{Code: "JM127", Severity: inspect.Warning}, "it was evicted 6 times"), found(tt.now, "it is wrong"),
			}
			Fill(q)
			assert.Equal(t, q.Trace.Message, tt.want)
		})
	}
}

// TestClockIsNotTheReason checks that a wrong clock is neither the reason of a Job that a worker runs, nor its fix, and
// does not replace its progress.
func TestClockIsNotTheReason(t *testing.T) {
	for _, status := range []delegation.Status{delegation.Running, delegation.Pending} {
		v, p := delegated("job", status)
		q := Question{Inventory: v, Pair: p, Trace: Trace(v, p)}
		Fill(q)
		state, message := q.Trace.State, q.Trace.Message
		q.Trace.Findings = []inspect.Finding{{
			Code: clocksApart, Severity: inspect.Warning, Context: "w1", Kind: "Cluster", Name: "w1", Message: "the clock of w1 is 60s behind that of hub",
			Jobs: []inspect.Ref{inspect.RefOf(p.Origin)}, Fixes: []command.Fix{{Text: "set the clock"}},
		}}
		Fill(q)
		assert.Equal(t, q.Trace.State, state)
		assert.Equal(t, q.Trace.Message, message)
		assert.Equal(t, len(q.Trace.Fixes), 0)
	}
}
