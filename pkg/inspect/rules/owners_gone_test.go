package rules_test

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// TestGoneMirrorRunsAgain checks that MultiKueue is given its waiting time
// before it restarts a Job without anything left on its worker. Only in other
// cases the remedy is to check Kueue.
func TestGoneMirrorRunsAgain(t *testing.T) {
	noJob, noCopy := remove("kwok-w1", "Job/train"), remove("kwok-w1", "Workload/job-train-1c348")
	for name, tt := range map[string]struct {
		edits []edit
		later time.Duration
		want  string
	}{
		"nothing is left":                  {[]edit{noJob, noCopy}, 0, "wait: MultiKueue restarts the Job after workerLostTimeout, by default at 2026-11-20T23:58:19Z"},
		"nothing is left, for long":        {[]edit{noJob, noCopy}, time.Hour, "check that Kueue runs on kwok-mgr"},
		"the copy of its Workload is left": {[]edit{noJob}, 0, "check that Kueue runs on kwok-mgr"},
	} {
		t.Run(name, func(t *testing.T) {
			rule, _ := rules.ByCode("JM105")
			found := judge(t, testCase{name: name, code: "JM105", base: "running", edits: tt.edits, later: tt.later}.inventory(t), []rules.Rule{rule}, 0)
			assert.Equal(t, len(found), 1)
			assert.Assert(t, strings.HasPrefix(found[0].Remedy, tt.want), found[0].Remedy)
		})
	}
}
