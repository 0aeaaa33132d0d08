package inspect_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestCostOfSeveralResources checks that a list of held resources has one "and".
func TestCostOfSeveralResources(t *testing.T) {
	c := inspect.Cost{Context: "hub", ClusterQueue: "q", Holds: map[string]string{"cpu": "30", "memory": "24Gi", "nvidia.com/gpu": "18"}, BlocksKnown: true}
	assert.Equal(t, c.Text(), "30 cpu, 24Gi memory and 18 nvidia.com/gpu of ClusterQueue q on hub")
}
