package placement_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestMissingLocalQueue checks that the change that creates a LocalQueue has its command, and whether
// the Job starts after it.
func TestMissingLocalQueue(t *testing.T) {
	const text = "create LocalQueue ml/q on w"
	missing := func(cluster string) string {
		return strings.Replace(cluster, "{namespace: ml, name: q}", "{namespace: ml, name: other}", 1)
	}
	run := `printf '%s\n' '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"LocalQueue","metadata":{"name":"q","namespace":"ml"},"spec":{"clusterQueue":"q"}}' | kubectl --context w create -f -`
	two := strings.Replace(missing(simple("4")), "queues: [", "queues: [{metadata: {name: p}}, ", 1)
	for cluster, want := range map[string]inspect.PlacementChange{
		missing(simple("4")): {Message: text, Command: run, Starts: true},
		missing(simple("4") + "workloads: [" + holding("q", "a", "f", "3", "0") + "]"): {Message: text, Command: run},
		two: {Message: text + " for one of its ClusterQueues", Command: "kubectl --context w get clusterqueues.kueue.x-k8s.io"},
	} {
		p := judged(t, cluster, pods("2", "cpu: 1"))
		assert.Equal(t, p.Reason, inspect.QueueMissing)
		assert.DeepEqual(t, p.Changes, []inspect.PlacementChange{want})
	}
}
