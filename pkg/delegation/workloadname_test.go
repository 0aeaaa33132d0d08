package delegation_test

import (
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// TestSizes checks the values with which Kueue distinguishes the Workloads of an elastic object.
func TestSizes(t *testing.T) {
	rayJob, _ := delegation.KindNamed("rayjob")
	assert.DeepEqual(t, rayJob.Sizes(2, ""), []string{"2", "1"})
	assert.DeepEqual(t, rayJob.Sizes(2, "rc-7"), []string{"2", "2_rc-7", "1", "1_rc-7"})
	assert.DeepEqual(t, delegation.Job().Sizes(2, "rc-7"), []string{"2", "1"})
	assert.Assert(t, len(rayJob.Sizes(1000, "rc-7")) < 30, "each size costs a request")

	marks := delegation.MarksOf(nil, map[string]string{delegation.RayGenerationAnnotation: "rc-7"})
	assert.Equal(t, marks.RayGeneration, "rc-7")
	assert.Assert(t, delegation.IsMark(delegation.RayGenerationAnnotation) && delegation.IsMark(delegation.PriorityClassLabel), "lists keep marks only")
	assert.Assert(t, !slices.Equal(rayJob.WorkloadNames("a", "u", "2"), rayJob.WorkloadNames("a", "u", "2_rc-7")))
}
