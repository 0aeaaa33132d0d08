package placement_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestPartialStart checks that a Job that Kueue may start with fewer Pods needs quota for these only,
// and that changes are as small as that.
func TestPartialStart(t *testing.T) {
	full := "workloads: [" + holding("q", "a", "f", "4", "0") + "]"
	for name, tt := range map[string]struct {
		cluster, job string
		verdict      inspect.Verdict
		needs        string
		partial      *inspect.PartialStart
		change       string
	}{
		"waits": {
			simple("4") + full, flexible("4", "1"), inspect.Waits, "1", &inspect.PartialStart{Pods: 1, Of: 4},
			"raise the quota of ClusterQueue q on w by 1 to 5 cpu (flavor f)",
		},
		"never": {
			simple("4"), flexible("6", "5"), inspect.Never, "5", &inspect.PartialStart{Pods: 5, Of: 6},
			"request at most 4 cpu (kueue.x-k8s.io/job-min-parallelism at most 4, not 5), for w",
		},
		"starts with all": {simple("4"), flexible("4", "1"), inspect.Fits, "4", nil, ""},
		"must start with all": {
			simple("4") + full, pods("4", "cpu: 1"), inspect.Waits, "4", nil, "raise the quota of ClusterQueue q on w by 4 to 8 cpu (flavor f)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := judged(t, tt.cluster, tt.job)
			assert.Equal(t, p.Verdict, tt.verdict, p.Message)
			assert.Equal(t, p.Needs, tt.needs)
			assert.DeepEqual(t, p.Partial, tt.partial)
			if tt.change == "" {
				assert.Equal(t, len(p.Changes), 0)
			} else {
				assert.Equal(t, p.Changes[0].Message, tt.change)
			}
		})
	}
}
