package printers_test

import (
	"bytes"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// TestNumbersNameTheirResource: placements have the column RESOURCE unless the reason above them names the resource, and
// no other.
func TestNumbersNameTheirResource(t *testing.T) {
	for message, isShown := range map[string]bool{
		"Needs 8 nvidia.com/gpu; the largest limit is 6 (worker-2, flavor a100).":                                 false,
		"Fits on no cluster. worker-2: limit 6 nvidia.com/gpu.":                                                   false,
		"Fits on no cluster. worker-2: needs 30 cpu and 18 nvidia.com/gpu, limits 26 and 10; 1 more on worker-1.": true,
		"a user deactivated its Workload":                                                                         true,
	} {
		trace := inspect.NewTrace()
		trace.Origin = &inspect.Job{Kind: "Job", Namespace: "ml", Name: "sweep", Context: "management"}
		trace.Message = message
		trace.Placements = []inspect.Placement{{
			Context: "worker-2", Cluster: "tokyo", Verdict: inspect.Never, Resource: "nvidia.com/gpu", Needs: "8", Free: "2", Limit: "6",
			Flavors: []inspect.FlavorTried{{Flavor: "a100", Resources: []inspect.ResourceRoom{{Resource: "nvidia.com/gpu"}, {Resource: "cpu"}}}},
		}}
		var out bytes.Buffer
		assert.NilError(t, printers.Trace(&out, trace, printers.TableOptions{}))
		assert.Equal(t, strings.Contains(out.String(), "RESOURCE"), isShown, "%s", out.String())
	}
}
