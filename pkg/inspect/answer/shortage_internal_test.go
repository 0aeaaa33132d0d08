package answer

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestSeveralShortResources checks that the answer names all resources that a Job lacks on a cluster: a
// change of one alone does not help.
func TestSeveralShortResources(t *testing.T) {
	p := overLimit("w1", "paris", "10")
	p.Short = []inspect.ResourceRoom{{Resource: "nvidia.com/gpu", Asked: "8", Free: "1", Most: "4"}, {Resource: "cpu", Asked: "30", Free: "3", Most: "26"}}
	q := Question{Trace: &inspect.Trace{}}
	assert.Equal(t, q.never([]inspect.Placement{p}).Message, "Needs 8 nvidia.com/gpu and 30 cpu; the limits are 4 and 26 (w1).")
	other := overLimit("w2", "tokyo", "6")
	assert.Equal(t, q.never([]inspect.Placement{p, other}).Message, "Fits on no cluster. w1: needs 8 nvidia.com/gpu and 30 cpu, limits 4 and 26; 1 more reason.")
	assert.Equal(t, p.Why(), "over the limits of nvidia.com/gpu and cpu")
	p.Verdict, p.Reason = inspect.Waits, inspect.QuotaInUse
	assert.Equal(t, q.later([]inspect.Placement{p}).Message, "Needs 8 nvidia.com/gpu and 30 cpu; 1 and 3 free (w1).")
}
