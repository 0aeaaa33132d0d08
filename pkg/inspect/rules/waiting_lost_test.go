package rules_test

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// withCPU gives the queue of a worker a quota of CPU. The Job of recordedNoQuota needs 2, and each
// worker has 1.
func withCPU(worker, amount string) edit {
	return patch(worker, "ClusterQueue/cluster-queue", `{spec: {resourceGroups: [{coveredResources: [cpu], flavors: [
		{name: default-flavor, resources: [{name: cpu, nominalQuota: `+amount+`}]}]}]}}`)
}

// lostWorker is a fleet whose manager cannot use worker2, and offered the Job only to worker1.
func lostWorker(more ...edit) []edit {
	return append([]edit{
		patch("kwok-mgr", waitingWorkload, `{status: {nominatedClusterNames: [worker1]}}`), remove("kwok-w2", waitingWorkload),
		patch("kwok-mgr", "MultiKueueCluster/worker2", `{status: {conditions: [
			{type: Active, status: "False", reason: BadKubeConfig, message: "Secret \"worker2\" not found", lastTransitionTime: "2026-11-20T23:24:40Z"}]}}`),
	}, more...)
}

// TestLostWorkerExplainsJob checks that the finding about a connection has the Jobs that the worker
// might run, and that no finding then says that they fit on no worker.
func TestLostWorkerExplainsJob(t *testing.T) {
	for name, tt := range map[string]struct {
		edits []edit
		want  string
	}{
		"the worker is large enough": {lostWorker(withCPU("kwok-w2", "3")), "JM001"},
		"it is too small as well":    {lostWorker(), "JM029"},
		"its queues are unknown":     {lostWorker(unreachable("kwok-w2")), "JM001"},
		"it is free, and another is used": {
			lostWorker(withCPU("kwok-w2", "3"), patch("kwok-w1", waitingWorkload, withoutQuota("WaitingForQuota", ""))), "JM001",
		},
		"a queue on the other worker is stopped": {
			lostWorker(withCPU("kwok-w1", "3"), withCPU("kwok-w2", "3"), patch("kwok-w1", "ClusterQueue/cluster-queue", stoppedQueue),
				patch("kwok-w1", waitingWorkload, withoutQuota("Suspended", "ClusterQueue cluster-queue is inactive"))), "JM001 JM027 warning",
		},
		// Kueue has not noticed yet that the MultiKueueCluster is missing.
		"it has no MultiKueueCluster":                           {[]edit{remove("kwok-mgr", "MultiKueueCluster/worker2"), remove("kwok-w2", waitingWorkload), withCPU("kwok-w2", "3")}, "JM011 warning"},
		"it has no MultiKueueCluster, and is too small as well": {[]edit{remove("kwok-mgr", "MultiKueueCluster/worker2")}, "JM029"},
		"it has no MultiKueueCluster, and holds the Job in one of two flavors": {[]edit{remove("kwok-mgr", "MultiKueueCluster/worker2"), patch("kwok-w2", "ClusterQueue/cluster-queue",
			`{spec: {resourceGroups: [{coveredResources: [cpu], flavors: [{name: default-flavor, resources: [{name: cpu, nominalQuota: 1}]}, {name: other, resources: [{name: cpu, nominalQuota: 1}]}]}]}}`)}, "JM029"},
	} {
		t.Run(name, func(t *testing.T) {
			c := testCase{base: recordedNoQuota, edits: tt.edits}
			var codes []string
			for _, f := range judge(t, c.make(t), rules.All(), 0) {
				if len(f.Jobs) > 0 && slices.Contains([]string{"JM001", "JM011", "JM027", "JM029"}, f.Code) {
					code := f.Code
					if f.Severity != inspect.Error {
						code += " " + string(f.Severity)
					}
					codes = append(codes, code)
				}
			}
			assert.Equal(t, strings.ToLower(strings.Join(codes, " ")), strings.ToLower(tt.want))
		})
	}
}
