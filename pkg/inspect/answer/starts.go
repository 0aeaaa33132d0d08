package answer

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/history"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// How many similar Jobs are enough to estimate a wait, and how many are used.
const (
	leastSamples = 5
	mostSamples  = 20
)

// starts returns what is known about when a waiting Job will start, nil if
// nothing is.
func (q *Question) starts() *inspect.Starts {
	o := q.Pair.Origin
	if o == nil || len(q.Trace.Placements) == 0 {
		return nil
	}
	s := &inspect.Starts{}
	for i := range q.Trace.Placements {
		p := &q.Trace.Placements[i]
		if p.StartsBy != nil && !p.Manager && p.Verdict == inspect.Waits && (s.By == nil || p.StartsBy.Before(s.By)) {
			s.By, s.Context = p.StartsBy.DeepCopy(), p.Context
		}
	}
	manager := q.Inventory.Facts(o.Context)
	if gate := placement.Gate(q.Trace.Placements); gate != nil {
		// The Job must get quota on the management cluster first.
		s.By, s.Context = nil, ""
	}
	addSamples(s, q.samples(manager), int64(q.Inventory.Age(o.Context, o.CreationTimestamp.Time).Seconds()))
	if s.By == nil && s.Samples == 0 {
		return nil
	}
	return s
}

// addSamples adds statistics of waits in seconds, if there are enough of them. For a Job that has
// waited longer than 9 of 10, they are no forecast.
func addSamples(s *inspect.Starts, waits []int64, waited int64) {
	if len(waits) < leastSamples {
		return
	}
	most := history.Percentile90(waits)
	if waited > *most {
		return
	}
	s.Samples = len(waits)
	s.WaitMedianSeconds, s.WaitP90Seconds = history.Median(waits), most
}

// samples returns the waits in seconds of the last admitted Jobs of the same
// queue and size, without the time lost to evictions.
func (q *Question) samples(manager *inspect.Facts) []int64 {
	if manager == nil || manager.Kueue == nil {
		return nil
	}
	own := q.Inventory.WorkloadsOf(q.Pair, manager)
	all, ok := manager.Kueue.Capacity.WorkloadsOf(q.Pair.Origin.Namespace)
	if !ok || len(own) == 0 {
		return nil
	}
	return waitsLike(own[0], all)
}

// waitsLike returns the waits of the Workloads that have the same queue and
// size as own.
func waitsLike(own *kueue.Workload, all []*kueue.Workload) []int64 {
	size := sizeOf(own)
	if size == nil {
		return nil
	}
	type sample struct {
		admitted time.Time
		wait     int64
	}
	var samples []sample
	for _, w := range all {
		admitted := w.Condition(kueue.Admitted)
		isLike := w.UID != own.UID && w.Spec.QueueName == own.Spec.QueueName && admitted != nil && w.Is(kueue.Admitted) && isSameSize(size, sizeOf(w))
		if !isLike || w.Status.PastSeconds == nil && w.Condition(kueue.Evicted) != nil {
			continue
		}
		wait := admitted.LastTransitionTime.Sub(w.CreationTimestamp.Time)
		if w.Status.PastSeconds != nil {
			wait -= time.Duration(*w.Status.PastSeconds) * time.Second
		}
		samples = append(samples, sample{admitted.LastTransitionTime.Time, int64(max(0, wait).Seconds())})
	}
	slices.SortFunc(samples, func(a, b sample) int { return b.admitted.Compare(a.admitted) })
	var waits []int64
	for _, s := range samples[:min(mostSamples, len(samples))] {
		waits = append(waits, s.wait)
	}
	return waits
}

// sizeOf returns what a Workload has in total on the management cluster, nil
// if it has no quota.
func sizeOf(w *kueue.Workload) map[corev1.ResourceName]resource.Quantity {
	if w.Status.Admission == nil {
		return nil
	}
	return w.Status.Admission.Given()
}

func isSameSize(a, b map[corev1.ResourceName]resource.Quantity) bool {
	return b != nil && maps.EqualFunc(a, b, func(x, y resource.Quantity) bool { return x.Cmp(y) == 0 })
}
