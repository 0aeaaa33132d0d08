package answer

import (
	"fmt"
	"slices"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// copyTime is how long MultiKueue may take to copy a Workload to a worker.
const copyTime = 30 * time.Second

// uncopied returns the answer if a Job fits only on workers that were nominated and have no copy of
// its Workload. ok is false if another worker fits too.
func (q *Question) uncopied(manager *inspect.Facts, w *kueue.Workload, fits []inspect.Placement) (a Answer, ok bool) {
	for i := range fits {
		p := &fits[i]
		f := q.Inventory.Facts(p.Context)
		if !slices.Contains(w.Status.Nominated, p.Cluster) || f == nil || f.Err != nil || f.Gaps[inspect.PartWorkloads] != nil || len(q.Inventory.WorkloadsOf(q.Pair, f)) > 0 {
			return a, false
		}
	}
	names := namesOf(fits)
	a = Answer{
		State: inspect.StateWaiting, Reason: inspect.ReasonNotAdmitted, Fixes: q.copyFixes(),
		Message: fmt.Sprintf("Fits on %s now, but MultiKueue has not copied its Workload there.", list(names)),
	}
	nominated := inspect.NominatedAt(w)
	if len(a.Fixes) > 0 || nominated.IsZero() || q.Inventory.Age(manager.Context, nominated) < copyTime {
		return a, true
	}
	for _, name := range names {
		a.Fixes = append(a.Fixes, command.Fix{Text: "check that Kueue and its webhook run on " + name, Command: q.words(kueue.ShowPods(name))})
	}
	return a, true
}

// copyFixes returns the fixes of the finding that explains why a worker has no copy of the Workload.
func (q *Question) copyFixes() []command.Fix {
	for i := range q.Trace.Findings {
		f := &q.Trace.Findings[i]
		if slices.Contains([]string{"JM024", "JM025", "JM137"}, f.Code) && q.isAboutPair(f) {
			return slices.Clone(f.Fixes)
		}
	}
	return nil
}
