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
	if os.Getenv("ECOSYSTEM") == "" {
		t.Skip("make test-ecosystem runs it")
	}
	t.Parallel()
	const ns = "leaderworkerset"
	assert.NilError(t, multiKueue.AddQueues(t.Context(), kueue.Queues{
		ClusterQueue: ns, LocalQueue: "batch", Namespaces: []string{ns},
		Flavor: "default", Resource: "cpu", Quotas: map[string]string{manager: "40", worker: "4"},
	}))
	manifest{leaderWorkerSets, leaderWorkerSetText, "node"}.submit(t, ns, forHours)
	runsOn(t, worker, ns, 2)
	var trace inspect.Trace
	var hops string
	err := poll(t.Context(), func(context.Context) bool {
		trace, hops = read[inspect.Trace](t, "trace", "lws/train", "-n", ns, delegated), chain(t, delegated, ns, "lws/train")
		return trace.State == inspect.StateRunning && strings.Contains(hops, "Pods/train worker 2 Running")
	})
	assert.NilError(t, err, "%s: %s\n%s", trace.State, trace.Message, hops)
	assert.Assert(t, strings.Contains(hops, "Workload/leaderworkerset-train-0-"), hops)
	assert.Assert(t, strings.Contains(hops, "LeaderWorkerSet/train worker Running"), hops)
	eventuallyFinds(t, delegated, ns, "")
	assert.NilError(t, dynamicClient(manager).Resource(leaderWorkerSets).Namespace(ns).Delete(t.Context(), "train", metav1.DeleteOptions{}))
	eventually(t, worker, leaderWorkerSets, ns, "train", isAbsent)
	runsOn(t, worker, ns, 0)
	eventuallyFinds(t, delegated, ns, "")
}
