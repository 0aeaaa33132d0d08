package answer

import (
	"fmt"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// fits returns the answer if the Job fits on a cluster but is not there.
func (q *Question) fits(manager *inspect.Facts, w *kueue.Workload, fits, all []inspect.Placement) Answer {
	isOffered := func(p inspect.Placement) bool {
		return p.Cluster == "" || slices.Contains(w.Status.Nominated, p.Cluster)
	}
	if a, ok := q.uncopied(manager, w, fits); ok {
		return a
	}
	var workers []string
	for i := range fits {
		if fits[i].Cluster != "" {
			workers = append(workers, fits[i].Context)
		}
	}
	if a, ok := q.admitted(workers); ok {
		return a
	}
	names := namesOf(fits)
	a := Answer{State: inspect.StateWaiting, Reason: inspect.ReasonNotAdmitted, Message: fmt.Sprintf("Fits on %s now; Kueue has not admitted it yet.", list(names))}
	if !manager.Kueue.RecordsNominations() || slices.ContainsFunc(fits, isOffered) || fits[0].Cluster == "" {
		return a
	}
	a.Reason = inspect.ReasonNotOffered
	a.Message = fmt.Sprintf("Fits on %s now, but Kueue has not offered it there.", list(names))
	var offered []string
	for i := range all {
		if isOffered(all[i]) {
			offered = append(offered, placeName(&all[i]))
		}
	}
	if len(offered) > 0 {
		a.Message = fmt.Sprintf("Fits on %s now, but Kueue has offered it only to %s.", list(names), list(offered))
		if why := inVain(manager.Context, w.Status.Nominated, all); why != "" {
			a.Message = fmt.Sprintf("Fits on %s now, but Kueue has offered it only to %s, which %s.", list(names), list(offered), why)
		}
	}
	a.Fixes = q.offerFixes(all, isOffered)
	return a
}

// offerFixes returns how Kueue offers a Job to a cluster on which it fits: those of the finding about that, and the
// connections to the clusters that the Job was offered to.
func (q *Question) offerFixes(all []inspect.Placement, isOffered func(inspect.Placement) bool) (fixes []command.Fix) {
	for i := range q.Trace.Findings {
		if f := &q.Trace.Findings[i]; f.Code == "JM032" {
			fixes = append(fixes, f.Fixes...)
		}
	}
	for i := range all {
		if isUnconnected(&all[i]) && isOffered(all[i]) {
			fixes = append(fixes, q.connectionFixes(&all[i])...)
		}
	}
	return fixes
}

// inVain returns why none of the nominated clusters runs a Job as it is, in words that follow "which": none of them ever
// can, or their manager cannot use them. It is "" if one of them may run the Job.
func inVain(manager string, nominated []string, all []inspect.Placement) string {
	never, unconnected := 0, 0
	for _, name := range nominated {
		switch i := slices.IndexFunc(all, func(p inspect.Placement) bool { return p.Cluster == name }); {
		case i >= 0 && isUnconnected(&all[i]):
			unconnected++
		case i >= 0 && all[i].Verdict == inspect.Never:
			never++
		default:
			return ""
		}
	}
	switch {
	case never > 0 && unconnected > 0:
		return "cannot run it now"
	case never > 0:
		return "can never run it"
	case unconnected > 0:
		return manager + " cannot use"
	}
	return ""
}
