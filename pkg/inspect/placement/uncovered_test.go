package placement_test

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
)

// TestUncovered checks that a placement names all resources without quota, and that its changes are for all of them.
func TestUncovered(t *testing.T) {
	const unless = ", unless Kueue's configuration excludes or transforms them"
	unavailable := own("NoMatchingFlavor", "couldn't assign flavors to pod set main: resource memory unavailable in ClusterQueue")
	for name, tt := range map[string]struct {
		cluster, requests string
		verdict           inspect.Verdict
		message, why      string
		changes           []string
	}{
		"two": {
			simple("4"), "cpu: 1, memory: 2Gi, ephemeral-storage: 1Gi", inspect.Unknown,
			"needs 2Gi ephemeral-storage and 4Gi memory (ClusterQueue q has no quota for them)" + unless, "no quota for ephemeral-storage and memory",
			[]string{"add ephemeral-storage and memory to a flavor of ClusterQueue q on w", "remove the requests and limits for ephemeral-storage and memory"},
		},
		"two, of which Kueue names one": {
			simple("4") + unavailable, "cpu: 1, memory: 2Gi, nvidia.com/gpu: 1", inspect.Never,
			"needs 4Gi memory and 2 nvidia.com/gpu (ClusterQueue q has no quota for them)", "no quota for memory and nvidia.com/gpu",
			[]string{"add memory and nvidia.com/gpu to a flavor of ClusterQueue q on w", "remove the requests and limits for memory and nvidia.com/gpu"},
		},
		"one, and too large": {
			simple("4"), "cpu: 3, nvidia.com/gpu: 1", inspect.Never,
			"needs 2 nvidia.com/gpu (ClusterQueue q has no quota for it); needs 6 cpu, limit 4 (flavor f)", "no quota for nvidia.com/gpu",
			[]string{
				"request at most 4 cpu (1 Pod at once, not 2), for w, and then add nvidia.com/gpu to a flavor of ClusterQueue q on w",
				"raise the quota of ClusterQueue q on w from 4 to 6 cpu (flavor f), and then add nvidia.com/gpu to a flavor of ClusterQueue q on w",
			},
		},
		"too large, and perhaps one": {
			simple("4"), "cpu: 3, memory: 1Gi", inspect.Never, "needs 6 cpu, limit 4 (flavor f)", "over the limit of flavor f",
			[]string{
				"request at most 4 cpu (1 Pod at once, not 2), for w, and then add memory to a flavor of ClusterQueue q on w, unless Kueue's configuration excludes or transforms it",
				"raise the quota of ClusterQueue q on w from 4 to 6 cpu (flavor f), and then add memory to a flavor of ClusterQueue q on w, unless Kueue's configuration excludes or transforms it",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := judged(t, tt.cluster, pods("2", tt.requests))
			assert.Equal(t, p.Verdict, tt.verdict, p.Message)
			assert.Equal(t, p.Message, tt.message)
			assert.Equal(t, p.Why(), tt.why)
			assert.DeepEqual(t, changesOf(p), tt.changes)
		})
	}
}

// changesOf returns the changes of a placement with their steps, without what they say about the Job's start.
func changesOf(p *inspect.Placement) (texts []string) {
	for _, c := range p.Changes {
		text, _, _ := strings.Cut(c.Message, ", where")
		for _, step := range c.Then {
			text += ", and then " + step.Text
		}
		texts = append(texts, text)
	}
	return texts
}

// TestUncoveredEverywhere checks that the changes of a manager without quota for some resources suffice: they include what
// its workers lack, unless one of them lacks nothing.
func TestUncoveredEverywhere(t *testing.T) {
	const unless = ", unless Kueue's configuration excludes or transforms it"
	const here, there = "to a flavor of ClusterQueue q on hub", "to a flavor of ClusterQueue q on paris"
	memory := strings.NewReplacer("[cpu]", "[cpu, memory]", "[{name: cpu, nominalQuota: 4}]", "[{name: cpu, nominalQuota: 4}, {name: memory, nominalQuota: 9Gi}]").Replace(simple("4"))
	for name, tt := range map[string]struct {
		worker, requests string
		want             []string
	}{
		"the worker lacks them, too": {
			simple("4"), "cpu: 1, memory: 1Gi", []string{"add memory " + here + ", and then add memory " + there, "remove the requests and limits for memory"},
		},
		"the worker lacks more": {
			strings.ReplaceAll(simple("4"), "cpu", "pods"), "cpu: 1, memory: 1Gi",
			[]string{"add memory " + here + ", and then add cpu and memory " + there, "remove the requests and limits for cpu and memory"},
		},
		"the worker has them": {memory, "cpu: 1, memory: 1Gi", []string{"add memory " + here, "remove the requests and limits for memory"}},
		"the manager has no LocalQueue either": {
			simple("4"), "cpu: 1, memory: 1Gi", []string{"create LocalQueue ml/q on hub, and then add memory " + here + unless + ", and then add memory " + there + unless},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := parse[world](t, tt.worker)
			worker := w.facts()
			worker.Context = "paris"
			j := parse[batchv1.Job](t, pods("2", tt.requests))
			j.Namespace = "ml"
			r := placement.OfJob(&j, "q")
			r.Owner = delegation.MultiKueue
			hub := managerOfParis(t)
			if strings.Contains(name, "LocalQueue") {
				hub.Kueue.Capacity.LocalQueues = nil
			}
			hub.Kueue.Addresses = map[string]kubecontext.Address{"paris": {Server: "https://paris"}}
			v := inspect.NewInventory(time.Now(), []*inspect.Facts{hub, worker}, []kubecontext.Address{{Context: "paris", Server: "https://paris"}})
			all := placement.Submit(v, &r)
			assert.Equal(t, all[0].Context, "hub")
			assert.DeepEqual(t, changesOf(&all[0]), tt.want)
		})
	}
}
