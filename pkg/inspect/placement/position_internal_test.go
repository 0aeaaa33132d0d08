package placement

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/capacity"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestOwnCopyIsNotAhead checks that the copy of a Job is not ahead of the Job if the Workloads of the
// management cluster were not read.
func TestOwnCopyIsNotAhead(t *testing.T) {
	job := &inspect.Job{APIVersion: "batch/v1", Kind: "Job", Context: "hub", Namespace: "ml", Name: "train", UID: "1"}
	at := func(name string, second int64) *kueue.Claim {
		return &kueue.Claim{Namespace: "ml", Name: name, UID: name, Rank: kueue.Rank{UID: name, At: time.Unix(second, 0)}}
	}
	copied := at(job.WorkloadNames()[0], 2)
	for name, tt := range map[string]struct {
		line      []*kueue.Claim
		origin    *inspect.Job
		place, of int
		ahead     []string
	}{
		"its copy":      {[]*kueue.Claim{at("first", 1), copied, at("later", 3)}, job, 2, 3, []string{"ml/first"}},
		"no copy":       {[]*kueue.Claim{at("first", 1), at("later", 3)}, job, 3, 3, []string{"ml/first", "ml/later"}},
		"not submitted": {[]*kueue.Claim{copied}, nil, 2, 2, []string{"ml/" + copied.Name}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(&inspect.Facts{Context: "w"}, &Request{Namespace: "ml", origin: tt.origin}, &Surroundings{inventory: &inspect.Inventory{Now: time.Unix(9, 0)}}, role{}, nil)
			s.capacity, s.queue = &inspect.Capacity{}, &capacity.Node{Name: "q", Line: tt.line}
			s.place()
			assert.Equal(t, s.Position.Place, tt.place)
			assert.Equal(t, s.Position.Of, tt.of)
			assert.DeepEqual(t, s.Position.Ahead, tt.ahead)
		})
	}
}

// TestAgesByTheClockOfTheCluster checks that ages of holders, and the rank of a Job that is not submitted yet,
// are by the clock of the cluster whose times they are compared with.
func TestAgesByTheClockOfTheCluster(t *testing.T) {
	now := time.Unix(10000, 0)
	const behind = time.Hour
	f := &inspect.Facts{Context: "w", Skew: kubecontext.Skew{Known: true, Min: -behind, Max: -behind}}
	v := inspect.NewInventory(now, []*inspect.Facts{f}, nil)
	s := newSite(f, &Request{Namespace: "ml"}, &Surroundings{inventory: v}, role{}, nil)
	s.queue = &capacity.Node{Name: "q"}
	h := inspect.Holder{Namespace: "ml", Name: "a", Amount: "2", ClusterQueue: "q", Since: &metav1.Time{Time: now.Add(-behind - 5*time.Minute)}}
	assert.Equal(t, s.describe(h), "ml/a holds 2 (priority 0, since 5m)")

	waiting := &kueue.Claim{UID: "1", Rank: kueue.Rank{UID: "1", At: now.Add(-behind - time.Minute)}}
	later := &kueue.Claim{UID: "2", Rank: kueue.Rank{UID: "2", At: now.Add(-behind + time.Minute)}}
	s.queue.Line = []*kueue.Claim{waiting, later}
	assert.DeepEqual(t, s.ahead(), []*kueue.Claim{waiting})
}

// TestHolderIsLocal checks that the holder of a copy without an owner is known as an object of the manager.
func TestHolderIsLocal(t *testing.T) {
	v := inspect.NewInventory(time.Unix(9, 0), nil, nil)
	s := newSite(&inspect.Facts{Context: "w"}, &Request{Namespace: "ml"}, &Surroundings{inventory: v}, role{owners: map[string]owner{"ml/job-train": {"Job", "train"}}}, nil)
	s.queue = &capacity.Node{Name: "q"}
	for name, want := range map[string]bool{"": false, "train": true} {
		c := &kueue.Claim{Namespace: "ml", Name: "job-train", Owner: name}
		if name != "" {
			c.Kind = "Job"
		}
		h := s.holderOf(c, capacity.FlavorResource{}, 0, false)
		assert.Equal(t, h.Kind+"/"+h.Name, "Job/train")
		assert.Equal(t, h.IsLocal, want)
	}
}
