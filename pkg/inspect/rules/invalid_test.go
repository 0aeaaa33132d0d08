package rules_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/answer"
)

// TestInvalidObject checks that an object that its controller does not start, because its spec is invalid, has not
// failed, and that the answer says what is invalid, in a list and alone.
func TestInvalidObject(t *testing.T) {
	ray := specimenOf("rayjob")
	ray.status = `jobDeploymentStatus: ValidationFailed, message: "entrypoint must be set"`
	o := open(t, testCase{base: "running", edits: ray.running()}.bundle(t))
	for _, v := range []*inspect.Inventory{o.inventory(t, "rayjob"), o.traced(t, "rayjob", ray.name)} {
		p := only(t, v.Pairs.Pairs)
		assert.Equal(t, p.Origin.Status, delegation.Pending)
		trace := answer.Trace(v, p)
		assert.Equal(t, trace.Summary, "not running. The spec of its mirror on kwok-w1 is invalid: entrypoint must be set.")
		assert.Equal(t, len(trace.Fixes), 1)
	}
}
