package history_test

import (
	"errors"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/history"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// now is when the fleet is read. at returns a time some minutes after the
// start of the day.
var now = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

func at(minutes int) time.Time {
	return time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC).Add(time.Duration(minutes) * time.Minute)
}

func times(minutes int) *metav1.Time { return &metav1.Time{Time: at(minutes)} }

// job is a finished Job that was created at the start of the day.
func job(name string, owner delegation.Owner, status delegation.Status, change func(*inspect.Job)) *inspect.Job {
	j := &inspect.Job{
		Context: "manager", APIVersion: "batch/v1", Kind: "Job", Namespace: "ml", Name: name, UID: "uid-" + name,
		ManagedBy: owner, Status: status, CreationTimestamp: *times(0), StartTime: times(11), FinishedTime: times(60),
	}
	if change != nil {
		change(j)
	}
	return j
}

// past is a Workload of a Job. It was admitted after ten minutes and ended 50
// minutes later.
func past(name string, change func(*kueue.Past)) *kueue.Past {
	w := &kueue.Past{
		Namespace: "ml", Name: "job-" + name, UID: "workload-" + name, JobUID: "uid-" + name, APIVersion: "batch/v1", Kind: "Job", Job: name,
		Queue: "gpu", ClusterQueue: "team", Cluster: "paris", CreatedAt: at(0), AdmittedAt: at(10), FinishedAt: at(60), Reason: kueue.FinishedSucceeded, Lost: new(time.Duration),
		Holds: []kueue.FlavorQuantity{
			{Flavor: "a100", Resource: "nvidia.com/gpu", Quantity: resource.MustParse("4")},
			{Flavor: "cpu", Resource: "memory", Quantity: resource.MustParse("12Gi")},
		},
	}
	if change != nil {
		change(w)
	}
	return w
}

func pastOf(jobs []*inspect.Job, workloads ...*kueue.Past) *inspect.Past {
	p := &inspect.Past{Workloads: workloads}
	for _, j := range jobs {
		p.Add(j)
	}
	return p
}

func listOf(o history.Options, jobs []*inspect.Job, workloads ...*kueue.Past) *inspect.HistoryList {
	f := &inspect.Facts{
		Context: "manager", ClusterUID: "m", Kueue: &inspect.KueueFacts{Version: "v1beta2"},
		Past: pastOf(jobs, workloads...), Gaps: map[inspect.Part]error{},
	}
	f.Past.IsManager = true
	return history.List(inspect.NewInventory(now, []*inspect.Facts{f}, nil), o)
}

// TestUnreadWorkload checks that a Workload that may not be read is not called deleted.
func TestUnreadWorkload(t *testing.T) {
	f := &inspect.Facts{
		Context: "manager", Kueue: &inspect.KueueFacts{}, Past: pastOf([]*inspect.Job{job("a", delegation.MultiKueue, delegation.Complete, nil)}),
		Gaps: map[inspect.Part]error{inspect.PartWorkloads: errors.New("forbidden")},
	}
	list := history.List(inspect.NewInventory(now, []*inspect.Facts{f}, nil), history.Options{})
	assert.DeepEqual(t, list.Omitted, []inspect.Omission{{Count: 1, Reason: "whose Workload could not be read: evictions and resources are unknown"}})
}

// one returns the only Job of a list.
func one(t *testing.T, list *inspect.HistoryList) inspect.PastJob {
	t.Helper()
	assert.Equal(t, len(list.Items), 1, "%+v", list.Items)
	return list.Items[0]
}

// TestJob checks that a Job with its Workload has the Workload's times.
func TestJob(t *testing.T) {
	row := one(t, listOf(history.Options{}, []*inspect.Job{job("a", delegation.MultiKueue, delegation.Complete, nil)}, past("a", nil)))
	assert.Equal(t, *row.Cluster, "paris")
	assert.Equal(t, *row.WaitSeconds, int64(600))
	assert.Equal(t, *row.RunSeconds, int64(3000))
	assert.Equal(t, *row.Evictions, int32(0))
	assert.Equal(t, *row.LostSeconds, int64(0))
	assert.Equal(t, row.Result, inspect.ResultComplete)
	assert.DeepEqual(t, row.Resources, map[string]string{"nvidia.com/gpu": "4", "memory": "12Gi"})
	assert.DeepEqual(t, row.Flavors, map[string]string{"nvidia.com/gpu": "a100", "memory": "cpu"})
	assert.Equal(t, row.ResourceHours["memory"], 10.0)
	assert.Equal(t, row.Queue, "gpu")
}

// TestClusterNotNoted checks that a succeeded Job without a recorded cluster
// is not said to have run on none.
func TestClusterNotNoted(t *testing.T) {
	row := one(t, listOf(history.Options{}, []*inspect.Job{job("a", delegation.MultiKueue, delegation.Complete, nil)},
		past("a", func(w *kueue.Past) { w.Cluster = "" })))
	assert.Assert(t, row.Cluster == nil, "%+v", row)
	row = one(t, listOf(history.Options{}, []*inspect.Job{job("a", delegation.MultiKueue, delegation.Failed, nil)},
		past("a", func(w *kueue.Past) { w.Cluster, w.Reason = "", "Failed" })))
	assert.Equal(t, *row.Cluster, "")
}

// TestEvicted checks that the time lost to evictions does not count as a
// wait.
func TestEvicted(t *testing.T) {
	evicted := past("a", func(w *kueue.Past) {
		w.AdmittedAt, w.Lost = at(40), new(25*time.Minute)
		w.Evictions = map[string]int32{"Preempted": 1, "AdmissionCheck": 2}
	})
	row := one(t, listOf(history.Options{}, []*inspect.Job{job("a", delegation.MultiKueue, delegation.Failed, nil)}, evicted))
	assert.Equal(t, *row.WaitSeconds, int64(15*60))
	assert.Equal(t, *row.RunSeconds, int64(20*60))
	assert.Equal(t, *row.LostSeconds, int64(25*60))
	assert.Equal(t, *row.Evictions, int32(3))
	assert.DeepEqual(t, row.EvictionReasons, map[string]int32{"Preempted": 1, "AdmissionCheck": 2})
	assert.Equal(t, row.Result, inspect.ResultFailed)
}

// TestLossForgotten: a loss that Kueue forgot is unknown, and no wait without it is claimed.
func TestLossForgotten(t *testing.T) {
	deactivated := past("a", func(w *kueue.Past) {
		w.AdmittedAt, w.Lost, w.Evictions = at(40), nil, map[string]int32{"Deactivated": 1}
	})
	list := listOf(history.Options{}, []*inspect.Job{job("a", delegation.MultiKueue, delegation.Complete, nil)}, deactivated)
	row := one(t, list)
	assert.Assert(t, row.LostSeconds == nil)
	assert.Equal(t, *row.WaitSeconds, int64(40*60))
	assert.DeepEqual(t, list.Omitted, []inspect.Omission{{Count: 1, Reason: "evicted, and Kueue kept no time lost: the wait may include earlier runs"}})
}

// TestElastic checks that a Job that changed its size was admitted once, and
// used what each of its Workloads got.
func TestElastic(t *testing.T) {
	first := past("a", func(w *kueue.Past) {
		w.Name, w.UID, w.FinishedAt, w.Reason = "job-a-1", "1", at(30), kueue.SliceReplaced
	})
	second := past("a", func(w *kueue.Past) {
		w.Name, w.UID, w.CreatedAt, w.AdmittedAt = "job-a-2", "2", at(29), at(30)
		w.Holds = []kueue.FlavorQuantity{{Flavor: "a100", Resource: "nvidia.com/gpu", Quantity: resource.MustParse("8")}}
	})
	row := one(t, listOf(history.Options{}, []*inspect.Job{job("a", delegation.MultiKueue, delegation.Complete, nil)}, second, first))
	assert.Equal(t, *row.WaitSeconds, int64(600))
	assert.Equal(t, *row.RunSeconds, int64(3000))
	assert.Equal(t, row.ResourceHours["nvidia.com/gpu"], 4.0/3+8.0/2)
	assert.DeepEqual(t, row.Resources, map[string]string{"nvidia.com/gpu": "8"})
}

// TestWithoutWorkload checks that nothing is reported that no object shows.
func TestWithoutWorkload(t *testing.T) {
	list := listOf(history.Options{}, []*inspect.Job{job("a", delegation.MultiKueue, delegation.Complete, nil)})
	row := one(t, list)
	assert.Assert(t, row.Cluster == nil && row.Evictions == nil && row.LostSeconds == nil && row.Resources == nil && row.ResourceHours == nil)
	assert.Equal(t, *row.WaitSeconds, int64(11*60))
	assert.DeepEqual(t, list.Omitted, []inspect.Omission{{Count: 1, Reason: "whose Workload was deleted: evictions and resources are unknown"}})
	never := one(t, listOf(history.Options{}, []*inspect.Job{job("a", delegation.MultiKueue, delegation.Failed, func(j *inspect.Job) { j.StartTime = nil })}))
	assert.Assert(t, never.WaitSeconds == nil && never.RunSeconds == nil)
}

// TestDispatched checks that a dispatched Job ran where its mark says.
func TestDispatched(t *testing.T) {
	marked := job("a", delegation.Dispatch, delegation.Complete, func(j *inspect.Job) {
		j.Marks = &delegation.Marks{Mirror: delegation.Place{ClusterUID: "w", Namespace: "ml", Name: "a", UID: "x"}}
	})
	manager := &inspect.Facts{Context: "manager", ClusterUID: "m", Past: pastOf([]*inspect.Job{marked})}
	worker := &inspect.Facts{Context: "rome", ClusterUID: "w", Past: &inspect.Past{}}
	row := one(t, history.List(inspect.NewInventory(now, []*inspect.Facts{manager, worker}, nil), history.Options{}))
	assert.Equal(t, *row.Cluster, "rome")
	row = one(t, history.List(inspect.NewInventory(now, []*inspect.Facts{manager}, nil), history.Options{}))
	assert.Equal(t, *row.Cluster, "w")
	// Without the right to read kube-system, the mark has the UID of a namespace, which names no cluster.
	marked = job("a", delegation.Dispatch, delegation.Complete, func(j *inspect.Job) {
		j.Marks = &delegation.Marks{Mirror: delegation.Place{NamespaceUID: "n", Namespace: "ml", Name: "a", UID: "x"}}
	})
	manager.Past = pastOf([]*inspect.Job{marked})
	row = one(t, history.List(inspect.NewInventory(now, []*inspect.Facts{manager, worker}, nil), history.Options{}))
	assert.Assert(t, row.Cluster == nil)
	worker.NamespaceUIDs = map[string]string{"ml": "n"}
	row = one(t, history.List(inspect.NewInventory(now, []*inspect.Facts{manager, worker}, nil), history.Options{}))
	assert.Equal(t, *row.Cluster, "rome")
}

// TestWorkloadAlone checks that a Workload represents a Job of another kind,
// or a deleted one, if a cluster got it.
func TestWorkloadAlone(t *testing.T) {
	gone := past("a", func(w *kueue.Past) {
		w.Reason, w.Kind, w.APIVersion = kueue.OwnerNotFound, "JobSet", "jobset.x-k8s.io/v1alpha2"
	})
	local := past("b", func(w *kueue.Past) { w.Cluster = "" })
	running := past("c", func(w *kueue.Past) { w.FinishedAt = time.Time{} })
	unstarted := past("d", func(w *kueue.Past) { w.Reason = kueue.FailedToStart })
	row := one(t, listOf(history.Options{}, nil, gone, local, running, unstarted))
	assert.Equal(t, row.Kind+"/"+row.Name, "JobSet/a")
	assert.Equal(t, row.Result, inspect.ResultDeleted)
	assert.Equal(t, row.ManagedBy, delegation.MultiKueue)
	// Its labels are unknown.
	list := listOf(history.Options{IsSelected: true}, nil, gone, local)
	assert.Equal(t, len(list.Items), 0)
	assert.Equal(t, list.Omitted[0].Count, 1)
}

// TestOwnerNotFound checks that a Job that Kueue did not find counts as deleted only if it does not exist.
func TestOwnerNotFound(t *testing.T) {
	stuck := past("a", func(w *kueue.Past) { w.Reason = kueue.OwnerNotFound })
	list := func(exists bool, change func(*inspect.Job)) *inspect.HistoryList {
		p := pastOf(nil, stuck)
		if exists {
			p.AddOpen(job("a", delegation.MultiKueue, delegation.Running, change))
		}
		// A second context read the same cluster, and may not list Jobs.
		facts := []*inspect.Facts{
			{Context: "manager", ClusterUID: "m", Kueue: &inspect.KueueFacts{Version: "v1beta2"}, Past: p},
			{Context: "other", ClusterUID: "m", Kueue: &inspect.KueueFacts{Version: "v1beta2"}, Past: pastOf(nil, stuck)},
		}
		return history.List(inspect.NewInventory(now, facts, nil), history.Options{})
	}
	assert.Equal(t, len(list(true, nil).Items), 0)
	assert.Equal(t, one(t, list(false, nil)).Result, inspect.ResultDeleted)
	assert.Equal(t, one(t, list(true, func(j *inspect.Job) { j.DeletedAt = times(60) })).Result, inspect.ResultDeleted)
}

// TestSince checks that Jobs that ended earlier are left out, and that Jobs
// with an unknown end are counted.
func TestSince(t *testing.T) {
	jobs := []*inspect.Job{
		job("early", delegation.MultiKueue, delegation.Complete, func(j *inspect.Job) { j.FinishedTime = times(30) }),
		job("late", delegation.MultiKueue, delegation.Complete, nil),
		job("undated", delegation.MultiKueue, delegation.Complete, func(j *inspect.Job) { j.FinishedTime = nil }),
	}
	list := listOf(history.Options{Since: at(45)}, jobs)
	assert.Equal(t, one(t, list).Name, "late")
	assert.Equal(t, list.Omitted[0], inspect.Omission{Count: 1, Reason: "left out by --since: nothing dates the end"})
	list = listOf(history.Options{}, jobs)
	assert.Equal(t, len(list.Items), 3)
	assert.Equal(t, list.Items[2].Name, "undated")
}

// TestTwice checks that a Job that two contexts show counts once, even if the
// clusters are not known to be one.
func TestTwice(t *testing.T) {
	read := func(context string) *inspect.Facts {
		j := job("a", delegation.MultiKueue, delegation.Complete, nil)
		j.Context = context
		return &inspect.Facts{Context: context, Past: pastOf([]*inspect.Job{j}, past("a", nil))}
	}
	assert.Equal(t, len(history.List(inspect.NewInventory(now, []*inspect.Facts{read("a"), read("b")}, nil), history.Options{}).Items), 1)
}

// TestUnchecked checks that unread parts are reported, and that no management
// cluster was read.
func TestUnchecked(t *testing.T) {
	lost := &inspect.Facts{Context: "lost", Err: errors.New("connection refused")}
	refused := &inspect.Facts{Context: "refused", Past: &inspect.Past{}, Gaps: map[inspect.Part]error{inspect.PartWorkloads: errors.New("no")}}
	worker := &inspect.Facts{Context: "worker", ClusterUID: "w", Past: &inspect.Past{HasMirrors: true}}
	list := history.List(inspect.NewInventory(now, []*inspect.Facts{lost, refused, worker}, nil), history.Options{})
	var what []string
	for _, u := range list.Unchecked {
		what = append(what, u.What)
	}
	assert.DeepEqual(t, what, []string{"everything", "workloads", "origins of mirrors"})
	assert.Equal(t, len(list.Errors), 2)
}
