package rules

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// About returns the findings that concern a trace, whatever their age: those of its Jobs, and
// those of the objects on its chain. A finding about such an object that only concerns other
// Jobs is not among them.
func (j Judgment) About(t *inspect.Trace) []inspect.Finding {
	s := newSubject(t)
	found := []inspect.Finding{}
	for i := range j.Findings {
		if s.concerns(&j.Findings[i]) {
			found = append(found, j.Findings[i])
		}
	}
	for i := range j.young {
		if s.concerns(&j.young[i].Finding) {
			found = append(found, j.young[i].complete())
		}
	}
	slices.SortStableFunc(found, byWeight)
	return found
}

// All returns the findings with some codes, those included that do not count yet.
func (j Judgment) All(is func(code string) bool) []inspect.Finding {
	var found []inspect.Finding
	for i := range j.Findings {
		if is(j.Findings[i].Code) {
			found = append(found, j.Findings[i])
		}
	}
	for i := range j.young {
		if is(j.young[i].Code) {
			found = append(found, j.young[i].complete())
		}
	}
	return found
}

// complete returns a young finding with the text that its rule had put off.
func (j *judged) complete() inspect.Finding {
	full := j.rule.finding(j.sighting.told())
	full.Young, full.Jobs = true, j.Jobs
	return full.reached(j.reach)
}

// subject is what a trace is about.
type subject struct {
	jobs  sets.Set[inspect.Ref]
	hops  []inspect.Hop
	setup sets.Set[string]
}

func newSubject(t *inspect.Trace) subject {
	s := subject{jobs: sets.New[inspect.Ref](), hops: t.Hops, setup: codesOf(func(r Rule) bool { return r.Setup })}
	if t.Origin != nil {
		s.jobs.Insert(inspect.RefOf(t.Origin))
	}
	for i := range t.Mirrors {
		s.jobs.Insert(inspect.RefOf(&t.Mirrors[i].Job))
	}
	return s
}

func (s subject) concerns(f *inspect.Finding) bool {
	if slices.ContainsFunc(f.Jobs, s.jobs.Has) {
		return true
	}
	isOnChain := slices.ContainsFunc(s.hops, func(h inspect.Hop) bool {
		return h.Kind == f.Kind && h.Name == f.Name && h.Namespace == f.Namespace && h.Context == f.Context
	})
	return isOnChain && (len(f.Jobs) == 0 || s.setup.Has(f.Code))
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
