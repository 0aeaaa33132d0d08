package rules

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Options say how strictly to judge.
type Options struct {
	// Grace is how old a state has to be: what is younger is in progress. Zero
	// judges everything as it stands, whatever a rule's own grace period.
	Grace time.Duration
	// Suppressed says which findings nobody wants to see; nil is none.
	Suppressed func(inspect.Finding) bool
	// Reach are the flags by which whoever runs the commands of remedies reaches the clusters
	// that were judged: see command.Prose.Reached.
	Reach []string
}

// Judgment is what the rules found, and what they could not judge.
type Judgment struct {
	// Findings are sorted: the worst first, then by code, context, namespace, name.
	Findings []inspect.Finding
	// NotJudged tells for each context and part that could not be read which rules
	// therefore did not judge what is there.
	NotJudged []NotJudged
	// young are findings that do not count yet.
	young []judged
}

// NotJudged is a part of a cluster that could not be looked at.
type NotJudged struct {
	Context string
	// Part is "" where nothing of the context could be read.
	Part inspect.Part
	Err  error
	// Codes are the rules that read the part and have found nothing anywhere; all of them
	// if Part is "". InPart are those that read it and have found something all the same.
	Codes, InPart []string
}

// Error tells it as an error of the context.
func (n NotJudged) Error() inspect.ContextError {
	e := inspect.NewPartError(n.Context, n.Part, n.Err)
	if n.Part == "" {
		e.Message += "; nothing there was checked"
	} else {
		e.NotJudged = n.Codes
		e.Message = fmt.Sprintf("cannot read %s, so %s: %s", n.Part, n.unjudged(), e.Message)
	}
	return e
}

// unjudged says which codes there were not judged, and which not wholly.
func (n NotJudged) unjudged() string {
	var parts []string
	if len(n.Codes) > 0 {
		parts = append(parts, inspect.Span(n.Codes)+" were not checked")
	}
	if len(n.InPart) > 0 {
		parts = append(parts, inspect.Span(n.InPart)+" only in part")
	}
	return strings.Join(parts, ", and ")
}

// Concerns says whether one of some codes was not judged, or only in part, for it.
func (n NotJudged) Concerns(codes []string) bool {
	return slices.ContainsFunc(codes, func(c string) bool { return slices.Contains(n.Codes, c) || slices.Contains(n.InPart, c) })
}

// Judge applies rules to an inventory. It is a pure function of its arguments.
// Where the objects of a kind could not be read on a cluster, nothing of that kind
// is judged by what is not there: see inspect.Inventory.WithoutGaps.
func Judge(v *inspect.Inventory, all []Rule, o Options) Judgment {
	whole, byGap := v.WithoutGaps()
	found, young := detect(whole, all, o)
	for _, part := range slices.Sorted(maps.Keys(byGap)) {
		more, moreYoung := detect(byGap[part], all, o)
		found, young = withConcerned(found, more, part), withConcerned(young, moreYoung, part)
	}
	j := Judgment{Findings: []inspect.Finding{}, NotJudged: notJudged(v, all)}
	for i := range found {
		if f := found[i].reached(o.Reach); !o.suppresses(f) {
			j.Findings = append(j.Findings, f)
		}
	}
	for i := range young {
		if !o.suppresses(young[i].Finding) {
			young[i].reach = o.Reach
			j.young = append(j.young, young[i])
		}
	}
	slices.SortStableFunc(j.Findings, byWeight)
	for i := range j.NotJudged {
		j.NotJudged[i].split(found)
	}
	return j
}

// withConcerned adds the findings about objects of a kind that are not among others yet.
func withConcerned(found, more []judged, part inspect.Part) []judged {
	for _, f := range more {
		if f.concerns(part) && !slices.ContainsFunc(found, f.isSame) {
			found = append(found, f)
		}
	}
	return found
}

func (o *Options) suppresses(f inspect.Finding) bool { return o.Suppressed != nil && o.Suppressed(f) }

// split tells the rules that have found something from those that have not.
func (n *NotJudged) split(found []judged) {
	if n.Part == "" {
		return
	}
	isFound := sets.New[string]()
	for i := range found {
		isFound.Insert(found[i].Code)
	}
	all := n.Codes
	n.Codes = nil
	for _, c := range all {
		if isFound.Has(c) {
			n.InPart = append(n.InPart, c)
		} else {
			n.Codes = append(n.Codes, c)
		}
	}
}

// detect returns what the rules find in an inventory, and apart what is still young.
func detect(v *inspect.Inventory, all []Rule, o Options) (found, young []judged) {
	var seen []judged
	known := &shared{awaiting: map[string][]Sighting{}}
	// What sums up the others asks what they have seen.
	for _, sumsUp := range []bool{false, true} {
		for _, r := range all {
			if r.SumsUp == sumsUp {
				seen = append(seen, r.findings(v, known.seenBy(r, v), o.Grace)...)
			}
		}
	}
	for _, f := range uncovered(seen) {
		switch {
		case !f.isYoung:
			found = append(found, f)
		case !f.isJoined:
			young = append(young, f)
		}
	}
	return found, young
}

// seenBy is what a rule sees in an inventory. There may be thousands of sightings: those
// that wait for an actor are kept.
func (x *shared) seenBy(r Rule, v *inspect.Inventory) []Sighting {
	view := newView(v, x)
	r.Detect(view)
	seen := inLine(view.sightings)
	x.awaiting[r.Code] = nil
	for _, s := range seen {
		if s.Awaits != nil {
			x.awaiting[r.Code] = append(x.awaiting[r.Code], s)
		}
	}
	return seen
}

// awaitingOf are the sightings of a rule that wait for an actor.
func (x *shared) awaitingOf(r Rule, v *inspect.Inventory) []Sighting {
	if _, known := x.awaiting[r.Code]; !known {
		x.seenBy(r, v)
	}
	return x.awaiting[r.Code]
}

// judged is a finding with the rule that made it.
type judged struct {
	inspect.Finding
	rule Rule
	// jobs are its Jobs, each once, and known the same: one cause may bring about thousands.
	jobs  []*inspect.Job
	known sets.Set[*inspect.Job]
	// isYoung is whether it does not count yet: it covers others all the same. isJoined is
	// whether an older finding has the same cause.
	isYoung, isJoined bool
	// sighting completes a young finding, period is its grace period, and reach the flags for
	// its commands.
	sighting Sighting
	period   time.Duration
	reach    []string
}

// concerns says whether a finding is about objects of a kind.
func (j *judged) concerns(part inspect.Part) bool {
	return slices.ContainsFunc(j.jobs, func(job *inspect.Job) bool { return inspect.PartOf(job.Row()) == part })
}

func (j *judged) isSame(other judged) bool {
	return j.Code == other.Code && j.Context == other.Context && j.Kind == other.Kind && j.Namespace == other.Namespace && j.Name == other.Name
}

// findings makes findings of what a rule has seen, but for what waits for an actor that is
// just behind. What is younger than its grace period is marked as young.
func (r Rule) findings(v *inspect.Inventory, sightings []Sighting, grace time.Duration) []judged {
	var found []judged
	var early []judged
	byCause := map[string]int{}
	for _, s := range sightings {
		age, period := v.Age(s.Object.Context, s.Since), max(grace, r.GracePeriod, s.GracePeriod)
		switch {
		case s.Awaits.isBehind(), s.Awaits.isFresh(v.Now):
			continue
		case grace == 0:
		case r.Goes && age >= period:
			s.Severity = inspect.Warning
		case age < period && (!r.Goes || age < inspect.Settling):
			if !r.Goes || len(r.Covers) > 0 {
				early = append(early, judged{sighting: s, period: period})
			}
			continue
		}
		if i, known := byCause[s.Cause]; known && s.Cause != "" {
			found[i].join(s)
			continue
		}
		byCause[s.Cause] = len(found)
		found = append(found, r.finding(s.told()))
	}
	return append(found, r.young(early, byCause)...)
}

// young makes findings of young sightings. reported are the causes of older ones.
func (r Rule) young(early []judged, reported map[string]int) []judged {
	var found []judged
	byCause := map[string]int{}
	for _, e := range early {
		cause := e.sighting.Cause
		if i, known := byCause[cause]; known && cause != "" {
			found[i].addJobs(e.sighting.Jobs)
			continue
		}
		byCause[cause] = len(found)
		f := r.finding(e.sighting)
		f.sighting, f.period, f.isYoung, f.Young = e.sighting, e.period, true, true
		_, isReported := reported[cause]
		f.isJoined = r.Goes || cause != "" && isReported
		found = append(found, f)
	}
	return found
}

func (r Rule) finding(s Sighting) judged {
	f := inspect.Finding{
		Code: r.Code, Severity: cmp.Or(s.Severity, r.Severity), Title: r.Title, Message: s.Message,
		Context: s.Object.Context, APIVersion: s.Object.APIVersion, Kind: s.Object.Kind,
		Namespace: s.Object.Namespace, Name: s.Object.Name,
		Evidence: append([]string{}, s.Evidence...), Remedy: string(s.Remedy), Docs: r.Docs(),
		Jobs: []inspect.Ref{}, Fixes: []command.Fix{}, Fingerprint: fingerprint(r.Code, s),
	}
	if !s.Since.IsZero() {
		f.Since = &metav1.Time{Time: s.Since}
	}
	j := judged{Finding: f, rule: r, known: sets.New[*inspect.Job]()}
	j.addJobs(s.Jobs)
	return j
}

// join adds what another sighting of the same cause brings.
func (j *judged) join(s Sighting) {
	if len(j.Evidence) < enough {
		for _, e := range s.told().Evidence {
			if len(j.Evidence) < enough && !slices.Contains(j.Evidence, e) {
				j.Evidence = append(j.Evidence, e)
			}
		}
	}
	j.addJobs(s.Jobs)
}

// reached returns the finding with its fixes, by commands that reach the clusters.
func (j *judged) reached(by []string) inspect.Finding {
	f := j.Finding
	f.Say(f.Message)
	remedy := command.Prose(f.Remedy).Reached(by)
	f.Remedy, f.Fixes = string(remedy), append([]command.Fix{}, remedy.Fixes()...)
	return f
}

// enough is how many lines of evidence a finding has at most.
const enough = 10

func (j *judged) addJobs(jobs []*inspect.Job) {
	for _, job := range jobs {
		if !j.known.Has(job) {
			j.known.Insert(job)
			j.jobs, j.Jobs = append(j.jobs, job), append(j.Jobs, inspect.RefOf(job))
		}
	}
}

// uncovered drops the findings that another one about the same object, or the
// same Job, explains, be it in progress.
func uncovered(found []judged) []judged {
	type told struct {
		code  string
		about Object
	}
	covered := sets.New[told]()
	for _, f := range found {
		for _, code := range f.rule.Covers {
			for about := range f.about() {
				covered.Insert(told{code, about})
			}
		}
	}
	return slices.DeleteFunc(found, func(f judged) bool {
		for about := range f.about() {
			if !covered.Has(told{f.Code, about}) {
				return false
			}
		}
		return true
	})
}

// about are the Jobs of a finding, or the object where there are none, whatever their API
// version.
func (j *judged) about() iter.Seq[Object] {
	return func(yield func(Object) bool) {
		if len(j.jobs) == 0 {
			yield(Object{Context: j.Context, Kind: j.Kind, Namespace: j.Namespace, Name: j.Name})
		}
		for _, job := range j.jobs {
			if !yield(Object{Context: job.Context, Kind: job.Kind, Namespace: job.Namespace, Name: job.Name}) {
				return
			}
		}
	}
}

func byWeight(a, b inspect.Finding) int {
	return cmp.Or(
		a.Severity.Compare(b.Severity),
		cmp.Compare(a.Code, b.Code), cmp.Compare(a.Context, b.Context),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
	)
}

// notJudged tells which rules could not judge what.
func notJudged(v *inspect.Inventory, all []Rule) []NotJudged {
	var missing []NotJudged
	for _, f := range v.Clusters {
		if f.Err != nil {
			missing = append(missing, NotJudged{Context: f.Context, Err: f.Err, Codes: codes(all, "")})
			continue
		}
		for _, part := range f.KindParts() {
			missing = append(missing, NotJudged{Context: f.Context, Part: part, Err: f.Gaps[part], Codes: codes(all, inspect.PartJobs)})
		}
		for _, part := range inspect.Parts() {
			read := part
			if part == inspect.PartKinds {
				// Objects of kinds that nobody knows of were not looked for.
				read = inspect.PartJobs
			}
			if err := f.Gaps[part]; err != nil && part != inspect.PartJobs {
				missing = append(missing, NotJudged{Context: f.Context, Part: part, Err: err, Codes: codes(all, read)})
			}
		}
	}
	return missing
}

// codes are those of the rules that read a part, or all.
func codes(all []Rule, part inspect.Part) []string {
	var found []string
	for _, r := range all {
		if part == "" || slices.Contains(r.Reads, part) {
			found = append(found, r.Code)
		}
	}
	return found
}
