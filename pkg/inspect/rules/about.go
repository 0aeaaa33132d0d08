package rules

import (
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// About are the findings that concern a trace: those of its Jobs, and those of
// the objects on its way.
func (j Judgment) About(t *inspect.Trace) []inspect.Finding {
	found := []inspect.Finding{}
	jobs := map[inspect.Ref]bool{}
	if t.Origin != nil {
		jobs[inspect.RefOf(t.Origin)] = true
	}
	for i := range t.Mirrors {
		jobs[inspect.RefOf(&t.Mirrors[i].Job)] = true
	}
	for _, f := range j.Findings {
		isJobs := slices.ContainsFunc(f.Jobs, func(r inspect.Ref) bool { return jobs[r] })
		isOnWay := slices.ContainsFunc(t.Hops, func(h inspect.Hop) bool {
			return h.Kind == f.Kind && h.Name == f.Name && h.Namespace == f.Namespace && h.Context == f.Context
		})
		if isJobs || isOnWay {
			found = append(found, f)
		}
	}
	return found
}

// Codes are the codes of the findings that concern each Job, sorted.
func (j Judgment) Codes() map[inspect.Ref][]string {
	codes := map[inspect.Ref][]string{}
	for _, f := range j.Findings {
		for _, r := range f.Jobs {
			if !slices.Contains(codes[r], f.Code) {
				codes[r] = append(codes[r], f.Code)
			}
		}
	}
	return codes
}
