package answer

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestRejectedWithLeftovers checks that the answer for a rejected Job keeps the reason of the rejection, although a
// finding reports the copies that remain.
func TestRejectedWithLeftovers(t *testing.T) {
	job := &inspect.Job{Context: "hub", Kind: "Job", Namespace: "ml", Name: "train"}
	leftovers := inspect.Finding{
		Code: "JM058", Severity: inspect.Warning, Kind: "Job", Namespace: "ml", Name: "train", Jobs: []inspect.Ref{inspect.RefOf(job)},
		Message: "MultiKueue rejected it, but left its copies on the workers", Fixes: []command.Fix{{Text: "delete the copy"}},
	}
	q := &Question{Inventory: &inspect.Inventory{}, Pair: inspect.Pair{Origin: job}, Trace: inspect.NewTrace()}
	q.Trace.Findings = []inspect.Finding{leftovers}
	resolve := command.Fix{Text: "resolve what it rejects"}
	a := Answer{State: inspect.StateBlocked, Reason: inspect.ReasonAdmissionCheck, Message: "AdmissionCheck fleet rejects it: no adapter.", Fixes: []command.Fix{resolve}}
	q.explain(&a)
	assert.Equal(t, a.Message, "AdmissionCheck fleet rejects it: no adapter. Its copies remain on the workers.")
	assert.Equal(t, a.Reason, inspect.ReasonAdmissionCheck)
	assert.Equal(t, a.Fixes[0].Text, resolve.Text)
}
