package rules

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

func actorStopped() Rule {
	return Rule{
		Code: "JM132", Title: "a controller makes no progress", Severity: inspect.Error, SumsUp: true,
		Holds: "every controller is at work",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks,
		},
		Why: `Several things wait for one controller, for different steps, and it was at work before and has done nothing
since. No single refusal explains that: the controller was stopped, has lost its lease or its connection to the API
server, or hangs. It is told once, in place of what each of them seems to wait for.`,
		Shows: `At least two Jobs wait for two different steps of the same controller, and the last condition, status,
copy or mirror that it wrote for anybody is from before.`,
		Remedy: `See whether it runs, and what it logs. What waits goes on by itself once it does.`,
		Link:   "https://kueue.sigs.k8s.io/docs/tasks/troubleshooting/",
		Covers: []string{
			"JM021", "JM022", "JM025", "JM031", "JM035", "JM041", "JM046", "JM047", "JM104", "JM110", "JM129", "JM130",
		},
		Detect: func(v *View) {
			for _, f := range v.Clusters() {
				v.note(f, inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks)
			}
			for _, g := range v.turns((*Awaited).isUnserved) {
				v.reportStopped(g.key, g.values)
			}
		},
	}
}

// isUnserved says whether the actor was seen at work once, and is not any more.
func (a *Awaited) isUnserved() bool { return a.State == inspect.Unseen && a.Last != (inspect.Deed{}) }

// reportStopped reports an actor, if what waits for it has no other cause in common.
func (v *View) reportStopped(actor inspect.Actor, waiting []Sighting) {
	at := v.lastSeen(actor)
	if at.IsZero() {
		return
	}
	// What waited long before the last deed was passed over: that has a cause of its own.
	waiting = slices.DeleteFunc(slices.Clone(waiting), func(s Sighting) bool { return s.Awaits.Since.Before(at.Add(-time.Minute)) })
	duties, jobs, kinds := sets.New[string](), sets.New[inspect.Ref](), sets.New[string]()
	for _, s := range waiting {
		duties.Insert(s.Awaits.duty())
		for _, j := range s.Jobs {
			if !j.IsMirror() {
				jobs.Insert(inspect.RefOf(j))
				kinds.Insert(plural(j))
			}
		}
	}
	if duties.Len() < 2 || jobs.Len() < 2 || v.Now().Sub(at) < time.Minute {
		return
	}
	first := waiting[0]
	s := Sighting{
		Object: first.Object, Cause: actor.String(),
		Message: fmt.Sprintf("%s stopped: its last action was at %s, and %d %s wait since", actor, day(at), jobs.Len(), strings.Join(sets.List(kinds), " and ")),
		Remedy:  seeActor(actor, first.Awaits),
	}
	for line := range waitingFor(actor, waiting) {
		s.Evidence = append(s.Evidence, line)
	}
	if check := v.multiKueueCheck(actor.Context); check != (Object{}) && actor.Role == inspect.RoleKueue {
		s.Object = check
	}
	s.Since = v.inventory.Theirs(s.Object.Context, at)
	for _, w := range waiting {
		s.Jobs = append(s.Jobs, w.Jobs...)
	}
	v.Report(s)
}
