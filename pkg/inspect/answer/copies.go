package answer

import (
	"fmt"
	"slices"
	"strings"
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
		State: inspect.StateWaiting, Reason: inspect.ReasonNotAdmitted, Fixes: q.copyFixes(fits),
		Message: fmt.Sprintf("Fits on %s now, but MultiKueue has not copied its Workload there.", list(names)),
	}
	if len(a.Fixes) == 0 {
		q.addBehind(&a)
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

// copyFixes returns the fixes of the finding that explains why one of these workers has no copy of the
// Workload. Once the namespace exists there, JM025 says that Kueue has not tried again.
func (q *Question) copyFixes(fits []inspect.Placement) []command.Fix {
	for _, code := range []string{"JM025", "JM024", "JM137"} {
		for i := range q.Trace.Findings {
			f := &q.Trace.Findings[i]
			isAbout := func(p inspect.Placement) bool { return isAboutWorker(f, &p) }
			if f.Code == code && q.isAboutPair(f) && slices.ContainsFunc(fits, isAbout) {
				return slices.Clone(f.Fixes)
			}
		}
	}
	return nil
}

// isAboutWorker reports whether a finding is about a worker, or has evidence of it.
func isAboutWorker(f *inspect.Finding, p *inspect.Placement) bool {
	return f.Context == p.Context || f.Kind == "MultiKueueCluster" && f.Name == p.Cluster || slices.ContainsFunc(f.Evidence, func(line string) bool {
		return strings.HasPrefix(line, p.Context+": ") || strings.Contains(line, " of MultiKueueCluster "+p.Cluster+" is ")
	})
}
