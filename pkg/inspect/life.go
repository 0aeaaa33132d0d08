package inspect

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// LifeState is a state of a Job on a cluster.
type LifeState string

// The states of a Job's life.
const (
	// LifeEarlier is the time before the last eviction. Only a few events of it are kept, because
	// Kueue dates only the last admission.
	LifeEarlier LifeState = "earlier"
	// LifeWaiting is the time without quota, or before the start if there is no Workload.
	LifeWaiting LifeState = "waiting"
	// LifeEvicted is the time without quota after an eviction.
	LifeEvicted LifeState = "evicted"
	// LifeOffered is the time with quota, before the admission checks are done. On a management
	// cluster of MultiKueue, the Workload is then offered to the workers.
	LifeOffered LifeState = "offered"
	// LifeAdmitted is the time of admission without Pods on this cluster.
	LifeAdmitted LifeState = "admitted"
	// LifeRunning is the time from the first Pod on.
	LifeRunning LifeState = "running"
	// LifeLost is a time in which the management cluster has no connection to this cluster.
	LifeLost LifeState = "lost"
)

// LifeStates returns all states, in the order in which a Job goes through them.
func LifeStates() []LifeState {
	return []LifeState{LifeEarlier, LifeWaiting, LifeEvicted, LifeOffered, LifeAdmitted, LifeRunning, LifeLost}
}

// Interval is a time in which a Job was in one state on one cluster. Times are by the cluster's own
// clock.
type Interval struct {
	// Cluster is a context, or the name of a MultiKueueCluster that no context reaches.
	Cluster string
	State   LifeState
	From    time.Time
	// To is when the state ended, or when the cluster was read if it continues.
	To time.Time
	// IsOpen is whether the state continues.
	IsOpen bool
}

// life returns a pair's states on all clusters, by cluster and then by time.
func (v *Inventory) life(p Pair, hops []Hop) []Interval {
	var all []Interval
	for _, f := range v.Clusters {
		workloads := v.WorkloadsOf(p, f)
		for _, w := range workloads {
			all = append(all, v.workloadLife(f, w, v.runningSince(p, f))...)
		}
		if len(workloads) > 0 {
			continue
		}
		for _, j := range p.Jobs() {
			if j.Context == f.Context {
				all = append(all, v.jobLife(f, j, j == p.Origin && j.IsDelegated())...)
			}
		}
	}
	return append(all, v.lostLife(hops)...)
}

// runningSince returns when the first Pod of a pair's Jobs was created on a cluster, zero if there
// is none.
func (v *Inventory) runningSince(p Pair, f *Facts) time.Time {
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
func (v *Inventory) workloadLife(f *Facts, w *kueue.Workload, running time.Time) []Interval {
	s := newLife(f.Context, w.CreationTimestamp.Time)
	end, isOpen := v.Now, true
	if w.Is(kueue.Finished) {
		end, isOpen = w.Condition(kueue.Finished).LastTransitionTime.Time, false
	} else if w.DeletionTimestamp != nil {
		end, isOpen = w.DeletionTimestamp.Time, false
	}
	if evicted := w.Condition(kueue.Evicted); evicted != nil {
		s.next(LifeEarlier)
		s.until(evicted.LastTransitionTime.Time)
		if evicted.Status == metav1.ConditionTrue {
			s.next(LifeEvicted)
			return s.end(end, isOpen)
		}
		// Kueue sets the condition to False when it reserves quota again, so the time of the
		// eviction is lost.
	}
	s.next(LifeWaiting)
	for _, step := range []struct {
		condition string
		state     LifeState
	}{{kueue.QuotaReserved, LifeOffered}, {kueue.Admitted, LifeAdmitted}} {
		if !w.Is(step.condition) {
			continue
		}
		s.until(w.Condition(step.condition).LastTransitionTime.Time)
		s.next(step.state)
	}
	if !running.IsZero() && running.Before(end) {
		s.until(running)
		s.next(LifeRunning)
	}
	return s.end(end, isOpen)
}

// jobLife returns the states of a Job without a Workload. isOrigin is whether it has the status of
// another cluster.
func (v *Inventory) jobLife(f *Facts, j *Job, isOrigin bool) []Interval {
	s := newLife(f.Context, j.CreationTimestamp.Time)
	end, isOpen := v.Now, true
	if finished := cmp.Or(j.FinishedTime, j.CompletionTime); finished != nil {
		end, isOpen = finished.Time, false
	} else if j.DeletedAt != nil {
		end, isOpen = j.DeletedAt.Time, false
	}
	s.next(LifeWaiting)
	if started := timeOf(j.StartTime); !started.IsZero() {
		s.until(started)
		state := LifeRunning
		if isOrigin {
			state = LifeAdmitted
		}
		s.next(state)
	}
	return s.end(end, isOpen)
}

// lostLife returns since when the management cluster has not reached clusters.
func (v *Inventory) lostLife(hops []Hop) []Interval {
	var lost []Interval
	for i, h := range hops {
		if h.Kind != "MultiKueueCluster" || h.Health != HealthBad || h.Since == nil {
			continue
		}
		cluster := h.Name
		for _, below := range hops[i+1:] {
			if below.Depth <= h.Depth {
				break
			}
			cluster = cmp.Or(below.Context, cluster)
		}
		lost = append(lost, Interval{Cluster: cluster, State: LifeLost, From: h.Since.Time, To: v.Now, IsOpen: true})
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

// life collects successive states.
type life struct {
	cluster string
	from    time.Time
	state   LifeState
	done    []Interval
}

func newLife(cluster string, from time.Time) *life { return &life{cluster: cluster, from: from} }

// next begins a state.
func (s *life) next(state LifeState) { s.state = state }

// until ends the state. A state that ends before it begins is dropped.
func (s *life) until(t time.Time) {
	if s.from.IsZero() {
		s.from = t
	}
	if !t.After(s.from) {
		return
	}
	s.done = append(s.done, Interval{Cluster: s.cluster, State: s.state, From: s.from, To: t})
	s.from = t
}

// end ends the last state, and returns all.
func (s *life) end(t time.Time, isOpen bool) []Interval {
	s.until(t)
	if len(s.done) > 0 {
		s.done[len(s.done)-1].IsOpen = isOpen
	}
	return slices.Clip(s.done)
}
