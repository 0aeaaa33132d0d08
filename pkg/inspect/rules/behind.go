package rules

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

func actorBehind() Rule {
	return Rule{
		Code: "JM114", Title: "a controller is behind", Severity: inspect.Info, Goes: true, SumsUp: true,
		Holds: "every controller keeps up",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `Something waits for a controller that is visibly at work on others, so nothing is wrong with it: it will
come to this one. MultiKueue on a management cluster falls behind by many seconds where a hundred Jobs are submitted at
once, because its client may send so many requests a second and no more: clientConnection.qps and burst in Kueue's
configuration, and before Kueue 0.20 client-go's own 5 and 10 for the connections to workers. Within the grace this is
told for information, beyond it as a warning.`,
		Shows: `Objects that wait for a step of the controller, while conditions, statuses, copies and mirrors of others
were written since they began to wait, or just before.`,
		Remedy: `Wait. If a controller stays behind, let its client send more requests: for MultiKueue, raise
clientConnection.qps and clientConnection.burst in Kueue's configuration on the management cluster, and restart it.`,
		Link: "https://kueue.sigs.k8s.io/docs/installation/#install-a-custom-configured-released-version",
		Detect: func(v *View) {
			for _, f := range v.Clusters() {
				v.note(f, inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets)
			}
			links := v.silentLinks()
			for _, g := range v.turns((*Awaited).isBehind) {
				// JM137 reports those that wait for a worker which nothing reaches.
				waiting := slices.DeleteFunc(slices.Clone(g.values), func(s Sighting) bool {
					return slices.ContainsFunc(links, func(l silentLinks) bool { return l.concerns(s.Awaits) })
				})
				if len(waiting) > 0 {
					v.Report(behind(v, g.key, waiting))
				}
			}
		},
	}
}

// turns are those sightings of the rules that sum nothing up which rest on a certain kind
// of turn, by the actors whose turn it is, in the order in which these were seen.
func (v *View) turns(are func(*Awaited) bool) []group[inspect.Actor, Sighting] {
	var waiting []Sighting
	for _, r := range All() {
		if r.SumsUp {
			continue
		}
		for _, s := range v.shared.awaitingOf(r, v.inventory) {
			if are(s.Awaits) {
				waiting = append(waiting, s)
			}
		}
	}
	return grouped(waiting, func(s Sighting) inspect.Actor { return s.Awaits.Actor })
}

// behind tells of an actor, with all that waits for it.
func behind(v *View, actor inspect.Actor, waiting []Sighting) Sighting {
	oldest := oldestOf(waiting)
	s := Sighting{Object: oldest.Object}
	jobs, counted := waitingJobs(waiting)
	s.Jobs = jobs
	who := actor.String()
	if actor.Role == inspect.RoleKueue {
		if check := v.multiKueueCheck(actor.Context); check != (Object{}) {
			s.Object, who = check, "MultiKueue on "+actor.Context
		}
	}
	s.Since = v.inventory.Theirs(s.Object.Context, oldest.Awaits.Since)
	since := stamp(oldest.Awaits.Since)
	s.Message = fmt.Sprintf("%s is behind with %s, the oldest of which waits since %s", who, counted, since)
	isWaitedFor := func(d inspect.Deed) bool {
		return slices.ContainsFunc(waiting, func(s Sighting) bool { return s.Awaits.Duty == d.Duty && s.Awaits.Target == d.Target })
	}
	if n := v.pace(actor, isWaitedFor); n > 0 {
		s.Message += fmt.Sprintf(", and it takes about %d such steps a minute", n)
	}
	s.Evidence = v.backlog(actor, waiting)
	s.Remedy = "wait: it is at work"
	if actor.Role == inspect.RoleKueue {
		s.Remedy = command.Say("wait: it is at work; if it stays behind, raise clientConnection.qps and clientConnection.burst in its configuration: %s",
			reconfigureKueue(actor.Context))
	}
	return s
}

// waitingJobs returns the Jobs of sightings, and how many these are, in words.
func waitingJobs(waiting []Sighting) (jobs []*inspect.Job, counted string) {
	each, kind := sets.New[inspect.Ref](), ""
	for _, w := range waiting {
		jobs = append(jobs, w.Jobs...)
		for _, j := range w.Jobs {
			each.Insert(inspect.RefOf(j))
			kind = j.Kind
		}
	}
	if slices.ContainsFunc(jobs, func(j *inspect.Job) bool { return j.Kind != kind }) {
		kind = "object"
	}
	return jobs, inspect.Count(each.Len(), kind)
}

// backlog tells for each step how many wait for it, the oldest, and when others had
// it last.
func (v *View) backlog(actor inspect.Actor, waiting []Sighting) []string {
	slices.SortStableFunc(waiting, func(a, b Sighting) int {
		return cmp.Or(
			cmp.Compare(slices.Index(inspect.Duties(), a.Awaits.Duty), slices.Index(inspect.Duties(), b.Awaits.Duty)),
			strings.Compare(a.Awaits.Target, b.Awaits.Target), a.Awaits.Since.Compare(b.Awaits.Since))
	})
	var evidence []string
	for line, first := range waitingFor(actor, waiting) {
		if first.Like.Done.IsZero() {
			line += "; another step was taken at " + stamp(first.Last.Done)
		} else {
			line += fmt.Sprintf("; the last was done at %s, and about %d in a minute", stamp(first.Like.Done), v.pace(actor, first.isLike))
		}
		evidence = append(evidence, line)
	}
	return evidence
}

// waitingFor tells for each step how many wait for it, with the one that has waited for
// longest.
func waitingFor(actor inspect.Actor, waiting []Sighting) iter.Seq2[string, *Awaited] {
	return func(yield func(string, *Awaited) bool) {
		for _, those := range grouped(waiting, func(s Sighting) string { return s.Awaits.duty() }) {
			oldest := oldestOf(those.values).Awaits
			if !yield(fmt.Sprintf("%s: %s: %d waiting, %s since %s", actor.Context, those.key, len(those.values), oldest.Subject, day(oldest.Since)), oldest) {
				return
			}
		}
	}
}

// oldestOf is the one that has waited for longest.
func oldestOf(waiting []Sighting) Sighting {
	return slices.MinFunc(waiting, func(a, b Sighting) int { return a.Awaits.Since.Compare(b.Awaits.Since) })
}

// pace is how many steps an actor takes in a minute.
func (v *View) pace(actor inspect.Actor, counts func(inspect.Deed) bool) int {
	return v.inventory.RecordOf(actor).PerMinute(v.Now(), counts)
}

// multiKueueCheck is the AdmissionCheck by which a cluster dispatches; the zero
// Object if it has none.
func (v *View) multiKueueCheck(context string) Object {
	f, _ := v.Facts(context)
	k, _ := v.kueue(f, inspect.PartChecks)
	if check := k.MultiKueueCheck(); check != nil {
		return OfKueue(f, "AdmissionCheck", "", check.Name)
	}
	return Object{}
}
