package chain

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// lifeOf returns a pair's states on all clusters, by cluster and then by time.
func lifeOf(v *inspect.Inventory, p inspect.Pair, hops []inspect.Hop) []inspect.Interval {
	var all []inspect.Interval
	for _, f := range v.Clusters {
		now := v.ToClusterClock(f.Context, v.Now)
		workloads := v.WorkloadsOf(p, f)
		for _, w := range workloads {
			all = append(all, workloadLife(now, f, w, runningSince(p, f))...)
		}
		if len(workloads) > 0 {
			continue
		}
		for _, j := range p.Jobs() {
			if j.Context == f.Context {
				all = append(all, jobLife(now, f, j, j == p.Origin && j.IsDelegated())...)
			}
		}
	}
	return append(all, lostLife(v, hops)...)
}

// runningSince returns when the first Pod of a pair's Jobs was created on a cluster, zero if there
// is none.
func runningSince(p inspect.Pair, f *inspect.Facts) time.Time {
	var first time.Time
	for _, j := range p.Jobs() {
		if j.Context != f.Context {
			continue
		}
		times := []time.Time{}
		for _, pod := range f.PodsOf(j) {
			times = append(times, pod.CreationTimestamp.Time)
		}
		if j != p.Origin || !j.IsDelegated() {
			// A delegated origin has the status of another cluster.
			times = append(times, timeOf(j.StartTime))
		}
		for _, t := range times {
			if !t.IsZero() && (first.IsZero() || t.Before(first)) {
				first = t
			}
		}
	}
	return first
}

// workloadLife returns the states that a Workload dates.
func workloadLife(now time.Time, f *inspect.Facts, w *kueue.Workload, running time.Time) []inspect.Interval {
	s := newLifeline(f.Context, w.CreationTimestamp.Time)
	end, isOpen := now, true
	if w.Is(kueue.Finished) {
		end, isOpen = w.Condition(kueue.Finished).LastTransitionTime.Time, false
	} else if w.DeletionTimestamp != nil {
		end, isOpen = w.DeletionTimestamp.Time, false
	}
	if evicted := w.Condition(kueue.Evicted); evicted != nil {
		s.begin(inspect.LifeEarlier)
		s.endAt(evicted.LastTransitionTime.Time)
		if evicted.Status == metav1.ConditionTrue {
			s.begin(inspect.LifeEvicted)
			return s.finish(end, isOpen)
		}
		// Kueue sets the condition to False when it reserves quota again, so the time of the
		// eviction is lost.
	}
	s.begin(inspect.LifeWaiting)
	for _, step := range []struct {
		condition string
		state     inspect.LifeState
	}{{kueue.QuotaReserved, inspect.LifeOffered}, {kueue.Admitted, inspect.LifeAdmitted}} {
		if !w.Is(step.condition) {
			continue
		}
		s.endAt(w.Condition(step.condition).LastTransitionTime.Time)
		s.begin(step.state)
	}
	if !running.IsZero() && running.Before(end) {
		s.endAt(running)
		s.begin(inspect.LifeRunning)
	}
	return s.finish(end, isOpen)
}

// jobLife returns the states of a Job without a Workload. isOrigin is whether it has the status of
// another cluster.
func jobLife(now time.Time, f *inspect.Facts, j *inspect.Job, isOrigin bool) []inspect.Interval {
	s := newLifeline(f.Context, j.CreationTimestamp.Time)
	end, isOpen := now, true
	if finished := cmp.Or(j.FinishedTime, j.CompletionTime); finished != nil {
		end, isOpen = finished.Time, false
	} else if j.DeletedAt != nil {
		end, isOpen = j.DeletedAt.Time, false
	}
	s.begin(inspect.LifeWaiting)
	if started := timeOf(j.StartTime); !started.IsZero() {
		s.endAt(started)
		state := inspect.LifeRunning
		if isOrigin {
			state = inspect.LifeAdmitted
		}
		s.begin(state)
	}
	return s.finish(end, isOpen)
}

// lostLife returns since when the management cluster has not reached clusters.
func lostLife(v *inspect.Inventory, hops []inspect.Hop) []inspect.Interval {
	var lost []inspect.Interval
	for i, h := range hops {
		if h.Kind != "MultiKueueCluster" || h.Health != inspect.HealthBad || h.Since == nil {
			continue
		}
		cluster := h.Name
		for _, below := range hops[i+1:] {
			if below.Depth <= h.Depth {
				break
			}
			cluster = cmp.Or(below.Context, cluster)
		}
		lost = append(lost, inspect.Interval{Cluster: cluster, State: inspect.LifeLost, From: h.Since.Time, To: v.ToClusterClock(h.Context, v.Now), IsOpen: true})
	}
	return lost
}

// timeOf returns the time, the zero time for nil.
func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

// lifeline collects the successive states of a Job on one cluster.
type lifeline struct {
	cluster string
	from    time.Time
	state   inspect.LifeState
	done    []inspect.Interval
}

func newLifeline(cluster string, from time.Time) *lifeline {
	return &lifeline{cluster: cluster, from: from}
}

// begin begins a state.
func (s *lifeline) begin(state inspect.LifeState) { s.state = state }

// endAt ends the state. A state that ends before it begins is dropped.
func (s *lifeline) endAt(t time.Time) {
	if s.from.IsZero() {
		s.from = t
	}
	if !t.After(s.from) {
		return
	}
	s.done = append(s.done, inspect.Interval{Cluster: s.cluster, State: s.state, From: s.from, To: t})
	s.from = t
}

// finish ends the last state, and returns all.
func (s *lifeline) finish(t time.Time, isOpen bool) []inspect.Interval {
	s.endAt(t)
	if len(s.done) > 0 {
		s.done[len(s.done)-1].IsOpen = isOpen
	}
	return slices.Clip(s.done)
}
