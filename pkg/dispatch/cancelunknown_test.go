package dispatch

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
)

// TestCancelUnknown checks that the error for an unknown Job names the namespace that was
// searched, and the flag for another one.
func TestCancelUnknown(t *testing.T) {
	c := &Canceller{Origin: dispatchtest.NewServer(t).Cluster(t, "here"), Owner: delegation.Dispatch}
	err := c.Cancel(t.Context(), nil, delegation.Job(), "ml", "none")
	assert.Error(t, err, `context "here": job ml/none not found. Name the namespace with -n`)
}
