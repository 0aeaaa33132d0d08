package actors

import (
	"fmt"
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

func workerUnreached() view.Rule {
	return view.Rule{
		Code: "JM137", Severity: inspect.Error, SumsUp: true,
		Reads:  []inspect.Part{inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets, inspect.PartNamespaces},
		Covers: []string{"JM021", "JM022", "JM025", "JM035", "JM104", "JM105", "JM110"},
		Detect: func(v *view.View) {
			for _, f := range v.Clusters() {
				v.CanRead(f, inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets, inspect.PartNamespaces)
			}
			for _, l := range findSilentLinks(v) {
				reportUnreached(v, l)
			}
		},
	}
}

// isDisconnected reports whether the actor is at work, but has not used the
// connection that the step needs for minutes.
func isDisconnected(a *view.Awaited) bool { return a.State == liveness.Disconnected }

// silentLinks is a manager with workers that it cannot get through to, and
// the sightings that wait for these workers.
type silentLinks struct {
	manager *inspect.Facts
	// workers are the connected workers that nothing reaches.
	workers []view.NamedWorker
	waiting []view.Sighting
}

// findSilentLinks returns the silent links of each manager that has some.
func findSilentLinks(v *view.View) []silentLinks {
	var links []silentLinks
	for _, g := range byActor(v, isDisconnected) {
		manager, ok := v.Facts(g.Key.Context)
		if !ok || g.Key.Role != liveness.RoleKueue {
			continue
		}
		l := silentLinks{manager: manager}
		for _, w := range v.Workers(manager) {
			isSilent := func(s view.Sighting) bool {
				return w.Facts != nil && !lacksNamespace(v, w.Facts, s) && slices.Contains(v.RecordOf(g.Key).SilentWorkers(s.Awaits.PendingAction), w.Facts.Context)
			}
			if view.IsTrue(v.Connection(manager, w.Cluster)) && slices.ContainsFunc(g.Values, isSilent) {
				l.workers = append(l.workers, w)
			}
		}
		// Steps that were due less than two minutes ago wait for the same
		// connection.
		for _, all := range byActor(v, l.concerns) {
			l.waiting = append(l.waiting, slices.DeleteFunc(all.Values, func(s view.Sighting) bool { return l.lackNamespace(v, s) })...)
		}
		jobs := sets.New[inspect.Ref]()
		for _, s := range l.waiting {
			for _, j := range s.Jobs {
				jobs.Insert(inspect.RefOf(j))
			}
		}
		// A single Job may have its own reason.
		if jobs.Len() > 1 {
			links = append(links, l)
		}
	}
	return links
}

// concerns reports whether a step needs one of the silent connections.
func (l *silentLinks) concerns(a *view.Awaited) bool {
	return a.Actor.Role == liveness.RoleKueue && a.Actor.Context == l.manager.Context &&
		slices.ContainsFunc(l.workers, func(w view.NamedWorker) bool { return slices.Contains(a.Workers, w.Facts.Context) })
}

// lackNamespace reports whether a worker that a step needs lacks the namespace of its Job. That
// fails with all credentials, and JM024 and JM105 report it.
func (l *silentLinks) lackNamespace(v *view.View, s view.Sighting) bool {
	return slices.ContainsFunc(l.workers, func(w view.NamedWorker) bool {
		return slices.Contains(s.Awaits.Workers, w.Facts.Context) && lacksNamespace(v, w.Facts, s)
	})
}

// lacksNamespace reports whether a worker certainly lacks the namespace of a sighting's Jobs.
func lacksNamespace(v *view.View, worker *inspect.Facts, s view.Sighting) bool {
	return worker.Namespaces != nil && slices.ContainsFunc(s.Jobs, func(j *inspect.Job) bool {
		namespace, known := v.Namespace(worker, j.Namespace)
		return known && namespace == nil
	})
}

func reportUnreached(v *view.View, l silentLinks) {
	actor := liveness.Actor{Role: liveness.RoleKueue, Context: l.manager.Context}
	oldest := oldestOf(l.waiting)
	first := l.workers[0]
	s := view.Sighting{Object: view.OfKueue(l.manager, "MultiKueueCluster", "", first.Cluster), Cause: actor.String()}
	since := oldest.Awaits.Since
	var names, contexts []string
	var renew []command.Prose
	for _, w := range l.workers {
		name := fmt.Sprintf("%s (%s)", w.Cluster, w.Facts.Context)
		names, contexts = append(names, name), append(contexts, w.Facts.Context)
		last := "no action over this connection is recorded"
		if at := v.RecordOf(actor).LastContact(w.Facts.Context); !at.IsZero() {
			// Requests succeeded until then, although the oldest step was due before.
			since = view.Latest(since, at)
			last = "its last action over this connection was at " + quote.MaybeTime(at)
		}
		cluster, _ := v.MultiKueueCluster(l.manager, w.Cluster)
		s.Evidence = append(s.Evidence, quote.Condition(view.OfKueue(l.manager, "MultiKueueCluster", "", w.Cluster), v.Connection(l.manager, w.Cluster))+"; "+last)
		renew = append(renew, advice.RenewCredentials(l.manager, cluster))
	}
	for line := range waitingFor(actor, l.waiting) {
		s.Evidence = append(s.Evidence, line)
	}
	jobs, _, counted := waitingJobs(v, l.waiting)
	s.Jobs, s.Since = jobs, v.ToClusterClock(l.manager.Context, since)
	where := names[0]
	if len(names) > 1 {
		// MultiKueue reads all of them before each step, so one of them stops all steps.
		where = "at least one of " + strings.Join(names, ", ")
	}
	s.Message = fmt.Sprintf("requests of MultiKueue on %s to %s have failed since %s, although it is Connected: %s wait",
		l.manager.Context, where, quote.Time(since), counted)
	otherwise := "check that Kueue's webhooks run on " + inspect.And(contexts)
	if !slices.ContainsFunc(l.waiting, func(s view.Sighting) bool { return s.Awaits.Duty != liveness.DutyNominate }) {
		// A dispatcher that is not Kueue's own leaves no other trace than nominations.
		otherwise = "if multiKueue.dispatcherName in Kueue's configuration names another dispatcher, check that it runs; or " + otherwise
	}
	s.Remedy = command.Say("check the credentials first: run doctor, or search the log for Unauthorized or forbidden: %s; if Unauthorized, %s; "+
		"if forbidden, grant the rights that doctor names; otherwise %s",
		advice.ShowKueueLogs(v, l.manager.Context), command.Join(renew, "; "), command.Text(otherwise))
	v.Report(s)
}
