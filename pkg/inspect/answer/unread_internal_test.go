package answer

import (
	"errors"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestDispatchedToUnreadCluster checks that the answer for a dispatched Job names the context that did
// not answer, with the reason, or the flag that reads the contexts that were left out.
func TestDispatchedToUnreadCluster(t *testing.T) {
	frozen := &inspect.Facts{Context: "worker-2", Err: errors.New("TLS handshake timeout")}
	other := &inspect.Facts{Context: "worker-1", ClusterUID: "other", Err: errors.New("refused")}
	for name, tt := range map[string]struct {
		clusters  []*inspect.Facts
		leftOut   []string
		message   string
		unchecked []inspect.Unchecked
	}{
		"did not answer": {
			[]*inspect.Facts{frozen, other},
			nil, "It was dispatched to ml/d2. Cannot read worker-2 (TLS handshake timeout).",
			[]inspect.Unchecked{{What: "mirror", Contexts: []string{"worker-2"}, Reason: "TLS handshake timeout"}},
		},
		"left out": {
			nil,
			[]string{"worker-1", "worker-2"},
			"It was dispatched to ml/d2 on another cluster, not read without --all-contexts.",
			[]inspect.Unchecked{{What: "mirror", Contexts: []string{"worker-1", "worker-2"}, Reason: inspect.NotSelected}},
		},
		"both": {
			[]*inspect.Facts{frozen},
			[]string{"worker-2", "worker-3"},
			"It was dispatched to ml/d2. Cannot read worker-2 (TLS handshake timeout); other contexts were not read without --all-contexts.",
			[]inspect.Unchecked{
				{What: "mirror", Contexts: []string{"worker-2"}, Reason: "TLS handshake timeout"},
				{What: "mirror", Contexts: []string{"worker-3"}, Reason: inspect.NotSelected},
			},
		},
		"no context": {
			nil, nil, "It was dispatched to ml/d2 on cluster lost, which was not read.",
			[]inspect.Unchecked{{What: "mirror", Contexts: []string{}, Reason: "no context is known to reach cluster lost"}},
		},
	} {
		origin := &inspect.Job{
			APIVersion: "batch/v1", Kind: "Job", Context: "hub", ClusterUID: "hub", Namespace: "ml", Name: "d2", UID: "d2", ManagedBy: delegation.Dispatch,
			Status: delegation.Running, Marks: &delegation.Marks{Mirror: delegation.Place{ClusterUID: "lost", Namespace: "ml", Name: "d2", UID: "m"}},
		}
		hub := &inspect.Facts{Context: "hub", ClusterUID: "hub", Jobs: []*inspect.Job{origin}}
		addresses := []kubecontext.Address{{Context: "hub"}}
		for _, name := range tt.leftOut {
			addresses = append(addresses, kubecontext.Address{Context: name})
		}
		v := inspect.NewInventory(time.Unix(0, 0), append([]*inspect.Facts{hub}, tt.clusters...), addresses)
		trace := Trace(v, v.Pairs.Pairs[0])
		assert.Equal(t, trace.Message, tt.message, name)
		assert.DeepEqual(t, trace.Unchecked, tt.unchecked)
	}
}
