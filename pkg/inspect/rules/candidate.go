package rules

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

// candidate is a finding with the rule that made it.
type candidate struct {
	inspect.Finding
	rule Rule
	// covers are codes that this finding makes superfluous besides rule.Covers.
	covers []string
	// jobs are its Jobs, each once, and known is the same as a set: one cause
	// may affect thousands.
	jobs  []*inspect.Job
	known sets.Set[*inspect.Job]
	// joined are the sightings of further Jobs with the same cause.
	joined map[inspect.Ref]view.Sighting
	// isYoung is whether it does not count yet. It covers others all the same.
	isYoung bool
	// sighting is the first one. It completes a young finding. period is the grace period of a young finding,
	// and reach has the flags for its commands.
	sighting view.Sighting
	period   time.Duration
	reach    command.Reach
}

// concerns reports whether a finding is about objects of a kind.
func (j *candidate) concerns(part inspect.Part) bool {
	return slices.ContainsFunc(j.jobs, func(job *inspect.Job) bool { return inspect.PartOf(job.Row()) == part })
}

func (j *candidate) isSame(other candidate) bool {
	return j.Code == other.Code && j.Context == other.Context && j.Kind == other.Kind && j.Namespace == other.Namespace && j.Name == other.Name
}

func finding(r Rule, s view.Sighting) candidate {
	f := inspect.Finding{
		Code: r.Code, Severity: cmp.Or(s.Severity, r.Severity), Title: r.Title, Message: s.Message,
		Context: s.Object.Context, APIVersion: s.Object.APIVersion, Kind: s.Object.Kind,
		Namespace: s.Object.Namespace, Name: s.Object.Name,
		Evidence: append([]string{}, s.Evidence...), Remedy: string(s.Remedy), Docs: r.Docs(),
		Jobs: []inspect.Ref{}, Fixes: []command.Fix{}, Fingerprint: fingerprint(r.Code, s),
		Preempted: s.Preempted, AwaitsActor: s.Awaits != nil && !s.IsStuck || s.MayPass, MayPass: s.MayPass,
	}
	if !s.Since.IsZero() && !s.IsUndated {
		f.Since = &metav1.Time{Time: s.Since}
	}
	j := candidate{Finding: f, rule: r, covers: s.Covers, known: sets.New[*inspect.Job]()}
	j.addJobs(s.Jobs)
	j.addOwnClause(s)
	return j
}

// join adds the evidence and the Jobs of another sighting with the same
// cause.
func (j *candidate) join(s view.Sighting) {
	if len(j.Evidence) < quote.MostLines {
		for _, e := range completeSighting(s).Evidence {
			if len(j.Evidence) < quote.MostLines && !slices.Contains(j.Evidence, e) {
				j.Evidence = append(j.Evidence, e)
			}
		}
	}
	j.keep(s)
	j.addJobs(s.Jobs)
	j.addClause(s)
}

// addClause keeps what another sighting says about its own Job.
func (j *candidate) addClause(s view.Sighting) {
	j.addOwnClause(s)
	own := inspect.Finding{Kind: s.Object.Kind, Namespace: s.Object.Namespace, Name: s.Object.Name}
	for _, job := range s.Jobs {
		own.Jobs = append(own.Jobs, inspect.RefOf(job))
	}
	own.Say(s.Message)
	for _, job := range s.Jobs {
		if s.Clause == "" && view.Of(job) == s.Object {
			j.setClause(job, own.Clause())
		}
	}
}

// addOwnClause keeps the clause of a sighting: for findings about another object than its Jobs, or about several Jobs.
func (j *candidate) addOwnClause(s view.Sighting) {
	for _, job := range s.Jobs {
		if s.Clause != "" {
			j.setClause(job, s.Clause)
		}
	}
}

func (j *candidate) setClause(job *inspect.Job, clause string) {
	if j.Clauses == nil {
		j.Clauses = map[inspect.Ref]string{}
	}
	j.Clauses[inspect.RefOf(job)] = clause
}

// withReach returns the finding with its fixes, whose commands work for a user.
func (j *candidate) withReach(by command.Reach) inspect.Finding {
	f := j.Finding
	f.Say(f.Message)
	remedy := command.Prose(f.Remedy).Reached(by)
	f.Remedy, f.Fixes = string(remedy), append([]command.Fix{}, remedy.Fixes()...)
	return f
}

func (j *candidate) addJobs(jobs []*inspect.Job) {
	for _, job := range jobs {
		if !j.known.Has(job) {
			j.known.Insert(job)
			j.jobs, j.Jobs = append(j.jobs, job), append(j.Jobs, inspect.RefOf(job))
		}
	}
}

// about returns the Jobs of a finding, or its object if it has none. The API
// version is left out, so that versions of one kind match.
func (j *candidate) about() iter.Seq[view.Object] {
	return func(yield func(view.Object) bool) {
		if len(j.jobs) == 0 {
			yield(view.Object{Context: j.Context, Kind: j.Kind, Namespace: j.Namespace, Name: j.Name})
		}
		for _, job := range j.jobs {
			if !yield(view.Object{Context: job.Context, Kind: job.Kind, Namespace: job.Namespace, Name: job.Name}) {
				return
			}
		}
	}
}

// proof quotes the evidence that an actor acts, although it passed over
// something. It is nil if there is no such evidence.
func proof(a *view.Awaited) []string {
	if !a.IsAtWork() {
		return nil
	}
	text := fmt.Sprintf("%s: %s works: its last action for another object was at %s", a.Actor.Context, a.Actor, quote.Time(a.Last.At))
	if a.LastSimilar.At.After(a.Since) {
		text = fmt.Sprintf("%s: %s works: its last such step for another object (%s) was at %s", a.Actor.Context, a.Actor, a.Step(), quote.Time(a.LastSimilar.At))
	}
	return []string{text}
}

// completeSighting returns a sighting with the message, evidence and remedy
// that Complete adds. If an actor at work has passed over the object, the
// evidence says so.
func completeSighting(s view.Sighting) view.Sighting {
	if s.Complete != nil {
		s.Complete(&s)
	}
	s.Evidence = append(slices.Clip(s.Evidence), proof(s.Awaits)...)
	return s
}
