package answer

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
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

// TestSuspendedMirrorOfOfferedJob checks that the answer for a Job that MultiKueue offers again says what it lacks and
// what would help, although its last mirror remains, and what the Job holds if no worker can run it.
func TestSuspendedMirrorOfOfferedJob(t *testing.T) {
	t.Parallel()
	row, _ := delegation.KindNamed("job")
	now := metav1.NewTime(time.Unix(100, 0))
	reserved := metav1.Condition{Type: kueue.QuotaReserved, Status: metav1.ConditionTrue, Reason: kueue.QuotaReserved}
	w := workloadFor("o", "w-o", 0, reserved)
	w.Status.Admission = &kueue.Admission{ClusterQueue: "q", PodSetAssignments: []kueue.PodSetAssignment{{
		Name: "main", Flavors: map[string]string{"cpu": "f"}, ResourceUsage: corev1.ResourceList{"cpu": resource.MustParse("7")},
	}}}
	origin := &inspect.Job{KindRow: &row, APIVersion: "batch/v1", Kind: "Job", Context: "hub", Namespace: "ml", Name: "train", UID: "o", ManagedBy: delegation.MultiKueue, Status: delegation.Suspended, Suspended: true}
	mirror := &inspect.Job{KindRow: &row, APIVersion: "batch/v1", Kind: "Job", Context: "w1", Namespace: "ml", Name: "train", UID: "m", Status: delegation.Suspended, Suspended: true, Since: &now, Marks: &delegation.Marks{MultiKueueOrigin: "team"}}
	hub := &inspect.Facts{Context: "hub", ClusterUID: "hub", Jobs: []*inspect.Job{origin}, Kueue: &inspect.KueueFacts{Workloads: []*kueue.Workload{w}}}
	short := *inspect.NewPlacement("w1")
	short.Cluster, short.Verdict, short.Reason, short.Resource, short.Needs, short.Free, short.Limit = "paris", inspect.Waits, inspect.QuotaInUse, "cpu", "7", "4", "8"
	short.Holders = []inspect.Holder{{Kind: "Job", Namespace: "ml", Name: "other", Amount: "4", Resource: "cpu", Admitted: true}}
	for want, tt := range map[string]struct {
		placement inspect.Placement
		isHolding bool
		fix       string
	}{
		"The mirror on w1 is suspended. Needs 7 cpu; 4 free on w1. ml/other holds 4.": {short, false, "wait for ml/other on w1 to finish"},
		"Needs 8 nvidia.com/gpu; the limit is 4 (w1, flavor a100).":                   {overLimit("w1", "paris", "4"), true, ""},
	} {
		q := Question{
			Inventory: inspect.NewInventory(now.Time, []*inspect.Facts{hub, {Context: "w1", ClusterUID: "w1", Jobs: []*inspect.Job{mirror}}}, nil),
			Pair:      inspect.Pair{Origin: origin, Mirrors: []inspect.Mirror{{Job: mirror, Current: true}}},
			Trace:     &inspect.Trace{Placements: []inspect.Placement{tt.placement}},
		}
		a := q.onMirror(q.Pair.Mirrors[0])
		assert.Assert(t, strings.HasPrefix(a.Message, want), a.Message)
		assert.Equal(t, a.Cost != nil, tt.isHolding, a.Message)
		assert.Assert(t, a.Since.Equal(&now), "since when the mirror is suspended")
		if tt.fix != "" {
			assert.Equal(t, a.Fixes[0].Text, tt.fix)
		}
	}
}
