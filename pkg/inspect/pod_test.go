package inspect_test

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/podfit"
)

// TestLostPods checks that the node of a Pod is gone if it is not among the nodes, and if it cannot be newer
// than their list by the clock of the cluster.
func TestLostPods(t *testing.T) {
	now := time.Unix(10000, 0)
	for name, tt := range map[string]struct {
		age, ahead time.Duration
		want       bool
	}{
		"scheduled long ago":                  {time.Hour, 0, true},
		"scheduled just now":                  {time.Second, 0, false},
		"scheduled just now, by a slow clock": {time.Second, -time.Hour, false},
		"scheduled long ago, by a fast clock": {time.Hour, 2 * time.Hour, true},
	} {
		p := &inspect.Pod{Namespace: "ml", Name: "a", UID: "a", Phase: corev1.PodRunning, Node: "gone", Scheduled: metav1.NewTime(now.Add(tt.ahead - tt.age))}
		inspect.NewInventory(now, []*inspect.Facts{{
			Context: "w", Pods: []*inspect.Pod{p}, Skew: kubecontext.Skew{Known: true, Min: tt.ahead, Max: tt.ahead},
			Environment: &inspect.Environment{Nodes: []*podfit.Node{{Name: "other"}}},
		}}, nil)
		assert.Equal(t, p.IsLost(), tt.want, name)
	}
}
