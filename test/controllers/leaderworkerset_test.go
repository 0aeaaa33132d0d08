package controllers

import (
	"context"
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/kueue"
)

// TestEcosystemLeaderWorkerSet traces a LeaderWorkerSet, which MultiKueue copies although it has no
// managedBy: it runs, and is deleted. Kueue creates a Workload for each of its replicas, and
// MultiKueue copies no status.
func TestEcosystemLeaderWorkerSet(t *testing.T) {
	const ns = "leaderworkerset"
	submitLeaderWorkerSet(t, ns)
	runsOn(t, worker, ns, 2)
	traced(t, ns, inspect.StateRunning, "Workload/leaderworkerset-train-0-", "LeaderWorkerSet/train worker Running", "Pods/train worker 2 Running")
	eventuallyFinds(t, delegated, ns, "")
	assert.NilError(t, dynamicClient(manager).Resource(leaderWorkerSets).Namespace(ns).Delete(t.Context(), "train", metav1.DeleteOptions{}))
	eventually(t, worker, leaderWorkerSets, ns, "train", isAway)
	runsOn(t, worker, ns, 0)
	eventuallyFinds(t, delegated, ns, "")
}

// submitLeaderWorkerSet submits a LeaderWorkerSet to a queue with four CPUs on the worker.
func submitLeaderWorkerSet(t *testing.T, ns string) {
	t.Helper()
	if os.Getenv("ECOSYSTEM") == "" {
		t.Skip("make test-ecosystem runs it")
	}
	t.Parallel()
	assert.NilError(t, multiKueue.AddQueues(t.Context(), kueue.Queues{
		ClusterQueue: ns, LocalQueue: "batch", Namespaces: []string{ns},
		Flavor: "default", Resource: "cpu", Quotas: map[string]string{manager: "40", worker: "4"},
	}))
	manifest{leaderWorkerSets, leaderWorkerSetText, "node"}.submit(t, ns, forHours)
}

// traced waits until trace shows a state, and hops with these texts.
func traced(t *testing.T, ns string, state inspect.JobState, hops ...string) {
	t.Helper()
	var trace inspect.Trace
	var text string
	err := poll(t.Context(), func(context.Context) bool {
		trace = read[inspect.Trace](t, "trace", "lws/train", "-n", ns, delegated)
		text = chain(t, delegated, ns, "lws/train")
		for _, hop := range hops {
			if !strings.Contains(text, hop) {
				return false
			}
		}
		return trace.State == state
	})
	assert.NilError(t, err, "%s, not %s: %s\n%s", trace.State, state, trace.Message, text)
}
