package rules_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// TestStoppedQueueIsNotTheCause checks that a Job that fits on no worker remains an error if one queue
// is stopped, and that the problem of the queue is as old as the stop.
func TestStoppedQueueIsNotTheCause(t *testing.T) {
	stopped := strings.Replace(stoppedQueue, "23:24:40Z", "23:24:48Z", 1)
	edits := []edit{
		patch("kwok-w2", "ClusterQueue/cluster-queue", stopped), patch("kwok-w2", waitingWorkload, withoutQuota("Suspended", "ClusterQueue cluster-queue is inactive")),
	}
	found := judge(t, testCase{base: recordedNoQuota, edits: edits}.make(t), rules.All(), 0)
	at := func(code string) *inspect.Finding {
		i := slices.IndexFunc(found, func(f inspect.Finding) bool { return f.Code == code })
		assert.Assert(t, i >= 0, linesOf(found))
		return &found[i]
	}
	assert.Equal(t, at("JM029").Severity, inspect.Error)
	assert.Equal(t, at("JM029").Message, "Job default/train: fits on no worker: needs 2 cpu, limit 1 (flavor default-flavor)")
	assert.Equal(t, at("JM027").Since.UTC().Format(time.TimeOnly), "23:24:48")

	found = judge(t, testCase{base: recordedNoQuota, edits: append(edits, withCPU("kwok-w2", "3"))}.make(t), rules.All(), 0)
	assert.Assert(t, !slices.Contains(codesOf(found), "JM029"), linesOf(found))
	assert.Equal(t, at("JM027").Severity, inspect.Error)
}
