package rules

import (
	"maps"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

// group has what a finding about several Jobs would say about each Job. The finding itself says that about the
// first Job, unless it speaks for all.
type group struct {
	rule         Rule
	joined       map[inspect.Ref]view.Sighting
	reach        command.Reach
	speaksForAll bool
}

// keep keeps the first sighting of each further Job.
func (j *candidate) keep(s view.Sighting) {
	for _, job := range s.Jobs {
		if j.known.Has(job) {
			continue
		}
		if j.joined == nil {
			j.joined = map[inspect.Ref]view.Sighting{}
		}
		j.joined[inspect.RefOf(job)] = s
	}
}

// group has the finding say what holds for all its Jobs, if it has several.
func (j *candidate) group() {
	if len(j.joined) == 0 || j.sighting.Group == nil {
		return
	}
	first := completeSighting(j.sighting)
	all := []view.Sighting{first}
	for _, job := range j.jobs {
		if s, isJoined := j.joined[inspect.RefOf(job)]; isJoined {
			all = append(all, s)
		}
	}
	first.Group(&first, all)
	j.Message, j.Remedy = first.Message, string(first.Remedy)
}

// addGroup keeps the sightings of a candidate that became a finding.
func (j *Judgment) addGroup(c *candidate, reach command.Reach) {
	if len(c.joined) == 0 {
		return
	}
	g := group{rule: c.rule, joined: c.joined, reach: reach, speaksForAll: c.sighting.Group != nil}
	if g.speaksForAll {
		g.joined = maps.Clone(g.joined)
		for _, job := range c.sighting.Jobs {
			g.joined[inspect.RefOf(job)] = c.sighting
		}
	}
	if known, isKnown := j.groups[c.Fingerprint]; isKnown {
		g.joined = maps.Clone(g.joined)
		maps.Copy(g.joined, known.joined)
	}
	j.groups[c.Fingerprint] = g
}

// Select returns the findings that satisfy concerns. A finding about several Jobs is about a wanted one.
func (j Judgment) Select(concerns func(*inspect.Finding) bool, isWanted func(inspect.Ref) bool) []inspect.Finding {
	found := []inspect.Finding{}
	for i := range j.Findings {
		if concerns(&j.Findings[i]) {
			found = append(found, j.Own(j.Findings[i], isWanted))
		}
	}
	slices.SortStableFunc(found, compareFindings)
	return found
}

// Own returns a finding about several Jobs as the finding about the first wanted one: with its object,
// message, evidence and fixes. The wanted Jobs come first. The severity and the fingerprint remain. A
// finding that is about a wanted Job keeps its object, and one about no wanted Job remains as it is.
func (j Judgment) Own(f inspect.Finding, isWanted func(inspect.Ref) bool) inspect.Finding {
	g, isGroup := j.groups[f.Fingerprint]
	if !isGroup {
		return f
	}
	var wanted, others []inspect.Ref
	for _, r := range f.Jobs {
		if isWanted(r) {
			wanted = append(wanted, r)
		} else {
			others = append(others, r)
		}
	}
	f.Jobs = slices.Concat(wanted, others)
	isJoined := func(r inspect.Ref) bool { _, isJoined := g.joined[r]; return isJoined }
	if len(wanted) == 0 || g.speaksForAll && len(wanted) > 1 || slices.ContainsFunc(wanted, func(r inspect.Ref) bool { return !isJoined(r) }) {
		return f
	}
	c := finding(g.rule, completeSighting(g.joined[wanted[0]]))
	for _, r := range f.Jobs {
		if !slices.Contains(c.Jobs, r) {
			c.Jobs = append(c.Jobs, r)
		}
	}
	c.Severity, c.Fingerprint, c.Young, c.Grace, c.Clauses = f.Severity, f.Fingerprint, f.Young, f.Grace, f.Clauses
	return c.withReach(g.reach)
}

// Suppressed returns the findings that satisfy concerns and that the user has suppressed.
func (j Judgment) Suppressed(concerns func(*inspect.Finding) bool) []inspect.Finding {
	return slices.DeleteFunc(slices.Clone(j.suppressed), func(f inspect.Finding) bool { return !concerns(&f) })
}

// Suppresses reports whether the user has suppressed a finding.
func (j Judgment) Suppresses(f inspect.Finding) bool { return j.suppresses != nil && j.suppresses(f) }

// Never returns a finding about Jobs that wait as the error that no cluster can ever run them. why is
// what they have in common: the part of a finding with the same reason is one problem, whichever of its
// Jobs is first.
func (j Judgment) Never(f inspect.Finding, why string) inspect.Finding {
	rule, _ := ByCode(view.NeverAdmitted)
	f.Code, f.Title, f.Docs, f.Severity, f.Clauses = rule.Code, rule.Title, rule.Docs(), rule.Severity, nil
	f.Fingerprint = fingerprint(f.Code, view.Sighting{Cause: "of " + f.Fingerprint + ": " + why})
	return f
}
