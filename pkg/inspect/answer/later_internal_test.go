package answer

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestUnconnectedWorkers checks that a worker that its manager cannot use is the reason if the Job
// would start there, or if no other worker can run it. The first fix is then that of its connection.
func TestUnconnectedWorkers(t *testing.T) {
	lost := func(free string) inspect.Placement {
		p := overLimit("worker-2", "tokyo", "9")
		p.Verdict, p.Reason, p.Free, p.Message = inspect.Waits, inspect.NotConnected, free, `hub cannot use it: Secret "tokyo" not found`
		p.Changes = []inspect.PlacementChange{{Message: "repair MultiKueueCluster tokyo"}}
		return p
	}
	full := overLimit("worker-1", "paris", "9")
	full.Verdict, full.Reason, full.Free = inspect.Waits, inspect.QuotaInUse, "4"
	full.Holders = []inspect.Holder{{Kind: "Job", Namespace: "ml", Name: "a", Resource: "nvidia.com/gpu", Amount: "5", Admitted: true}}
	found := inspect.Finding{
		Code: "JM001", Severity: inspect.Error, Context: "hub", Kind: "MultiKueueCluster", Name: "tokyo",
		Fixes: []command.Fix{{Text: "create the Secret"}},
	}
	for name, tt := range map[string]struct {
		workers  []inspect.Placement
		findings []inspect.Finding
		state    inspect.JobState
		message  string
		first    string
	}{
		"fits only there": {
			[]inspect.Placement{overLimit("worker-1", "paris", "4"), lost("9")},
			[]inspect.Finding{found},
			inspect.StateBlocked,
			`Fits on worker-2 (9 nvidia.com/gpu free), but hub cannot use it: Secret "tokyo" not found.`, "create the Secret",
		},
		"the finding is missing": {
			[]inspect.Placement{overLimit("worker-1", "paris", "4"), lost("9")},
			nil, inspect.StateBlocked,
			`Fits on worker-2 (9 nvidia.com/gpu free), but hub cannot use it: Secret "tokyo" not found.`, "repair MultiKueueCluster tokyo",
		},
		"its quota is used": {
			[]inspect.Placement{overLimit("worker-1", "paris", "4"), lost("3")},
			[]inspect.Finding{found},
			inspect.StateBlocked,
			`Could run on worker-2, but hub cannot use it: Secret "tokyo" not found.`, "create the Secret",
		},
		"fits there, and waits for others": {
			[]inspect.Placement{full, lost("9")},
			[]inspect.Finding{found},
			inspect.StateWaiting,
			`Fits on worker-2 (9 nvidia.com/gpu free), but hub cannot use it: Secret "tokyo" not found.`, "create the Secret",
		},
		"its quota is used, and others may end": {
			[]inspect.Placement{full, lost("3")},
			[]inspect.Finding{found},
			inspect.StateWaiting,
			"Needs 8 nvidia.com/gpu; 4 free on worker-1. ml/a holds 5.", "wait for ml/a on worker-1 to finish",
		},
	} {
		t.Run(name, func(t *testing.T) {
			origin := &inspect.Job{Context: "hub", Kind: "Job", Namespace: "ml", Name: "e2"}
			for i := range tt.findings {
				tt.findings[i].Jobs = []inspect.Ref{inspect.RefOf(origin)}
			}
			q := Question{
				Inventory: &inspect.Inventory{}, Pair: inspect.Pair{Origin: origin},
				Trace: &inspect.Trace{Placements: tt.workers, Findings: tt.findings},
			}
			a := q.among(nil, nil, tt.workers)
			q.explain(&a)
			assert.Equal(t, a.State, tt.state)
			assert.Equal(t, a.Message, tt.message)
			assert.Equal(t, a.Fixes[0].Text, tt.first)
			for _, f := range a.Fixes {
				assert.Assert(t, !strings.Contains(f.Text, "on worker-2"), "%+v", a.Fixes)
			}
		})
	}
}

// TestOrphanHoldsQuota checks that the reason is the worker where an orphan holds enough quota, because
// its fix comes first.
func TestOrphanHoldsQuota(t *testing.T) {
	full := func(context, holder string, isOrphan bool, free string) inspect.Placement {
		p := overLimit(context, "", "9")
		p.Verdict, p.Reason, p.Free, p.Needs = inspect.Waits, inspect.QuotaInUse, free, "2"
		p.Holders = []inspect.Holder{{Kind: "Job", Namespace: "ml", Name: holder, Resource: "nvidia.com/gpu", Amount: "4", Admitted: true, Orphan: isOrphan}}
		return p
	}
	q := Question{Inventory: &inspect.Inventory{}, Trace: inspect.NewTrace()}
	a := q.later([]inspect.Placement{full("worker-1", "train", false, "1"), full("worker-2", "train-old", true, "0")})
	assert.Equal(t, a.Message, "Needs 2 nvidia.com/gpu; 0 free on worker-2. Orphan ml/train-old holds 4.")
	assert.Assert(t, strings.Contains(a.Fixes[0].Text, "delete orphan ml/train-old on worker-2"), a.Fixes[0].Text)
}

// TestSmallestLackOfSeveralResources checks that the reason is the worker that lacks the smallest part of the
// request, whatever the units of its resource, and that its fix comes first.
func TestSmallestLackOfSeveralResources(t *testing.T) {
	full := func(context, resource, needs, free string, share float64) inspect.Placement {
		p := overLimit(context, "", "100Gi")
		p.Verdict, p.Reason, p.Resource, p.Free, p.Needs = inspect.Waits, inspect.QuotaInUse, resource, free, needs
		p.Changes = []inspect.PlacementChange{{Message: "raise the quota on " + context, Share: share}}
		return p
	}
	q := Question{Inventory: &inspect.Inventory{}, Trace: inspect.NewTrace()}
	a := q.later([]inspect.Placement{full("worker-1", "cpu", "4", "2", 0.5), full("worker-2", "memory", "10Gi", "9Gi", 0.1)})
	assert.Equal(t, a.Message, "Needs 10Gi memory; 9Gi free (worker-2, flavor a100).")
	assert.Equal(t, a.Fixes[0].Text, "raise the quota on worker-2")
	withoutChanges := []inspect.Placement{full("worker-1", "cpu", "4", "2", 0), full("worker-2", "memory", "10Gi", "9Gi", 0)}
	withoutChanges[0].Changes, withoutChanges[1].Changes = nil, nil
	assert.Equal(t, q.later(withoutChanges).Message, "Needs 10Gi memory; 9Gi free (worker-2, flavor a100).")
}

// TestMissingQueueThatStartsTheJob checks that the change of a queue or a namespace that starts a Job on a free cluster comes
// before waiting for other Jobs, submitted or not.
func TestMissingQueueThatStartsTheJob(t *testing.T) {
	full := overLimit("worker-1", "paris", "9")
	full.Verdict, full.Reason, full.Free, full.Changes = inspect.Waits, inspect.QuotaInUse, "4", nil
	full.Holders = []inspect.Holder{{Kind: "Job", Namespace: "ml", Name: "a", Resource: "nvidia.com/gpu", Amount: "5", Admitted: true}}
	for _, reason := range []inspect.PlacementReason{inspect.QueueMissing, inspect.NamespaceMissing, inspect.NamespaceNotSelected} {
		for isStarting, want := range map[bool][]string{
			true:  {"create it, where the Job fits now", "wait for ml/a on worker-1 to finish"},
			false: {"wait for ml/a on worker-1 to finish", "create it"},
		} {
			bare := overLimit("worker-2", "tokyo", "")
			bare.Reason, bare.Message = reason, "LocalQueue ml/gpu does not exist"
			bare.Changes = []inspect.PlacementChange{{Message: "create it", Starts: isStarting}}
			q := Question{Inventory: &inspect.Inventory{}, Trace: &inspect.Trace{}}
			all := []inspect.Placement{full, bare}
			for _, a := range []Answer{q.among(nil, nil, all), q.outlook(all)} {
				var texts []string
				for _, f := range a.Fixes {
					texts = append(texts, f.Text)
				}
				assert.DeepEqual(t, texts, want)
			}
		}
	}
}
