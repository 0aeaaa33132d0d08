package answer

import (
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// lot are Jobs of a finding that one question is about: Kueue treats them as equal.
type lot struct {
	// pair is the first Job. It has no origin if the inventory does not have the Job.
	pair inspect.Pair
	// workload is its Workload, nil if it has none.
	workload *kueue.Workload
	jobs     []inspect.Ref
}

// lotsOf returns the Jobs of a finding that need advice, equal ones together: all Jobs that
// wait behind others or for a controller, otherwise the first one.
func lotsOf(v *inspect.Inventory, pairs map[inspect.Ref]inspect.Pair, f *inspect.Finding) []lot {
	if !isAdvised(f) || len(f.Jobs) == 0 {
		return nil
	}
	jobs := f.Jobs
	if f.Code != view.BehindOthers && f.Code != behind {
		jobs = jobs[:1]
	}
	var lots []lot
	for _, r := range jobs {
		l := lot{pair: pairs[r], jobs: []inspect.Ref{r}}
		if o := l.pair.Origin; o != nil {
			l.workload = inspect.CurrentWorkload(v.WorkloadsOf(l.pair, v.Facts(o.Context)))
		}
		// No lot after these is advised.
		if i := slices.IndexFunc(lots[:min(len(lots), maxAdvisedJobs)], l.isLike); i >= 0 {
			lots[i].jobs = append(lots[i].jobs, r)
			continue
		}
		lots = append(lots, l)
	}
	return lots
}

// isLike reports whether the Jobs of two lots have the same answer: equal Workloads, offered to the same
// workers. Jobs of one finding have the same queue.
func (l lot) isLike(known lot) bool {
	w, k := l.workload, known.workload
	return w != nil && k != nil && w.IsLike(k) && slices.Equal(slices.Sorted(slices.Values(w.Status.Nominated)), slices.Sorted(slices.Values(k.Status.Nominated)))
}

// pairsByOrigin returns the Jobs of an inventory by their origins.
func pairsByOrigin(v *inspect.Inventory) map[inspect.Ref]inspect.Pair {
	pairs := map[inspect.Ref]inspect.Pair{}
	for _, p := range v.Pairs.Pairs {
		pairs[inspect.RefOf(p.Origin)] = p
	}
	return pairs
}
