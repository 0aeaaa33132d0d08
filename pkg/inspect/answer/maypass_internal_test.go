package answer

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestMayPass checks that the age of a problem which an unknown controller may still end does not block a Job:
// of two Jobs that wait for the same AdmissionCheck, both wait.
func TestMayPass(t *testing.T) {
	job := &inspect.Job{Context: "hub", Kind: "Job", Namespace: "ml", Name: "train"}
	for name, tt := range map[string]struct {
		young, awaits, mayPass bool
		want                   inspect.JobState
	}{
		"a check has just begun":            {young: true, awaits: true, mayPass: true, want: inspect.StateWaiting},
		"a check has not answered for long": {awaits: true, mayPass: true, want: inspect.StateWaiting},
		"a controller had no time":          {young: true, awaits: true, want: inspect.StateWaiting},
		"a controller has stopped":          {awaits: true, want: inspect.StateBlocked},
		"no controller can help":            {young: true, want: inspect.StateBlocked},
	} {
		f := inspect.Finding{
			Severity: inspect.Warning, Kind: "AdmissionCheck", Name: "budget", Message: "MultiKueue waits for it", Jobs: []inspect.Ref{inspect.RefOf(job)},
			Young: tt.young, AwaitsActor: tt.awaits, MayPass: tt.mayPass,
		}
		q := &Question{Inventory: &inspect.Inventory{}, Pair: inspect.Pair{Origin: job}, Trace: inspect.NewTrace()}
		q.Trace.Findings = []inspect.Finding{f}
		a := Answer{State: inspect.StateWaiting}
		q.explain(&a)
		assert.Equal(t, a.State, tt.want, name)
	}
}
