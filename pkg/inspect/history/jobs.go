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

// jobsOf are the Jobs of a cluster that finished, and how many were left out for want of labels.
func jobsOf(v *inspect.Inventory, f *inspect.Facts, isSelected bool) (rows []inspect.PastJob, left int) {
	if f.Err != nil || f.Past == nil {
		return nil, 0
	}
	workloads := map[string][]*kueue.Past{}
	for _, w := range f.Past.Workloads {
		// What nothing controls any more, and has no label, stands for itself.
		key := cmp.Or(w.JobUID, w.UID)
		workloads[key] = append(workloads[key], w)
	}
	for _, j := range f.Jobs {
		rows = append(rows, ofJob(v, j, workloads[j.UID]))
		delete(workloads, j.UID)
	}
	for _, key := range slices.Sorted(maps.Keys(workloads)) {
		all := workloads[key]
		last := lastOf(all)
		// Without the Job, only a Workload that was given to a cluster is known to be delegated.
		if last.FinishedAt.IsZero() || last.Reason == kueue.SliceReplaced || last.Cluster == "" {
			continue
		}
		if isSelected {
			left++
			continue
		}
		rows = append(rows, ofWorkloads(f, last, all))
	}
	return rows, left
}

// lastOf is the Workload that tells how a Job ended: the last one that was not replaced.
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

// ofJob is a Job that is still an object, with the Workloads that Kueue made for it.
func ofJob(v *inspect.Inventory, j *inspect.Job, all []*kueue.Past) inspect.PastJob {
	row := inspect.PastJob{
		Context: j.Context, ClusterUID: j.ClusterUID, APIVersion: j.APIVersion, Kind: j.Kind, Namespace: j.Namespace, Name: j.Name, UID: j.UID,
		ManagedBy: j.ManagedBy, Labels: j.Labels, CreatedAt: j.CreationTimestamp, Result: resultOf(j),
		AdmittedAt: j.StartTime, FinishedAt: cmp.Or(j.FinishedTime, j.CompletionTime),
	}
	if j.Marks != nil {
		row.Queue = j.Marks.Queue
	}
	if place := j.Pinned(); !place.IsZero() {
		row.Cluster = new(clusterAt(v, place))
	}
	if len(all) > 0 {
		last := lastOf(all)
		account(&row, last, all)
		if row.Result == inspect.ResultUnknown {
			row.Result = resultBy(last.Reason)
		}
	}
	measure(&row)
	return row
}

// ofWorkloads is a Job of which only its Workloads were read: its kind was not asked for, or it is
// gone.
func ofWorkloads(f *inspect.Facts, last *kueue.Past, all []*kueue.Past) inspect.PastJob {
	row := inspect.PastJob{
		Context: f.Context, ClusterUID: f.ClusterUID, APIVersion: last.APIVersion, Kind: last.Kind, Namespace: last.Namespace, Name: last.Job,
		UID: last.JobUID, ManagedBy: delegation.MultiKueue, Labels: last.Labels, CreatedAt: metav1.NewTime(last.CreatedAt), Result: resultBy(last.Reason),
	}
	if row.Name == "" {
		row.APIVersion, row.Kind, row.Name = kueue.Group+"/"+f.Kueue.Version, "Workload", last.Name
	}
	account(&row, last, all)
	measure(&row)
	return row
}

// account adds what Workloads tell. Their times are of one clock, and so they count before those
// that were copied from a worker.
func account(row *inspect.PastJob, last *kueue.Past, all []*kueue.Past) {
	row.Queue, row.ClusterQueue = cmp.Or(row.Queue, last.Queue), last.ClusterQueue
	row.Reason = last.Reason
	// Kueue 0.19.2 notes no cluster where a Job ends in the moment in which it runs again.
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
				// Most Jobs have none, and there may be very many.
				row.EvictionReasons = map[string]int32{}
			}
			row.EvictionReasons[reason] += n
		}
		// An elastic Job that changed its size was admitted with its first Workload.
		if w.Reason == kueue.SliceReplaced && !w.AdmittedAt.IsZero() && row.AdmittedAt != nil && w.AdmittedAt.Before(row.AdmittedAt.Time) {
			row.AdmittedAt = timeOf(w.AdmittedAt)
		}
	}
	row.Evictions = &evictions
	if isKnown {
		row.LostSeconds = new(int64(lost.Seconds()))
	}
	if len(last.Holds) > 0 {
		row.Resources, row.Flavors = resources(last.Holds)
	}
	row.ResourceHours = hours(all)
}

// measure reckons the wait and the run time.
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

// resultOf is how a Job ended, by its own status.
func resultOf(j *inspect.Job) inspect.Result {
	switch {
	case j.Status == delegation.Complete:
		return inspect.ResultComplete
	case j.Status == delegation.Failed:
		return inspect.ResultFailed
	case j.Row().IsJob() && j.CompletionTime != nil:
		// Its status is Terminating.
		return inspect.ResultComplete
	case j.Row().IsJob() && j.FinishedTime != nil:
		return inspect.ResultFailed
	}
	return inspect.ResultUnknown
}

// resultBy is how a Job ended, by the reason of its Workload's condition Finished.
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

// clusterAt is the context of a place that dispatch used, or what is known of its cluster.
func clusterAt(v *inspect.Inventory, place delegation.Place) string {
	for _, f := range v.Clusters {
		if place.KnowsCluster() && place.On(f.Cluster()) == delegation.CertainlySame {
			return f.Context
		}
	}
	return cmp.Or(place.ClusterUID, place.NamespaceUID)
}

// resources are the quantities of what a Workload was given, and the flavors of each.
func resources(holds []kueue.Held) (quantities, flavors map[string]string) {
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

// hours are what Workloads were given times the hours between the last admission and the end;
// nil where that is not known.
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

// amount is how much of a resource is held: of memory in GiB, of others in units.
func amount(h kueue.Held) float64 {
	const gib = 1 << 30
	value := h.Quantity.AsApproximateFloat64()
	switch name := corev1.ResourceName(h.Resource); {
	case name == corev1.ResourceMemory, name == corev1.ResourceEphemeralStorage, strings.HasPrefix(h.Resource, corev1.ResourceHugePagesPrefix):
		return value / gib
	}
	return value
}

// withoutWorkload is why nothing is known of what a Job used.
func withoutWorkload(row *inspect.PastJob) string {
	if row.ManagedBy == delegation.MultiKueue {
		return noWorkload
	}
	return noAccount
}
