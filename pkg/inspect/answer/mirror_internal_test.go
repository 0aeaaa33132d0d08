package answer

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestStateOfMirrorWithPodsLeft checks that a mirror that is suspended or being deleted does not count as starting while
// Pods of it remain, whether or not its origin was read.
func TestStateOfMirrorWithPodsLeft(t *testing.T) {
	t.Parallel()
	row, _ := delegation.KindNamed("job")
	now := metav1.NewTime(time.Unix(100, 0))
	for name, tt := range map[string]struct {
		status    delegation.Status
		deletedAt *metav1.Time
		state     inspect.JobState
	}{
		"suspended": {delegation.Suspended, nil, inspect.StateWaiting},
		"deleted":   {delegation.Running, &now, inspect.StateTerminating},
		"starting":  {delegation.Pending, nil, inspect.StateStarting},
	} {
		mirror := &inspect.Job{
			KindRow: &row, Context: "w", Namespace: "ml", Name: "train", UID: "m", ManagedBy: delegation.BuiltIn,
			Status: tt.status, DeletedAt: tt.deletedAt, Suspended: tt.status == delegation.Suspended, Marks: &delegation.Marks{MultiKueueOrigin: "team"},
		}
		origin := &inspect.Job{KindRow: &row, Context: "hub", Namespace: "ml", Name: "train", UID: "o", ManagedBy: delegation.MultiKueue, Status: delegation.Suspended, Suspended: true}
		clusters := []*inspect.Facts{{Context: "w", ClusterUID: "w", Jobs: []*inspect.Job{mirror}}}
		for _, o := range []*inspect.Job{nil, origin} {
			q := Question{
				Inventory: inspect.NewInventory(now.Time, clusters, nil), Pair: inspect.Pair{Origin: o, Mirrors: []inspect.Mirror{{Job: mirror, Current: true}}},
				Trace: &inspect.Trace{Hops: []inspect.Hop{{Kind: "Pods", Context: "w", Health: inspect.HealthBad, State: "2 Terminating"}}},
			}
			a := q.Answer()
			assert.Equal(t, a.State, tt.state, "%s, origin %v: %s", name, o != nil, a.Message)
		}
	}
}
