package answer

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// overLimit returns the placement of a Job that needs 8 GPUs, on a cluster with a limit.
func overLimit(context, cluster, limit string) inspect.Placement {
	p := *inspect.NewPlacement(context)
	p.Manager, p.Cluster = cluster == "", cluster
	p.Verdict, p.Reason = inspect.Never, inspect.OverLimit
	p.Resource, p.Flavor, p.Needs, p.Limit = "nvidia.com/gpu", "a100", "8", limit
	p.Changes = []inspect.PlacementChange{
		{Message: "run " + limit + " Pods at once, not 8, to fit on " + context, Stem: "run " + limit + " Pods at once, not 8, to fit on ", Command: "kubectl patch job"},
		{Message: "raise the quota on " + context, Command: "kubectl --context " + context + " patch x", Share: 1},
	}
	return p
}

// TestLimitIsSumOfWorkers checks the fixes of a Job that exceeds the limit of its manager, which is the sum of the connected
// workers: a connection, or a change for a worker. The quota of the manager itself is no fix.
func TestLimitIsSumOfWorkers(t *testing.T) {
	lost := *inspect.NewPlacement("w2")
	lost.Cluster, lost.Verdict, lost.Reason, lost.Message = "tokyo", inspect.Waits, inspect.NotConnected, "hub cannot use it: refused"
	lost.Changes = []inspect.PlacementChange{{Message: "repair MultiKueueCluster tokyo"}}
	const needs = "Needs 8 nvidia.com/gpu; the limit is 2 (hub, flavor a100)."
	for name, tt := range map[string]struct {
		other   inspect.Placement
		message string
		fixes   []string
	}{
		"all are connected": {
			overLimit("w2", "tokyo", "1"), needs + " The largest limit of a worker is 2 (w1).",
			[]string{"run 2 Pods at once, not 8, to fit on hub and w1", "run 1 Pods at once, not 8, to fit on w2", "raise the quota on w1"},
		},
		"one is lost": {
			lost, needs + " The limit lacks tokyo, which hub cannot use.",
			[]string{"repair MultiKueueCluster tokyo", "run 2 Pods at once, not 8, to fit on hub and w1", "raise the quota on w1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := []inspect.Placement{overLimit("hub", "", "2"), overLimit("w1", "paris", "2"), tt.other}
			all[0].SumsWorkers = true
			q := Question{Inventory: &inspect.Inventory{}, Trace: &inspect.Trace{}}
			a := q.gated(&all[0], all)
			assert.Equal(t, a.Message, tt.message)
			var texts []string
			for _, f := range a.Fixes {
				texts = append(texts, f.Text)
			}
			assert.DeepEqual(t, texts, tt.fixes)
		})
	}
}

// TestLimitIsSumOfOneWorker checks that the change of the manager, which names no worker, stays if the worker has none that
// certainly raises the sum. The Jobs there hold quota that does not matter.
func TestLimitIsSumOfOneWorker(t *testing.T) {
	full := overLimit("w2", "tokyo", "9")
	full.Verdict, full.Reason, full.Holders = inspect.Waits, inspect.QuotaInUse, []inspect.Holder{{Kind: "Job", Namespace: "ml", Name: "long", Amount: "9"}}
	borrows := overLimit("w2", "tokyo", "3") // More than the sum, which does not count what it may borrow.
	unread := *inspect.NewPlacement("")
	unread.Cluster, unread.Verdict, unread.Reason = "tokyo", inspect.Unknown, inspect.NoContext
	for name, tt := range map[string]struct {
		worker inspect.Placement
		last   string
	}{
		"another Job holds the quota": {full, "raise the quota on hub"}, "it was not read": {unread, "raise the quota on hub"},
		"it may borrow": {borrows, "raise the quota on hub"}, "it is as small": {overLimit("w1", "paris", "2"), "raise the quota on w1"},
	} {
		all := []inspect.Placement{overLimit("hub", "", "2"), tt.worker}
		all[0].SumsWorkers = true
		q := Question{Inventory: &inspect.Inventory{}, Trace: &inspect.Trace{}}
		a := q.gated(&all[0], all)
		assert.Equal(t, len(a.Fixes), 2, name)
		assert.Assert(t, strings.HasPrefix(a.Fixes[0].Text, "run 2 Pods at once, not 8, to fit on hub"), name)
		assert.Equal(t, a.Fixes[1].Text, tt.last, name)
	}
}

// TestLimitsOfManagerAndWorkers checks that the answer for a Job that exceeds the limits of the
// manager and of all workers names the limit that a smaller Job must respect.
func TestLimitsOfManagerAndWorkers(t *testing.T) {
	for name, tt := range map[string]struct {
		manager string
		workers []string
		message string
		fixes   []string
	}{
		"only the manager": {
			"2", nil, "Needs 8 nvidia.com/gpu; the limit is 2 (hub, flavor a100).",
			[]string{"run 2 Pods at once, not 8, to fit on hub", "raise the quota on hub"},
		},
		"manager is smaller": {
			"2",
			[]string{"4", "6"},
			"Needs 8 nvidia.com/gpu; the limit is 2 (hub, flavor a100). The largest limit of a worker is 6 (w2).",
			[]string{"run 2 Pods at once, not 8, to fit on hub", "raise the quota on hub, and the quota of a worker"},
		},
		"workers are smaller": {
			"6",
			[]string{"4", "2"},
			"Needs 8 nvidia.com/gpu; the largest limit is 4 (w1, flavor a100). The limit on hub is 6.",
			[]string{"run 4 Pods at once, not 8, to fit on w1", "run 2 Pods at once, not 8, to fit on w2", "raise the quota on w1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := []inspect.Placement{overLimit("hub", "", tt.manager)}
			for i, limit := range tt.workers {
				all = append(all, overLimit([]string{"w1", "w2"}[i], []string{"paris", "tokyo"}[i], limit))
			}
			q := Question{Inventory: &inspect.Inventory{}, Trace: &inspect.Trace{}}
			a := q.gated(&all[0], all)
			assert.Equal(t, a.State, inspect.StateBlocked)
			assert.Equal(t, a.Message, tt.message)
			var texts []string
			for _, f := range a.Fixes {
				texts = append(texts, f.Text)
			}
			assert.DeepEqual(t, texts, tt.fixes)
		})
	}
}

// TestChangeForSeveralClusters checks that a change of the Job that helps on several clusters is one fix.
func TestChangeForSeveralClusters(t *testing.T) {
	all := []inspect.Placement{overLimit("w1", "paris", "4"), overLimit("w2", "tokyo", "4")}
	for i := range all {
		c := &all[i].Changes[0]
		c.Stem, c.Command = "request at most 4 nvidia.com/gpu, for ", "kubectl --context hub patch job train"
	}
	q := Question{Inventory: &inspect.Inventory{}, Trace: &inspect.Trace{}}
	var texts []string
	for _, f := range q.changes(all) {
		texts = append(texts, f.Text+": "+f.Shell())
	}
	assert.DeepEqual(t, texts, []string{
		"request at most 4 nvidia.com/gpu, for w1 and w2: kubectl --context hub patch job train",
		"raise the quota on w1: kubectl --context w1 patch x", "raise the quota on w2: kubectl --context w2 patch x",
	})
}

// TestReasonsInAnyOrder checks that clusters with the same reasons, in any order, share one reason.
func TestReasonsInAnyOrder(t *testing.T) {
	var all []inspect.Placement
	for context, message := range map[string]string{"w1": "taint; labels", "w2": "labels; taint", "w3": "labels"} {
		p := *inspect.NewPlacement(context)
		p.Verdict, p.Reason, p.Message = inspect.Never, inspect.FlavorMismatch, message
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b inspect.Placement) int { return cmp.Compare(a.Context, b.Context) })
	assert.Equal(t, reasonsByCluster(all, func(*inspect.Placement) bool { return true }), "Fits on no cluster. w1, w2: taint; labels; w3: labels.")
	all[0].Message, all[1].Message = "flavor spot (pool=spot) does not match its node selector pool=none", "flavor od (pool=od) does not match its node selector"
	assert.Equal(t, reasonsByCluster(all, func(*inspect.Placement) bool { return true }),
		"Fits on no cluster. w1: flavor spot (pool=spot) does not match its node selector pool=none; 2 more on w2 and w3.")
}

// TestOfferedInVain checks that a Job that was offered only to a worker that can never run it waits for
// the missing offer, not for that worker.
func TestOfferedInVain(t *testing.T) {
	job := &inspect.Job{
		APIVersion: "batch/v1", Kind: "Job", Context: "hub", Namespace: "ml", Name: "big", UID: "big", ManagedBy: delegation.MultiKueue,
		Status: delegation.Suspended, Suspended: true, Marks: &delegation.Marks{Queue: "gpu"},
	}
	w := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "job-big", UID: "w", Labels: map[string]string{delegation.JobUIDLabel: "big"}}}
	w.Status.Nominated = []string{"paris"}
	w.Status.Conditions = []metav1.Condition{{Type: kueue.QuotaReserved, Status: metav1.ConditionTrue}}
	room := *inspect.NewPlacement("w2")
	room.Cluster, room.Verdict, room.Reason = "tokyo", inspect.Fits, inspect.HasRoom
	waits := overLimit("w1", "paris", "4")
	waits.Verdict, waits.Reason, waits.Free = inspect.Waits, inspect.QuotaInUse, "0"
	lost := inspect.Finding{Code: "JM031", Severity: inspect.Error, Kind: "MultiKueueCluster", Name: "paris", Message: "no Kueue runs on w1", Jobs: []inspect.Ref{inspect.RefOf(job)}}
	offer := inspect.Finding{Code: "JM032", Severity: inspect.Info, Kind: "MultiKueueConfig", Name: "fleet", Jobs: []inspect.Ref{inspect.RefOf(job)}, Fixes: []command.Fix{{Text: "offer it again"}}}
	for name, tt := range map[string]struct {
		paris   inspect.Placement
		message string
		fixes   int
	}{
		"paris can never run it":         {overLimit("w1", "paris", "4"), "Fits on w2 now, but Kueue has offered it only to w1, which can never run it.", 1},
		"paris is full, and has a fault": {waits, "No Kueue runs on w1.", 1},
	} {
		t.Run(name, func(t *testing.T) {
			hub := &inspect.Facts{Context: "hub", ClusterUID: "hub", Jobs: []*inspect.Job{job}, Kueue: &inspect.KueueFacts{Version: "v1beta2", Workloads: []*kueue.Workload{w}}}
			v := inspect.NewInventory(time.Unix(6000, 0), []*inspect.Facts{hub}, nil)
			trace := &inspect.Trace{Placements: []inspect.Placement{tt.paris, room}, Findings: []inspect.Finding{lost, offer}}
			q := Question{Inventory: v, Pair: inspect.Pair{Origin: job}, Trace: trace}
			a := q.Answer()
			assert.Equal(t, a.Message, tt.message)
			assert.Equal(t, len(a.Fixes), tt.fixes)
		})
	}
}

// TestHoldersOfQuota checks which Job the answer for a waiting Job names, and whether waiting for
// it helps: a Job that holds quota without running may never finish, and a Job with a lower priority is
// preempted.
func TestHoldersOfQuota(t *testing.T) {
	now := time.Unix(10000, 0)
	holder := func(name string, isAdmitted bool, age time.Duration) inspect.Holder {
		return inspect.Holder{
			Kind: "Job", Namespace: "ml", Name: name, Resource: "cpu", Amount: "2", Admitted: isAdmitted,
			Since: &metav1.Time{Time: now.Add(-age)},
		}
	}
	victim := holder("low", true, time.Hour)
	victim.Preemptible = true
	odd := holder("odd", false, time.Hour)
	odd.Kind = "Oddity"
	stray := holder("old", true, time.Hour)
	stray.OriginUnread = []string{"lost"}
	for name, tt := range map[string]struct {
		holders  []inspect.Holder
		preempts bool
		message  string
		fixes    []string
	}{
		"all run": {
			[]inspect.Holder{holder("a", true, time.Hour), holder("b", true, time.Hour)},
			false,
			"ml/a holds 2; ml/b holds 2.",
			[]string{"wait for ml/a and others on hub to finish"},
		},
		"one never ran": {
			[]inspect.Holder{holder("a", true, time.Hour), holder("b", false, time.Hour), holder("c", true, time.Hour), holder("d", true, time.Hour)},
			false,
			"ml/a holds 2; ml/b holds 2 without running; 2 others hold the rest.",
			[]string{"wait for ml/a and others on hub to finish", "find out why ml/b holds 2 cpu of the missing 4 without running"},
		},
		"two that never ran hold enough": {
			[]inspect.Holder{holder("a", true, time.Hour), holder("b", false, time.Hour), holder("c", false, time.Hour), holder("d", false, time.Hour)},
			false,
			"ml/a holds 2; ml/b holds 2 without running; 2 others hold the rest.",
			[]string{"find out why ml/b holds 2 cpu without running; find out why ml/c holds 2 cpu without running", "wait for ml/a and others on hub to finish"},
		},
		"none runs": {
			[]inspect.Holder{holder("b", false, time.Hour)},
			false,
			"ml/b holds 2 without running.",
			[]string{"find out why ml/b holds 2 cpu of the missing 4 without running"},
		},
		"one never ran, one is about to run": {
			[]inspect.Holder{holder("b", false, time.Hour), holder("c", false, time.Second)},
			false,
			"ml/b holds 2 without running; ml/c holds 2.",
			[]string{"wait for ml/c and others on hub to finish", "find out why ml/b holds 2 cpu of the missing 4 without running"},
		},
		"one that never ran has no fix": {
			[]inspect.Holder{odd, holder("b", false, time.Hour), holder("c", true, time.Hour)},
			false,
			"ml/odd holds 2 without running; 2 others hold the rest.",
			[]string{"wait for ml/c and others on hub to finish", "find out why ml/b holds 2 cpu of the missing 4 without running"},
		},
		"one is about to run": {
			[]inspect.Holder{holder("b", false, time.Second)}, false, "ml/b holds 2.", []string{"wait for ml/b on hub to finish"},
		},
		"one may be an orphan": {
			[]inspect.Holder{stray},
			false, "ml/old holds 2; no context that was read has its origin.",
			[]string{"wait for ml/old on hub to finish; if lost has no origin of it, it is an orphan"},
		},
		"one is preempted": {
			[]inspect.Holder{victim}, true, "Kueue can preempt ml/low.", []string{"wait: Kueue on hub preempts ml/low, which may run again later"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := *inspect.NewPlacement("hub")
			p.Verdict, p.Reason, p.Resource, p.Needs, p.Free = inspect.Waits, inspect.QuotaInUse, "cpu", "4", "0"
			p.Holders, p.Preempts = tt.holders, tt.preempts
			q := Question{Inventory: &inspect.Inventory{Now: now}, Trace: &inspect.Trace{}}
			assert.Equal(t, q.needs(&p), "Needs 4 cpu; 0 free on hub. "+tt.message)
			var texts []string
			for _, f := range q.fixesFor([]inspect.Placement{p}) {
				text := f.Text
				for _, step := range f.Then {
					text += "; " + step.Text
				}
				texts = append(texts, text)
			}
			assert.DeepEqual(t, texts, tt.fixes)
		})
	}
}

// TestHolderWithoutWorker checks that the answer says that a holder never runs if Kueue has admitted it
// for MultiKueue in a queue without MultiKueue's check.
func TestHolderWithoutWorker(t *testing.T) {
	now := time.Unix(10000, 0)
	for name, tt := range map[string]struct {
		checks []kueue.CheckState
		want   string
	}{
		"no check": {nil, "ml/stuck holds 2 without running."},
		"check":    {[]kueue.CheckState{{Name: "multikueue", State: kueue.CheckReady}}, "ml/stuck holds 2."},
	} {
		job := &inspect.Job{
			Context: "hub", ClusterUID: "hub", APIVersion: "batch/v1", Kind: "Job", Namespace: "ml", Name: "stuck", UID: "1", ManagedBy: delegation.MultiKueue,
		}
		w := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ml", Name: "job-stuck", UID: "w",
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "stuck", UID: "1", Controller: ptr.To(true)}},
		}}
		w.Status.Conditions = []metav1.Condition{{Type: kueue.Admitted, Status: metav1.ConditionTrue}}
		w.Status.AdmissionChecks = tt.checks
		hub := &inspect.Facts{Context: "hub", ClusterUID: "hub", Jobs: []*inspect.Job{job}, Kueue: &inspect.KueueFacts{Workloads: []*kueue.Workload{w}}}
		p := *inspect.NewPlacement("hub")
		p.Holders = []inspect.Holder{{Kind: "Job", Namespace: "ml", Name: "stuck", Resource: "cpu", Amount: "2", Admitted: true, Since: &metav1.Time{Time: now.Add(-time.Hour)}}}
		q := Question{Inventory: &inspect.Inventory{Now: now}, Around: inspect.NewInventory(now, []*inspect.Facts{hub}, nil), Trace: &inspect.Trace{}}
		assert.Equal(t, q.holder(&p), tt.want, name)
	}
}

// TestOrphansThatDecide checks that a finding about an orphan names a Job only if the Job waits for
// the orphan's quota: not for the quota of a worker, while the manager lets the Job not pass.
func TestOrphansThatDecide(t *testing.T) {
	at := func(context string, verdict inspect.Verdict, holder string) inspect.Placement {
		p := *inspect.NewPlacement(context)
		p.Manager, p.Verdict, p.Reason, p.Resource, p.Needs, p.Free = context == "hub", verdict, inspect.QuotaInUse, "cpu", "5", "3"
		p.Holders = []inspect.Holder{{Kind: "Job", Namespace: "sre", Name: holder, Resource: "cpu", Amount: "5"}}
		return p
	}
	for name, tt := range map[string]struct {
		hub  inspect.Verdict
		want string
	}{
		"waits for the manager's quota": {inspect.Waits, "orphan"},
		"waits for the worker's quota":  {inspect.Fits, "orphan; holds 5 cpu that sre/r2 waits for"},
	} {
		t.Run(name, func(t *testing.T) {
			trace := &inspect.Trace{Reason: inspect.ReasonQuotaInUse, Placements: []inspect.Placement{at("hub", tt.hub, "r3"), at("w1", inspect.Waits, "r1")}}
			q := Question{Inventory: &inspect.Inventory{}, Trace: trace, Pair: inspect.Pair{Origin: &inspect.Job{Namespace: "sre", Name: "r2"}}}
			findings := []inspect.Finding{{Code: "JM053", Context: "w1", Namespace: "sre", Name: "r1", Message: "orphan"}}
			q.linkOrphans(findings)
			assert.Equal(t, findings[0].Message, tt.want)
		})
	}
}

// TestUnreadOrigins checks that an answer depends on the unread contexts that may own the holder of
// the lacking quota, only if the Job waits for that holder alone.
func TestUnreadOrigins(t *testing.T) {
	for verdict, want := range map[inspect.Verdict]int{inspect.Waits: 1, inspect.Never: 0} {
		p := *inspect.NewPlacement("hub")
		p.Verdict, p.Holders = verdict, []inspect.Holder{{Namespace: "ml", Name: "old", OriginUnread: []string{"lost"}}}
		found := unreadHolders([]inspect.Placement{p})
		assert.Equal(t, len(found), want)
		for _, u := range found {
			assert.Equal(t, u.What, "origin of ml/old")
			assert.DeepEqual(t, u.Contexts, []string{"lost"})
		}
		other := *inspect.NewPlacement("worker")
		other.Verdict, other.Holders = inspect.Waits, []inspect.Holder{{Namespace: "ml", Name: "owned"}}
		assert.Equal(t, len(unreadHolders([]inspect.Placement{p, other})), 0, "the Job can wait for another holder")
	}
}
