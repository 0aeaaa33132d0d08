package kueue

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	queuelists "github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/queues"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/kueue"
)

// queues makes the queues of a namespace, with so much on the manager.
func queues(t *testing.T, ns, onManager string) {
	t.Helper()
	assert.NilError(t, multiKueue.AddQueues(t.Context(), kueue.Queues{
		ClusterQueue: ns, LocalQueue: queue, Namespaces: []string{ns},
		Flavor: "default", Resource: "cpu", Quotas: map[string]string{management: onManager, worker1: "8", worker2: "8"},
	}))
}

// TestStarts checks that trace's upper bound for the start of a Job holds. One Job fills each
// worker, with a time limit, and another one waits for either to end.
func TestStarts(t *testing.T) {
	t.Parallel()
	if multiKueue.API == "v1beta1" {
		t.Skip("Kueue before 0.15 copies no time limit to workers")
	}
	t.Run("early", func(t *testing.T) {
		t.Parallel()
		const ns = "starts-early"
		bound, began, isShown := startsWithin(t, ns, "900", true)
		assert.Assert(t, bound != nil, "the Job began at %s, but trace showed no bound", began)
		assert.Assert(t, isShown && !began.After(bound.By.Time), "the bound was %s, and the Job began at %s", bound.By, began)
	})
	t.Run("limit", func(t *testing.T) {
		t.Parallel()
		// On a loaded machine, the limit ends a Job before the test has seen both running or run
		// trace.
		for _, limit := range []string{"60", "240", "960"} {
			bound, began, _ := startsWithin(t, "starts-limit-"+limit, limit, false)
			if bound == nil {
				t.Logf("a limit of %s s was too short for this machine", limit)
				continue
			}
			// Only the limit ends the running Jobs. Times of the API are whole seconds.
			assert.Assert(t, !began.Before(bound.By.Add(-time.Second)), "the bound was %s, and the Job began at %s", bound.By, began)
			return
		}
		t.Error("trace showed no bound")
	})
}

// startsWithin fills both workers with Jobs of a time limit in seconds, submits a third Job, and waits
// until that runs. It returns the earliest bound that trace showed, nil if none, when the Job began,
// and whether queues showed the same bound. With isEarly, it ends the running Jobs once that is so.
func startsWithin(t *testing.T, ns, limit string, isEarly bool) (bound *inspect.Starts, began time.Time, isShown bool) {
	t.Helper()
	queues(t, ns, "40")
	onWorkers(t, "patch", "clusterqueues.kueue.x-k8s.io", ns, "--type=merge", "-p", `{"spec":{"queueingStrategy":"StrictFIFO"}}`)
	for _, name := range []string{"first", "second"} {
		submitOne(t, ns, name, "8", "1h", fmt.Sprintf(", kueue.x-k8s.io/max-exec-time-seconds: %q", limit), "")
	}
	eventually(t, "2 began", func() string {
		count := 0
		for _, name := range []string{"first", "second"} {
			if _, at := startOf(t, ns, name); !at.IsZero() || hasTimedOut(t, ns, name) {
				count++
			}
		}
		return fmt.Sprint(count, " began")
	})
	submitOne(t, ns, "waits", "8", "1h", "", "")
	eventually(t, "it runs", func() string {
		starts, at := startOf(t, ns, "waits")
		if !at.IsZero() {
			began = at
			return "it runs"
		}
		if starts == nil || starts.By == nil {
			return "it waits, and there is no bound"
		}
		// Once one worker is free, the bound is that of the other one.
		if bound == nil || starts.By.Before(bound.By) {
			bound = starts
		}
		isShown = isShown || showsBound(t, ns, "waits", starts)
		if isShown && isEarly {
			finish(t, ns, []string{worker1, worker2}, []string{"first", "second"})
		}
		return "it waits"
	})
	return bound, began, isShown
}

// hasTimedOut is whether Kueue has deactivated a Job at its time limit.
func hasTimedOut(t *testing.T, ns, name string) bool {
	t.Helper()
	return strings.Contains(read[inspect.Trace](t, "trace", name, "-n", ns).Message, "maximum execution time")
}

// startOf returns when a Job began on a worker, or what trace says about when it will.
func startOf(t *testing.T, ns, name string) (said *inspect.Starts, began time.Time) {
	t.Helper()
	traced := read[inspect.Trace](t, "trace", name, "-n", ns)
	for i := range traced.Mirrors {
		if at := traced.Mirrors[i].StartTime; at != nil {
			return nil, at.Time
		}
	}
	return traced.Starts, time.Time{}
}

// showsBound is whether the queues of the workers show a Job as the first one, with the bound that
// trace says. It is false where the Job has begun in between.
func showsBound(t *testing.T, ns, name string, said *inspect.Starts) bool {
	t.Helper()
	list := read[queuelists.PendingList](t, "queues", "--pending", ns)
	i := slices.IndexFunc(list.Items, func(j queuelists.PendingJob) bool { return j.Name == name && j.Context == said.Context })
	if i < 0 || list.Items[i].StartsBy == nil {
		return false
	}
	j := list.Items[i]
	assert.Equal(t, *j.Place, 1)
	assert.Equal(t, *j.Of, 1)
	assert.Equal(t, j.Strategy, "StrictFIFO")
	assert.Assert(t, j.StartsBy.Equal(&metav1.Time{Time: said.By.Time}), "%s and %s", j.StartsBy, said.By)
	return true
}

// TestQueuePositions checks that Kueue starts the Jobs in the order of the positions that queues
// shows.
func TestQueuePositions(t *testing.T) {
	t.Parallel()
	const ns = "places"
	queues(t, ns, "8")
	for class, value := range map[string]int{"places-high": 100, "places-low": -100} {
		text := fmt.Sprintf("apiVersion: kueue.x-k8s.io/%s\nkind: WorkloadPriorityClass\nmetadata: {name: %s}\nvalue: %d\n", multiKueue.API, class, value)
		for _, cluster := range []string{management, worker1, worker2} {
			assert.NilError(t, multiKueue.Apply(t.Context(), cluster, text))
		}
	}
	submit(t, ns, "8", "1h", "holds")
	running(t, ns, 1)
	submitOne(t, ns, "low", "8", "1h", ", kueue.x-k8s.io/priority-class: places-low", "")
	submitOne(t, ns, "normal", "8", "1h", "", "")
	submitOne(t, ns, "high", "8", "1h", ", kueue.x-k8s.io/priority-class: places-high", "")
	order := func() string {
		var names []string
		for _, j := range read[queuelists.PendingList](t, "queues", "--pending", "-n", ns).Items {
			if j.Context == management && j.Place != nil {
				names = append(names, fmt.Sprintf("%d/%d %s", *j.Place, *j.Of, j.Name))
			}
		}
		return strings.Join(names, ", ")
	}
	eventually(t, "1/3 high, 2/3 normal, 3/3 low", order)
	finish(t, ns, []string{worker1, worker2}, []string{"holds"})
	eventually(t, "1/2 normal, 2/2 low", func() string {
		finish(t, ns, []string{worker1, worker2}, []string{"holds"})
		return order()
	})
}

// TestNeverFits checks what check says about a Job that can never run: the quota that it holds on
// the manager, and the Jobs that wait for that quota. The printed command releases the quota.
func TestNeverFits(t *testing.T) {
	t.Parallel()
	if multiKueue.API == "v1beta1" {
		t.Skip("Kueue before 0.15 words the lack of quota in another way")
	}
	const ns = "hopeless"
	queues(t, ns, "9")
	submit(t, ns, "9", "1h", "hopeless")
	var finding *inspect.Finding
	await := func(blocks string) {
		eventually(t, blocks, func() string {
			list := read[inspect.FindingList](t, "check", "-n", ns, "--grace", "0s")
			for i := range list.Items {
				f := &list.Items[i]
				if f.Code == "JM029" && f.Name == "hopeless" && f.Cost != nil {
					finding = f
					return f.Cost.Holds["cpu"] + " " + strings.Join(f.Cost.Blocks, ",")
				}
			}
			return fmt.Sprint(len(list.Items))
		})
	}
	await("9 ")
	submitOne(t, ns, "blocked", "1", "1h", "", "")
	await("9 " + ns + "/blocked")
	t.Log(finding.Cost.Text(), finding.Cost.Release.Shell())
	runFix(t, &finding.Cost.Release)
	eventually(t, "", func() string { return runs(t, ns, "blocked") })
}
