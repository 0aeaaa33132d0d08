package rules_test

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// foreignCluster is a broken MultiKueueCluster that only another config names, with the address of a
// Secret.
func foreignCluster(name, secret string) []edit {
	return []edit{
		add("kwok-mgr", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: MultiKueueConfig, metadata: {name: of-`+name+`}, spec: {clusters: [`+name+`]}}`),
		add("kwok-mgr", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: MultiKueueCluster, metadata: {name: `+name+`, creationTimestamp: "2026-11-20T23:23:30Z"},
			spec: {clusterSource: {kubeConfig: {location: `+secret+`, locationType: Secret}}},
			status: {conditions: [{type: Active, status: "False", reason: ClientConnectionFailed, message: Unauthorized, lastTransitionTime: "2026-11-20T23:23:40Z"}]}}`),
	}
}

// TestOtherNameOfWorker checks that a broken MultiKueueCluster of another config is neither in the answer
// for a Job nor in its chain, although it has the address of the Job's worker.
func TestOtherNameOfWorker(t *testing.T) {
	trace := answersOf(t, testCase{base: "running", edits: foreignCluster("badtok", "worker1-secret")}.make(t), 0)[0]
	assert.Equal(t, string(trace.State)+" "+string(trace.Reason), string(inspect.StateRunning)+" "+string(inspect.ReasonNone))
	assert.Check(t, !strings.Contains(trace.Message, "badtok"), trace.Message)
	assert.Check(t, !slices.ContainsFunc(trace.Hops, func(h inspect.Hop) bool { return h.Name == "badtok" }), "%v", trace.Hops)
}
