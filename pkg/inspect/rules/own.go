package rules

import (
	"maps"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

// group has what a finding about several Jobs would say about each Job except the first.
type group struct {
	rule   Rule
	joined map[inspect.Ref]view.Sighting
	reach  []string
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

// addGroup keeps the sightings of a candidate that became a finding.
func (j *Judgment) addGroup(c *candidate, reach []string) {
	if len(c.joined) == 0 {
		return
	}
	g := group{rule: c.rule, joined: c.joined, reach: reach}
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
// message, evidence and fixes. The severity and the fingerprint remain. A finding that is about a wanted
// Job, or about none, remains as it is.
func (j Judgment) Own(f inspect.Finding, isWanted func(inspect.Ref) bool) inspect.Finding {
	g, isGroup := j.groups[f.Fingerprint]
	if !isGroup {
		return f
	}
	var first *inspect.Ref
	for i := range f.Jobs {
		if !isWanted(f.Jobs[i]) {
			continue
		}
		if _, isJoined := g.joined[f.Jobs[i]]; !isJoined {
			return f
		}
		if first == nil {
			first = &f.Jobs[i]
		}
	}
	if first == nil {
		return f
	}
	c := finding(g.rule, completeSighting(g.joined[*first]))
	for _, r := range f.Jobs {
		if !slices.Contains(c.Jobs, r) {
			c.Jobs = append(c.Jobs, r)
		}
	}
	c.Severity, c.Fingerprint, c.Young, c.Grace, c.Clauses = f.Severity, f.Fingerprint, f.Young, f.Grace, f.Clauses
	return c.withReach(g.reach)
}

// neverAdmitted is the code of a Job whose requests fit into no queue.
const neverAdmitted = "JM029"

// Never returns a finding about a Job that waits as the error that no cluster can ever run it.
func (j Judgment) Never(f inspect.Finding) inspect.Finding {
	rule, _ := ByCode(neverAdmitted)
	f.Code, f.Title, f.Docs, f.Severity = rule.Code, rule.Title, rule.Docs(), rule.Severity
	f.Fingerprint = fingerprint(f.Code, view.Sighting{
		Object: view.Object{Context: f.Context, APIVersion: f.APIVersion, Kind: f.Kind, Namespace: f.Namespace, Name: f.Name},
	})
	return f
}
