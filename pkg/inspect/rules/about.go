package rules

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// About are the findings that concern a trace: those of its Jobs, and those of
// the objects on its way. What only others wait for at such an object is theirs.
func (j Judgment) About(t *inspect.Trace) []inspect.Finding {
	found := []inspect.Finding{}
	jobs := map[inspect.Ref]bool{}
	if t.Origin != nil {
		jobs[inspect.RefOf(t.Origin)] = true
	}
	for i := range t.Mirrors {
		jobs[inspect.RefOf(&t.Mirrors[i].Job)] = true
	}
	setup := sets.New[string]()
	for _, r := range All() {
		if r.Setup {
			setup.Insert(r.Code)
		}
	}
	for _, f := range j.Findings {
		isJobs := slices.ContainsFunc(f.Jobs, func(r inspect.Ref) bool { return jobs[r] })
		isOnWay := slices.ContainsFunc(t.Hops, func(h inspect.Hop) bool {
			return h.Kind == f.Kind && h.Name == f.Name && h.Namespace == f.Namespace && h.Context == f.Context
		})
		if isJobs || isOnWay && (len(f.Jobs) == 0 || setup.Has(f.Code)) {
			found = append(found, f)
		}
	}
	return found
}

// HangsOnOthers says whether what is to be said of traces, made of what was read of their
// Jobs alone, may be another thing once others are looked at: wherever something waits
// or is wrong. A controller that stands still for one may be at work on others, and who
// has the room that one waits for is another one; and where several clusters dispatch,
// they may get into each other's way.
func HangsOnOthers(v *inspect.Inventory, traces []inspect.Trace) bool {
	var managers int
	for _, f := range v.Clusters {
		if f.Kueue != nil && (len(f.Kueue.Clusters) > 0 || f.Kueue.MultiKueueCheck() != nil) {
			managers++
		}
	}
	atOnce := Judge(v, All(), Options{})
	return managers > 1 || slices.ContainsFunc(traces, func(t inspect.Trace) bool {
		isUnsettled := func(h inspect.Hop) bool { return h.Health == inspect.HealthWaiting || h.Health == inspect.HealthBad }
		return slices.ContainsFunc(t.Hops, isUnsettled) || len(atOnce.About(&t)) > 0
	})
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
