package actors

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

func actorStopped() view.Rule {
	return view.Rule{
		Code: "JM132", Severity: inspect.Error, SumsUp: true,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks,
		},
		Covers: []string{
			"JM021", "JM022", "JM025", "JM031", "JM035", "JM041", "JM046", "JM047", "JM104", "JM110", "JM129", "JM130", "JM140",
		},
		Detect: func(v *view.View) {
			for _, f := range v.Clusters() {
				v.CanRead(f, inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks)
			}
			for _, g := range byActor(v, isUnserved) {
				reportStopped(v, g.Key, g.Values)
			}
		},
	}
}

// isUnserved reports whether the actor was once seen at work, but not since
// the step became due.
func isUnserved(a *view.Awaited) bool {
	return a.State == liveness.Inactive && a.Last != (liveness.Action{})
}

// reportStopped reports an actor, unless the Jobs that wait for it have
// another cause in common.
func reportStopped(v *view.View, actor liveness.Actor, waiting []view.Sighting) {
	at := v.LastSeen(actor)
	if at.IsZero() {
		return
	}
	// The actor passed over steps that were due long before its last action.
	// They have their own cause.
	waiting = slices.DeleteFunc(slices.Clone(waiting), func(s view.Sighting) bool { return s.Awaits.Since.Before(at.Add(-time.Minute)) })
	duties, jobs, kinds := sets.New[string](), sets.New[inspect.Ref](), sets.New[string]()
	for _, s := range waiting {
		duties.Insert(s.Awaits.Step())
		for _, j := range s.Jobs {
			if !j.IsMirror() {
				jobs.Insert(inspect.RefOf(j))
				kinds.Insert(quote.Plural(j))
			}
		}
	}
	if duties.Len() < 2 || jobs.Len() < 2 || v.Now().Sub(at) < time.Minute {
		return
	}
	first := waiting[0]
	s := view.Sighting{
		Object: first.Object, Cause: actor.String(),
		Message: fmt.Sprintf("%s stopped: its last action was at %s, and %d %s wait for it", actor, quote.MaybeTime(at), jobs.Len(), inspect.And(sets.List(kinds))),
		Remedy:  advice.CheckActor(v, actor, first.Awaits),
	}
	for line := range waitingFor(actor, waiting) {
		s.Evidence = append(s.Evidence, line)
	}
	if check := v.MultiKueueCheck(actor.Context); check != (view.Object{}) && actor.Role == liveness.RoleKueue {
		s.Object = check
	}
	s.Since = v.ToClusterClock(s.Object.Context, inVainSince(at, waiting))
	for _, w := range waiting {
		s.Jobs = append(s.Jobs, w.Jobs...)
	}
	v.Report(s)
}

// inVainSince returns when objects began to wait for an actor that stopped after its last action. Before that action,
// they waited for an actor at work.
func inVainSince(last time.Time, waiting []view.Sighting) time.Time {
	return view.Latest(last, oldestOf(waiting).Awaits.Since)
}
