package rules

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

// Options say how strictly to judge.
type Options struct {
	// Grace is how old a state must be to count: younger states are in
	// progress. Zero judges everything as it is and ignores the grace periods
	// of rules.
	Grace time.Duration
	// Suppressed reports whether the user has suppressed a finding. Nil
	// suppresses none. Judge keeps findings that answer.AdviseAll may split: it
	// leaves out the parts that are suppressed by their final code.
	Suppressed func(inspect.Finding) bool
	// Reach is how the commands of remedies must be called.
	Reach command.Reach
	// Namespace limits Report to what the LocalQueues of a namespace depend on; "" is no limit.
	Namespace string
}

// Judgment is what the rules found, and what they could not judge.
type Judgment struct {
	// Findings are sorted: the worst first, then by code, context, namespace, name.
	Findings []inspect.Finding
	// NotJudged lists each context and part that could not be read, with the
	// rules that could not check it.
	NotJudged []NotJudged
	// suppressed are the findings that count, and that the user has suppressed.
	suppressed []inspect.Finding
	// young are the findings that do not count yet.
	young []candidate
	// groups has the sightings of findings about several Jobs, by fingerprint.
	groups map[string]group
	// suppresses is whether the user has suppressed a finding.
	suppresses func(inspect.Finding) bool
	// lasts is what Lasts asks, nil without a Confirmer.
	lasts func(inspect.Finding) bool
}

// Judge applies rules to an inventory. It is a pure function of its
// arguments. If the objects of a kind could not be read on a cluster, Judge
// concludes nothing about that kind from their absence: see
// inspect.Inventory.WithoutGaps.
func Judge(v *inspect.Inventory, all []Rule, o Options) Judgment {
	whole, byGap := v.WithoutGaps()
	found, young := detect(whole, all, o)
	for _, part := range slices.Sorted(maps.Keys(byGap)) {
		more, moreYoung := detect(byGap[part], all, o)
		found, young = appendForPart(found, more, part), appendForPart(young, moreYoung, part)
	}
	j := Judgment{Findings: []inspect.Finding{}, NotJudged: notJudged(v, all), groups: map[string]group{}, suppresses: o.suppresses}
	for i := range found {
		f := found[i].withReach(o.Reach)
		if f.Code != view.BehindOthers && o.suppresses(f) {
			j.suppressed = append(j.suppressed, f)
			continue
		}
		j.Findings = append(j.Findings, f)
		j.addGroup(&found[i], o.Reach)
	}
	for i := range young {
		if !o.suppresses(young[i].Finding) {
			young[i].reach = o.Reach
			j.young = append(j.young, young[i])
			j.addGroup(&young[i], o.Reach)
		}
	}
	slices.SortStableFunc(j.Findings, compareFindings)
	slices.SortStableFunc(j.suppressed, compareFindings)
	for i := range j.NotJudged {
		j.NotJudged[i].split(found)
	}
	return j
}

// appendForPart adds to found the findings of more about objects of a kind,
// without duplicates.
func appendForPart(found, more []candidate, part inspect.Part) []candidate {
	for _, f := range more {
		if f.concerns(part) && !slices.ContainsFunc(found, f.isSame) {
			found = append(found, f)
		}
	}
	return found
}

func (o *Options) suppresses(f inspect.Finding) bool { return o.Suppressed != nil && o.Suppressed(f) }

// detect returns what the rules find in an inventory. Findings that do not
// count yet are in young.
func detect(v *inspect.Inventory, all []Rule, o Options) (found, young []candidate) {
	var seen []candidate
	known := newSightingCache(v)
	// Rules that sum up need the sightings of the others, so they run last.
	for _, sumsUp := range []bool{false, true} {
		for _, r := range all {
			if r.SumsUp == sumsUp {
				seen = append(seen, findings(r, v, known.sightingsOf(r), o.Grace)...)
			}
		}
	}
	for _, f := range dropCovered(seen) {
		switch {
		case !f.isYoung:
			found = append(found, f)
		case !f.rule.IsProgress:
			young = append(young, f)
		}
	}
	return found, young
}

// findings turns the sightings of a rule into findings. It drops those that
// wait for an actor that is only behind, and marks those within their grace
// period as young.
func findings(r Rule, v *inspect.Inventory, sightings []view.Sighting, grace time.Duration) []candidate {
	var found []candidate
	var early []candidate
	byCause := map[string]int{}
	// Of the objects with one cause, the finding is about the worst, and of these about the one that
	// has waited longest.
	for _, s := range worstFirst(r, sightings) {
		s.Cause = causeOf(r, s)
		age, period := v.Age(s.Object.Context, s.Since), max(grace, r.GracePeriod, s.GracePeriod)
		switch {
		case s.Awaits.IsBehind(), s.Awaits.IsFresh(v.Now):
			continue
		case grace == 0:
		case r.IsProgress && age >= period:
			s.Severity = inspect.Warning
		case age < period && (!r.IsProgress || age < inspect.Settling):
			if !r.IsProgress || len(r.Covers) > 0 {
				early = append(early, candidate{sighting: s, period: period})
			}
			continue
		}
		if i, known := byCause[s.Cause]; known && s.Cause != "" {
			found[i].join(s)
			continue
		}
		byCause[s.Cause] = len(found)
		full := finding(r, completeSighting(s))
		full.Grace, full.sighting = progressGrace(r, grace, age, period), s
		found = append(found, full)
	}
	for i := range found {
		found[i].group()
	}
	return append(found, young(r, early)...)
}

// progressGrace returns the grace period of a finding about progress that is still within it; 0 for others.
func progressGrace(r Rule, grace, age, period time.Duration) time.Duration {
	if r.IsProgress && grace > 0 && age < period {
		return period
	}
	return 0
}

// worstFirst returns sightings by severity, and then by age.
func worstFirst(r Rule, sightings []view.Sighting) []view.Sighting {
	severity := func(s view.Sighting) inspect.Severity { return cmp.Or(s.Severity, r.Severity) }
	sorted := slices.Clone(sightings)
	slices.SortStableFunc(sorted, func(a, b view.Sighting) int {
		return cmp.Or(severity(a).Compare(severity(b)), a.Since.Compare(b.Since))
	})
	return sorted
}

// causeOf returns the cause of a sighting. Errors have a cause apart: an error about Jobs says that none of them runs by
// itself, which would be false for a Job that only waits, although the same object keeps it from one of its workers.
func causeOf(r Rule, s view.Sighting) string {
	isError := cmp.Or(s.Severity, r.Severity) == inspect.Error
	if s.Cause == "" || isError == (r.Severity == inspect.Error) {
		return s.Cause
	}
	return s.Cause + ", apart"
}

// young turns sightings within their grace period into findings. Older findings may have the same cause.
func young(r Rule, early []candidate) []candidate {
	var found []candidate
	byCause := map[string]int{}
	for _, e := range early {
		cause := e.sighting.Cause
		if i, known := byCause[cause]; known && cause != "" {
			found[i].keep(e.sighting)
			found[i].addJobs(e.sighting.Jobs)
			found[i].addClause(e.sighting)
			continue
		}
		byCause[cause] = len(found)
		f := finding(r, e.sighting)
		f.sighting, f.period, f.isYoung, f.Young = e.sighting, e.period, true, true
		found = append(found, f)
	}
	return found
}

// dropCovered drops the findings that another finding about the same object or
// Job explains. A young finding explains others too.
func dropCovered(found []candidate) []candidate {
	type coverage struct {
		code  string
		about view.Object
	}
	covered, codes := sets.New[coverage](), sets.New[string]()
	for _, f := range found {
		codes.Insert(f.Code)
	}
	for _, f := range found {
		for _, code := range slices.Concat(f.rule.Covers, f.covers) {
			if !codes.Has(code) {
				continue
			}
			for about := range f.about() {
				covered.Insert(coverage{code, about})
			}
		}
	}
	return slices.DeleteFunc(found, func(f candidate) bool {
		for about := range f.about() {
			if !covered.Has(coverage{f.Code, about}) {
				return false
			}
		}
		return true
	})
}

func compareFindings(a, b inspect.Finding) int {
	return cmp.Or(
		a.Severity.Compare(b.Severity),
		cmp.Compare(a.Code, b.Code), cmp.Compare(a.Context, b.Context),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
	)
}
