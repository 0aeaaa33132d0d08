package placement_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestReclaimedPods checks that Pods that have ended need no quota when the Job waits again.
func TestReclaimedPods(t *testing.T) {
	for name, tt := range map[string]struct {
		reclaimable, message string
		verdict              inspect.Verdict
	}{
		"none":          {"[]", "needs 3 cpu, 2 free (flavor f); ml/a holds 2 (priority 0, since 60m)", inspect.Waits},
		"one":           {"[{name: main, count: 1}]", "fits now", inspect.Fits},
		"other Pods":    {"[{name: other, count: 1}]", "needs 3 cpu, 2 free (flavor f); ml/a holds 2 (priority 0, since 60m)", inspect.Waits},
		"more than all": {"[{name: main, count: 9}]", "fits now", inspect.Fits},
	} {
		t.Run(name, func(t *testing.T) {
			p := judged(t, simple("4")+"workloads: ["+holding("q", "a", "f", "2", "0")+"]\nreclaimable: "+tt.reclaimable+urgent, pods("3", "cpu: 1"))
			assert.Equal(t, p.Verdict, tt.verdict, p.Message)
			assert.Equal(t, p.Message, tt.message)
		})
	}
}
