// Package actors has the rules that report a controller once for all Jobs
// that wait for it.
package actors

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

// Rules returns JM114, JM132 and JM137.
func Rules() []view.Rule { return []view.Rule{actorBehind(), actorStopped(), workerUnreached()} }

func actorBehind() view.Rule {
	return view.Rule{
		Code: "JM114", Severity: inspect.Info, IsProgress: true, SumsUp: true,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets, inspect.PartNamespaces,
		},
		Detect: func(v *view.View) {
			for _, f := range v.Clusters() {
				v.CanRead(f, inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets)
			}
			links := findSilentLinks(v)
			for _, g := range byActor(v, (*view.Awaited).IsBehind) {
				// JM137 reports the sightings that wait for a worker which
				// nothing reaches.
				waiting := slices.DeleteFunc(slices.Clone(g.Values), func(s view.Sighting) bool {
					return slices.ContainsFunc(links, func(l silentLinks) bool { return l.concerns(s.Awaits) && !l.lackNamespace(v, s) })
				})
				if len(waiting) > 0 {
					v.Report(behind(v, g.Key, waiting))
				}
			}
		},
	}
}

// byActor returns the sightings of other rules whose awaited step satisfies
// are, grouped by the actor that must take it, in the order in which the
// actors were seen. It leaves out rules that sum up.
func byActor(v *view.View, are func(*view.Awaited) bool) []view.Group[liveness.Actor, view.Sighting] {
	var waiting []view.Sighting
	for s := range v.Awaiting() {
		if are(s.Awaits) {
			waiting = append(waiting, s)
		}
	}
	return view.GroupBy(waiting, func(s view.Sighting) liveness.Actor { return s.Awaits.Actor })
}

// behind returns the sighting of an actor that is behind, with all Jobs that
// wait for it.
func behind(v *view.View, actor liveness.Actor, waiting []view.Sighting) view.Sighting {
	oldest := oldestOf(waiting)
	s := view.Sighting{Object: oldest.Object}
	jobs, n, counted := waitingJobs(v, waiting)
	s.Jobs = jobs
	who := actor.String()
	subject := who
	if actor.Role == liveness.RoleKueue {
		if check := v.MultiKueueCheck(actor.Context); check != (view.Object{}) {
			s.Object, who, subject = check, "MultiKueue on "+actor.Context, "MultiKueue"
		}
	}
	since := oldest.Awaits.Since
	if oldest.Awaits.IsUndated {
		since = v.Now()
	}
	s.Since = v.ToClusterClock(s.Object.Context, since)
	isWaitedFor := func(d liveness.Action) bool {
		return slices.ContainsFunc(waiting, func(s view.Sighting) bool { return s.Awaits.IsLike(d) })
	}
	rate := pace(v, actor, isWaitedFor)
	if n < fewestOfBacklog {
		s.Message = late(who, n, counted, waiting)
		s.Remedy = command.Say("wait: %s is still working on other objects", subject)
		if rate == 0 {
			s.Remedy = command.Say("wait a minute; if it remains, %s", advice.CheckActor(v, actor, oldest.Awaits))
		}
	} else {
		s.Message = fmt.Sprintf("%s is behind: %s wait for it", who, counted)
		if rate > 0 {
			s.Message += fmt.Sprintf("; %s does about %d steps per minute", subject, rate)
		}
		s.Remedy = command.Say("wait: %s is still working on other objects", subject)
		if actor.Role == liveness.RoleKueue {
			s.Remedy = command.Say("wait; if it stays behind, raise clientConnection.qps and clientConnection.burst in Kueue's configuration: %s",
				advice.ReconfigureKueue(v, actor.Context))
		}
	}
	s.Evidence = waitingByStep(v, actor, waiting)
	return s
}

// late describes what few objects wait for.
func late(who string, n int, counted string, waiting []view.Sighting) string {
	wait := "waits"
	if n > 1 {
		wait = "wait"
	}
	return fmt.Sprintf("%s %s for %s to %s", counted, wait, who, stepsText(waiting, n))
}

// fewestOfBacklog is how many Jobs must wait for a controller before more requests per second would
// help it. With fewer, one Job is late.
const fewestOfBacklog = 10

// waitingJobs returns the Jobs of sightings, and their number, also in words; without Jobs, the number and
// names of their objects. Mirrors count as the Job that they belong to.
func waitingJobs(v *view.View, waiting []view.Sighting) (jobs []*inspect.Job, n int, counted string) {
	origins := map[*inspect.Job]*inspect.Job{}
	for _, p := range v.Pairs() {
		for _, m := range p.Mirrors {
			origins[m.Job] = p.Origin
		}
	}
	each, kind := sets.New[inspect.Ref](), ""
	for _, w := range waiting {
		jobs = append(jobs, w.Jobs...)
		for _, j := range w.Jobs {
			each.Insert(inspect.RefOf(cmp.Or(origins[j], j)))
			kind = j.Kind
		}
	}
	if slices.ContainsFunc(jobs, func(j *inspect.Job) bool { return j.Kind != kind }) {
		kind = "object"
	}
	if each.Len() == 0 {
		// The objects of the setup wait, such as a MultiKueueCluster.
		objects := view.GroupBy(waiting, func(s view.Sighting) view.Object { return s.Object })
		var names []string
		for _, o := range objects {
			names = append(names, o.Key.String())
		}
		return nil, len(objects), inspect.And(names)
	}
	return jobs, each.Len(), inspect.Count(each.Len(), kind)
}

// waitingByStep quotes for each step how many Jobs wait for it, the oldest of them,
// and when the actor last took such a step.
func waitingByStep(v *view.View, actor liveness.Actor, waiting []view.Sighting) []string {
	slices.SortStableFunc(waiting, func(a, b view.Sighting) int {
		return cmp.Or(
			cmp.Compare(slices.Index(liveness.Duties(), a.Awaits.Duty), slices.Index(liveness.Duties(), b.Awaits.Duty)),
			strings.Compare(a.Awaits.Target, b.Awaits.Target), a.Awaits.Since.Compare(b.Awaits.Since))
	})
	var evidence []string
	for line, first := range waitingFor(actor, waiting) {
		if first.LastSimilar.At.IsZero() {
			line += "; the last step of another kind was at " + quote.Time(first.Last.At)
		} else {
			line += fmt.Sprintf("; the last such step was at %s, about %d per minute", quote.Time(first.LastSimilar.At), pace(v, actor, first.IsLike))
		}
		evidence = append(evidence, line)
	}
	return evidence
}

// waitingFor yields for each step a line with the number of waiting Jobs and
// the oldest of them, and its awaited step.
func waitingFor(actor liveness.Actor, waiting []view.Sighting) iter.Seq2[string, *view.Awaited] {
	return func(yield func(string, *view.Awaited) bool) {
		for _, group := range view.GroupBy(waiting, func(s view.Sighting) string { return s.Awaits.Step() }) {
			oldest := oldestOf(group.Values).Awaits
			since := quote.MaybeTime(oldest.Since)
			if oldest.IsUndated {
				since += " or later"
			}
			line := fmt.Sprintf("%s, %s since %s", waitText(actor, group.Values), oldest.Subject, since)
			if !yield(line, oldest) {
				return
			}
		}
	}
}

// oldestOf returns the sighting that has waited longest, of those with a known date if there are some.
func oldestOf(waiting []view.Sighting) view.Sighting {
	return slices.MinFunc(waiting, func(a, b view.Sighting) int {
		if a.Awaits.IsUndated != b.Awaits.IsUndated {
			if a.Awaits.IsUndated {
				return 1
			}
			return -1
		}
		return a.Awaits.Since.Compare(b.Awaits.Since)
	})
}

// pace returns how many steps an actor takes per minute.
func pace(v *view.View, actor liveness.Actor, counts func(liveness.Action) bool) int {
	return v.RecordOf(actor).PerMinute(v.Now(), counts)
}
