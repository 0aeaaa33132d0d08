package history

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// eachOf calls visit for the finished Jobs of a cluster. It returns how many
// were left out because their labels are unknown. visit may not keep the Job,
// but may keep what the Job refers to.
func eachOf(v *inspect.Inventory, f *inspect.Facts, isSelected bool, visit func(*inspect.PastJob)) (left int) {
	if f.Err != nil || f.Past == nil {
		return 0
	}
	l := &ledger{inventory: v, facts: f, grants: map[*kueue.FlavorQuantity]grant{}}
	workloads := make(map[string][]*kueue.Past, len(f.Past.Workloads))
	for _, w := range f.Past.Workloads {
		// A Workload without an owner and a label counts as its own Job.
		key := cmp.Or(w.JobUID, w.UID)
		workloads[key] = append(workloads[key], w)
	}
	var row inspect.PastJob
	for _, j := range f.Past.Jobs {
		row = *j
		l.complete(&row, workloads[j.UID])
		visit(&row)
		delete(workloads, j.UID)
	}
	for _, key := range slices.Sorted(maps.Keys(workloads)) {
		all := workloads[key]
		last := lastOf(all)
		// Without the Job, a Workload is known to be delegated only if a
		// cluster got it.
		isOver := !last.FinishedAt.IsZero() && last.Reason != kueue.SliceReplaced && last.Reason != kueue.FailedToStart
		if last.Reason == kueue.OwnerNotFound && f.Past.Open.Has(key) {
			// The Job is stuck (JM038), not over.
			isOver = false
		}
		if !isOver || last.Cluster == "" {
			continue
		}
		if isSelected {
			left++
			continue
		}
		row = l.ofWorkloads(last, all)
		visit(&row)
	}
	return left
}

// ledger creates the rows of one cluster.
type ledger struct {
	inventory *inspect.Inventory
	facts     *inspect.Facts
	// grants has the resources of Workloads, by the first of their Holds. Most
	// Jobs of a queue got the same resources, and share them.
	grants map[*kueue.FlavorQuantity]grant
}

// grant has the quantities that a Workload got and the flavors that they came
// from, by resource.
type grant struct{ quantities, flavors map[string]string }

// lastOf returns the Workload that shows how a Job ended: the last one that
// was not replaced.
func lastOf(all []*kueue.Past) *kueue.Past {
	return slices.MaxFunc(all, func(a, b *kueue.Past) int {
		isReplaced := func(w *kueue.Past) int {
			if w.Reason == kueue.SliceReplaced {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(isReplaced(a), isReplaced(b)), a.FinishedAt.Compare(b.FinishedAt), a.AdmittedAt.Compare(b.AdmittedAt), strings.Compare(a.Name, b.Name))
	})
}

// complete adds to a Job that still exists what its Workloads record.
func (l *ledger) complete(row *inspect.PastJob, all []*kueue.Past) {
	if place := l.facts.Past.Places[row.UID]; !place.IsZero() {
		row.Cluster = clusterAt(l.inventory, place)
	}
	if len(all) > 0 {
		last := lastOf(all)
		l.account(row, last, all)
		if row.Result == inspect.ResultUnknown {
			row.Result = resultBy(last.Reason)
		}
	}
	measure(row)
}

// ofWorkloads returns a Job of which only the Workloads were read, because
// its kind was not requested or it was deleted.
func (l *ledger) ofWorkloads(last *kueue.Past, all []*kueue.Past) inspect.PastJob {
	f := l.facts
	row := inspect.PastJob{
		Context: f.Context, ClusterUID: f.ClusterUID, APIVersion: last.APIVersion, Kind: last.Kind, Namespace: last.Namespace, Name: last.Job,
		UID: last.JobUID, ManagedBy: delegation.MultiKueue, Labels: last.Labels, CreatedAt: metav1.NewTime(last.CreatedAt), Result: resultBy(last.Reason),
	}
	if row.Name == "" {
		row.APIVersion, row.Kind, row.Name = kueue.Group+"/"+f.Kueue.Version, "Workload", last.Name
	}
	l.account(&row, last, all)
	measure(&row)
	return row
}

// account adds what Workloads record. Their times come from one clock, so
// they are preferred to times that were copied from a worker.
func (l *ledger) account(row *inspect.PastJob, last *kueue.Past, all []*kueue.Past) {
	row.Queue, row.ClusterQueue = cmp.Or(row.Queue, last.Queue), last.ClusterQueue
	row.Reason = last.Reason
	// Kueue 0.19.2 records no cluster if a Job ends at the moment in which it
	// runs again.
	if last.Cluster != "" || last.Reason != kueue.FinishedSucceeded {
		row.Cluster = new(last.Cluster)
	}
	row.AdmittedAt = timeOf(last.AdmittedAt)
	if !last.FinishedAt.IsZero() {
		row.FinishedAt = timeOf(last.FinishedAt)
	}
	var evictions int32
	var lost time.Duration
	isKnown := true
	for _, w := range all {
		evictions += w.Evicted()
		if w.Lost == nil {
			isKnown = false
		} else {
			lost += *w.Lost
		}
		for reason, n := range w.Evictions {
			if row.EvictionReasons == nil {
				// Most Jobs have none, and there may be very many Jobs.
				row.EvictionReasons = map[string]int32{}
			}
			row.EvictionReasons[reason] += n
		}
		// An elastic Job that changed its size was admitted with its first
		// Workload.
		if w.Reason == kueue.SliceReplaced && !w.AdmittedAt.IsZero() && row.AdmittedAt != nil && w.AdmittedAt.Before(row.AdmittedAt.Time) {
			row.AdmittedAt = timeOf(w.AdmittedAt)
		}
	}
	row.Evictions = &evictions
	if isKnown {
		row.LostSeconds = new(int64(lost.Seconds()))
	}
	if len(last.Holds) > 0 {
		what, isKnown := l.grants[&last.Holds[0]]
		if !isKnown {
			what.quantities, what.flavors = resources(last.Holds)
			l.grants[&last.Holds[0]] = what
		}
		row.Resources, row.Flavors = what.quantities, what.flavors
	}
	row.ResourceHours = hours(all)
}

// measure computes the wait and the run time.
func measure(row *inspect.PastJob) {
	if row.AdmittedAt == nil {
		return
	}
	wait := row.AdmittedAt.Sub(row.CreatedAt.Time)
	if row.LostSeconds != nil {
		wait -= time.Duration(*row.LostSeconds) * time.Second
	}
	row.WaitSeconds = new(int64(max(0, wait).Seconds()))
	if row.FinishedAt != nil {
		row.RunSeconds = new(int64(max(0, row.FinishedAt.Sub(row.AdmittedAt.Time)).Seconds()))
	}
}

func timeOf(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t}
}

// resultBy returns how a Job ended, from the reason of its Workload's
// condition Finished.
func resultBy(reason string) inspect.Result {
	switch reason {
	case kueue.FinishedSucceeded:
		return inspect.ResultComplete
	case kueue.FinishedFailed:
		return inspect.ResultFailed
	case kueue.OwnerNotFound:
		return inspect.ResultDeleted
	}
	return inspect.ResultUnknown
}

// clusterAt returns the context of a place that dispatch used or, if no known context reaches
// it, the UID of its cluster. It is nil if that is unknown, too.
func clusterAt(v *inspect.Inventory, place delegation.Place) *string {
	for _, f := range v.Clusters {
		if place.KnowsCluster() && place.On(f.Cluster()) == delegation.CertainlySame {
			return &f.Context
		}
	}
	if place.ClusterUID == "" {
		return nil
	}
	return &place.ClusterUID
}

// resources returns the quantities that a Workload got, and the flavors of
// each.
func resources(holds []kueue.FlavorQuantity) (quantities, flavors map[string]string) {
	total, from := map[string]resource.Quantity{}, map[string][]string{}
	for _, h := range holds {
		sum := total[h.Resource]
		sum.Add(h.Quantity)
		total[h.Resource] = sum
		if !slices.Contains(from[h.Resource], h.Flavor) {
			from[h.Resource] = append(from[h.Resource], h.Flavor)
		}
	}
	quantities, flavors = map[string]string{}, map[string]string{}
	for name, q := range total {
		slices.Sort(from[name])
		quantities[name], flavors[name] = q.String(), strings.Join(from[name], ",")
	}
	return quantities, flavors
}

// hours returns the resources that Workloads had, times the hours between the
// last admission and the end. It is nil if unknown.
func hours(all []*kueue.Past) map[string]float64 {
	var total map[string]float64
	for _, w := range all {
		if w.AdmittedAt.IsZero() || w.FinishedAt.IsZero() || len(w.Holds) == 0 {
			continue
		}
		if total == nil {
			total = map[string]float64{}
		}
		ran := max(0, w.FinishedAt.Sub(w.AdmittedAt)).Hours()
		for _, h := range w.Holds {
			total[h.Resource] += amount(h) * ran
		}
	}
	return total
}

// amount returns how much of a resource is held: memory and storage in GiB,
// others in units.
func amount(h kueue.FlavorQuantity) float64 {
	const gib = 1 << 30
	value := h.Quantity.AsApproximateFloat64()
	switch name := corev1.ResourceName(h.Resource); {
	case name == corev1.ResourceMemory, name == corev1.ResourceEphemeralStorage, strings.HasPrefix(h.Resource, corev1.ResourceHugePagesPrefix):
		return value / gib
	}
	return value
}

// withoutWorkload returns why it is unknown what a Job used.
func withoutWorkload(f *inspect.Facts, row *inspect.PastJob) string {
	switch {
	case row.ManagedBy != delegation.MultiKueue:
		return noAccount
	case f.Gaps[inspect.PartWorkloads] != nil || f.Gaps[inspect.PartKueue] != nil:
		return unread
	}
	return noWorkload
}
