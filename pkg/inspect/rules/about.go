package rules

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// About returns the findings that concern a trace, whatever their age:
// findings about its Jobs, and findings about the objects on its chain. It
// leaves out findings about a chain object that only concern other Jobs. A
// finding about several Jobs is about the traced one.
func (j Judgment) About(t *inspect.Trace) []inspect.Finding {
	s := NewSubject(t)
	found := []inspect.Finding{}
	for i := range j.Findings {
		if s.Concerns(&j.Findings[i]) {
			found = append(found, j.Own(j.Findings[i], s.jobs.Has))
		}
	}
	for i := range j.young {
		young := &j.young[i]
		if !s.Concerns(&young.Finding) {
			continue
		}
		k := slices.IndexFunc(found, func(f inspect.Finding) bool { return f.Fingerprint == young.Fingerprint })
		switch {
		case k < 0:
			found = append(found, j.Own(young.complete(), s.jobs.Has))
		case !s.isAboutJobs(&found[k]) && s.isAboutJobs(&young.Finding):
			// The older finding with the same cause is about other Jobs.
			found[k] = j.Own(young.complete(), s.jobs.Has)
		}
	}
	slices.SortStableFunc(found, compareFindings)
	return found
}

// All returns the findings whose code satisfies is, including those that do
// not count yet.
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

// complete returns a young finding with the text that its rule deferred to
// Sighting.Complete.
func (j *candidate) complete() inspect.Finding {
	full := finding(j.rule, completeSighting(j.sighting))
	full.sighting, full.joined, full.jobs = j.sighting, j.joined, j.jobs
	full.group()
	full.Young, full.Grace, full.Jobs = true, j.period, j.Jobs
	if full.Clauses == nil {
		full.Clauses = map[inspect.Ref]string{}
	}
	for job, clause := range j.Clauses {
		if full.Clauses[job] == "" {
			full.Clauses[job] = clause
		}
	}
	return full.withReach(j.reach)
}

// Subject is what traces are about: their Jobs and the objects on their chains.
type Subject struct {
	jobs  sets.Set[inspect.Ref]
	chain sets.Set[link]
	setup sets.Set[string]
}

// link is an object on a chain.
type link struct{ kind, namespace, name, context string }

// NewSubject returns the subject of traces.
func NewSubject(traces ...*inspect.Trace) Subject {
	s := Subject{jobs: sets.New[inspect.Ref](), chain: sets.New[link](), setup: codesOf(func(r Rule) bool { return r.Setup })}
	for _, t := range traces {
		if t.Origin != nil {
			s.jobs.Insert(inspect.RefOf(t.Origin))
		}
		for i := range t.Mirrors {
			s.jobs.Insert(inspect.RefOf(&t.Mirrors[i].Job))
		}
		for _, h := range t.Hops {
			s.chain.Insert(link{h.Kind, h.Namespace, h.Name, h.Context})
		}
	}
	return s
}

// isAboutJobs reports whether a finding is about a Job of the trace.
func (s Subject) isAboutJobs(f *inspect.Finding) bool { return slices.ContainsFunc(f.Jobs, s.jobs.Has) }

// Concerns reports whether a finding is about a Job of the traces, or about an object on their chains.
// If it also names other Jobs, it must be about the setup.
func (s Subject) Concerns(f *inspect.Finding) bool {
	return s.isAboutJobs(f) || s.chain.Has(link{f.Kind, f.Namespace, f.Name, f.Context}) && (len(f.Jobs) == 0 || s.setup.Has(f.Code))
}

// DependsOnOthers reports whether findings about traces, made from their own
// Jobs alone, may change once other Jobs are read. That is so if a step waits
// or is wrong, or if there are findings: a controller that ignores one Job
// may be acting on others, and other Jobs may hold the capacity that one
// waits for. It is also so if several clusters dispatch, because they may
// interfere with each other.
func DependsOnOthers(v *inspect.Inventory, traces []inspect.Trace) bool {
	var managers int
	for _, f := range v.Clusters {
		if f.Kueue.HasMultiKueue() {
			managers++
		}
	}
	withoutGrace := Judge(v, All(), Options{})
	return managers > 1 || slices.ContainsFunc(traces, func(t inspect.Trace) bool {
		isUnsettled := func(h inspect.Hop) bool { return h.Health == inspect.HealthWaiting || h.Health == inspect.HealthBad }
		return slices.ContainsFunc(t.Hops, isUnsettled) || len(withoutGrace.About(&t)) > 0
	})
}

// Codes returns the codes of the findings that concern each Job, in the order
// of the findings.
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
