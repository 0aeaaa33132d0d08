package answer

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestHolderThatNeverRuns checks that the fix for a Job that waits for one that no worker takes is to remove
// that one, at any age. A Job that only waits itself, or that runs, may finish.
func TestHolderThatNeverRuns(t *testing.T) {
	sweep := &inspect.Job{
		Context: "hub", ClusterUID: "hub", APIVersion: "batch/v1", Kind: "Job", Namespace: "ml", Name: "sweep", UID: "1", ManagedBy: delegation.MultiKueue,
	}
	w := hopeless()
	w.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "sweep", UID: "1", Controller: new(true)}}
	w.Labels = map[string]string{"kueue.x-k8s.io/job-uid": "1"}
	hub := &inspect.Facts{Context: "hub", ClusterUID: "hub", Jobs: []*inspect.Job{sweep}, Kueue: &inspect.KueueFacts{Workloads: []*kueue.Workload{w}}}
	v := inspect.NewInventory(time.Unix(10000, 0), []*inspect.Facts{hub}, nil)
	const (
		wait       = "wait for ml/sweep on hub to finish"
		deactivate = "release 8 nvidia.com/gpu that ml/sweep holds on hub without running: deactivate its Workload (the Job then stays suspended until you set active to true)"
		change     = "let ml/sweep run: request less"
		unblock    = "remove ml/sweep from the head of ClusterQueue team-a on hub: deactivate its Workload (the Job then stays suspended until you set active to true)"
	)
	never := inspect.Finding{Code: "JM029", Severity: inspect.Error, Kind: "Job", Namespace: "ml", Name: "sweep", Jobs: []inspect.Ref{inspect.RefOf(sweep)}, Fixes: []command.Fix{{Text: "request less"}}}
	later, early, inQueue := never, never, never
	later.Severity = inspect.Info
	early.Young, early.AwaitsActor = true, true
	inQueue.Code, inQueue.Kind, inQueue.Name = "JM026", "LocalQueue", "gpu"
	for name, tt := range map[string]struct {
		finding    inspect.Finding
		isAdmitted bool
		reason     inspect.PlacementReason
		want       []string
	}{
		"fits on no worker":                {never, false, inspect.QuotaInUse, []string{deactivate, change}},
		"its queue exists on no worker":    {inQueue, false, inspect.QuotaInUse, []string{deactivate, change}},
		"only waits":                       {later, false, inspect.QuotaInUse, []string{wait}},
		"a controller may still act":       {early, false, inspect.QuotaInUse, []string{wait}},
		"runs":                             {never, true, inspect.QuotaInUse, []string{wait}},
		"is first in a queue":              {never, false, inspect.BehindInQueue, []string{unblock, change}},
		"is first in a queue and may pass": {later, false, inspect.BehindInQueue, []string{"wait until Kueue admits ml/sweep on hub"}},
	} {
		p := *inspect.NewPlacement("hub")
		p.Verdict, p.Reason = inspect.Waits, tt.reason
		holder := inspect.Holder{Kind: "Job", Namespace: "ml", Name: "sweep", ClusterQueue: "team-a", Admitted: tt.isAdmitted, IsLocal: true, Since: &metav1.Time{Time: time.Unix(9990, 0)}}
		if tt.reason == inspect.QuotaInUse {
			holder.Resource, holder.Amount = gpu, "8"
		}
		p.Holders, p.Blockers = []inspect.Holder{holder}, []inspect.Holder{holder}
		for _, holders := range []Holders{{}, {Inventories: []*inspect.Inventory{v}}} {
			q := Question{Inventory: v, Trace: &inspect.Trace{Placements: []inspect.Placement{p}}, Findings: []inspect.Finding{tt.finding}, Holders: holders}
			if holders.Inventories != nil {
				// The Job is in another namespace.
				q.Inventory = inspect.NewInventory(v.Now, []*inspect.Facts{{Context: "hub", ClusterUID: "hub"}}, nil)
				assert.Equal(t, len(UnreadHolders(q.Inventory, q.Trace)), 1)
			} else {
				assert.Equal(t, len(UnreadHolders(q.Inventory, q.Trace)), 0)
			}
			var texts []string
			for _, f := range q.holderFixes(&p) {
				texts = append(texts, f.Text)
				if strings.Contains(f.Text, "deactivate") {
					assert.Equal(t, f.Shell(), `kubectl --context hub -n ml patch workloads.kueue.x-k8s.io job-sweep --type merge -p '{"spec":{"active":false}}'`)
				}
			}
			assert.DeepEqual(t, texts, tt.want)
			assert.Equal(t, strings.HasSuffix(q.holder(&p), " without running."), len(tt.want) > 1 && tt.reason == inspect.QuotaInUse, "%s: %s", name, q.holder(&p))
		}
	}
}

// TestNeverRunsFurtherAhead checks that a Job in a StrictFIFO queue is not advised only to wait for the first Job, if one
// between them never runs.
func TestNeverRunsFurtherAhead(t *testing.T) {
	hub := &inspect.Facts{Context: "hub", ClusterUID: "hub", Kueue: &inspect.KueueFacts{}}
	p := *inspect.NewPlacement("w")
	p.Verdict, p.Reason = inspect.Waits, inspect.BehindInQueue
	var found []inspect.Finding
	for _, name := range []string{"first", "second", "third", "fourth"} {
		j := &inspect.Job{Context: "hub", ClusterUID: "hub", APIVersion: "batch/v1", Kind: "Job", Namespace: "ml", Name: name, UID: name, ManagedBy: delegation.MultiKueue}
		w := hopeless()
		w.Name, w.UID, w.Labels = "job-"+name, types.UID("w-"+name), map[string]string{"kueue.x-k8s.io/job-uid": name}
		w.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: name, UID: types.UID(name), Controller: new(true)}}
		hub.Jobs, hub.Kueue.Workloads = append(hub.Jobs, j), append(hub.Kueue.Workloads, w)
		p.Blockers = append(p.Blockers, inspect.Holder{Kind: "Job", Namespace: "ml", Name: name, ClusterQueue: "q"})
		if name == "second" || name == "fourth" {
			found = append(found, inspect.Finding{Code: "JM029", Severity: inspect.Error, Kind: "Job", Jobs: []inspect.Ref{inspect.RefOf(j)}})
		}
	}
	p.Holders = p.Blockers[:1]
	v := inspect.NewInventory(time.Unix(10000, 0), []*inspect.Facts{hub}, nil)
	const suspended = ": deactivate its Workload (the Job then stays suspended until you set active to true)"
	for _, tt := range []struct {
		findings []inspect.Finding
		want     []string
	}{
		{nil, []string{"wait until Kueue admits ml/first on w"}},
		{found, []string{
			"wait until Kueue admits ml/first on w, and remove ml/second, which never runs, from ClusterQueue q on w" + suspended,
			"remove ml/fourth, which never runs, from ClusterQueue q on w" + suspended,
		}},
	} {
		q := Question{Inventory: v, Trace: &inspect.Trace{Placements: []inspect.Placement{p}}, Findings: tt.findings}
		assert.Equal(t, q.among(hub, nil, []inspect.Placement{p}).State == inspect.StateBlocked, len(tt.findings) > 0)
		free := *inspect.NewPlacement("other")
		free.Verdict, free.Reason = inspect.Waits, inspect.QuotaInUse
		assert.Equal(t, q.among(hub, nil, []inspect.Placement{p, free}).State, inspect.StateWaiting)
		fixes := q.holderFixes(&p)
		assert.Equal(t, len(fixes), 1)
		texts := []string{fixes[0].Text}
		for _, step := range fixes[0].Then {
			texts = append(texts, step.Text)
		}
		assert.DeepEqual(t, texts, tt.want)
	}
}
