package rules

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

func workerUnreached() Rule {
	return Rule{
		Code: "JM137", Title: "MultiKueue does not get through to a connected worker", Severity: inspect.Error, SumsUp: true,
		Holds: "MultiKueue gets through to every connected worker",
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets},
		Why: `MultiKueue opens its watches once and keeps them. If the credentials in the Secret are revoked later, the
watches stay open for minutes to an hour, so the MultiKueueCluster stays Connected. Every other request of MultiKueue fails
at once: copies, mirrors and statuses stop. MultiKueue reads a Workload on all workers before it acts on one, so one such
worker also stops Jobs on the others.`,
		Shows: `The MultiKueueCluster has Active=True. Two or more Jobs wait for a step that needs the worker, one of them for
two minutes or more. Kueue was at work on the management cluster since, but did nothing that needs the worker.`,
		Remedy: `Check the credentials first: Kueue logs Unauthorized. Then write new ones to the Secret. If Kueue logs
something else, such as a webhook that does not answer, repair that on the worker.`,
		Link:   "https://github.com/kubernetes-sigs/kueue/issues/9280",
		Covers: []string{"JM022", "JM025", "JM035", "JM104", "JM105", "JM110"},
		Detect: func(v *View) {
			for _, f := range v.Clusters() {
				v.note(f, inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets)
			}
			for _, l := range v.silentLinks() {
				v.reportUnreached(l)
			}
		},
	}
}

// isUnreached reports whether the actor is at work, but for minutes not over the connection that
// this takes.
func (a *Awaited) isUnreached() bool { return a.State == inspect.Unreached }

// silentLinks are the managers with workers that they do not get through to, and what waits for
// these workers.
type silentLinks struct {
	manager *inspect.Facts
	// workers are the connected ones that nothing reaches.
	workers []workerOf
	waiting []Sighting
}

// silentLinks finds them, one for each manager.
func (v *View) silentLinks() []silentLinks {
	var links []silentLinks
	for _, g := range v.turns((*Awaited).isUnreached) {
		manager, ok := v.Facts(g.key.Context)
		if !ok || g.key.Role != inspect.RoleKueue {
			continue
		}
		l := silentLinks{manager: manager}
		for _, w := range v.workersOf(manager) {
			isSilent := func(s Sighting) bool { return w.facts != nil && s.Awaits.Worker == w.facts.Context }
			if isTrue(v.activeOf(manager, w.cluster)) && slices.ContainsFunc(g.values, isSilent) {
				l.workers = append(l.workers, w)
			}
		}
		// What waits for less than two minutes waits for the same.
		for _, all := range v.turns(l.concerns) {
			l.waiting = append(l.waiting, all.values...)
		}
		jobs := sets.New[inspect.Ref]()
		for _, s := range l.waiting {
			for _, j := range s.Jobs {
				jobs.Insert(inspect.RefOf(j))
			}
		}
		// A single Job may have a reason of its own.
		if jobs.Len() > 1 {
			links = append(links, l)
		}
	}
	return links
}

// concerns reports whether a turn takes one of the connections that nothing gets through.
func (l *silentLinks) concerns(a *Awaited) bool {
	return a.Actor.Role == inspect.RoleKueue && a.Actor.Context == l.manager.Context &&
		slices.ContainsFunc(l.workers, func(w workerOf) bool { return w.facts.Context == a.Worker })
}

func (v *View) reportUnreached(l silentLinks) {
	actor := inspect.Actor{Role: inspect.RoleKueue, Context: l.manager.Context}
	oldest := oldestOf(l.waiting)
	first := l.workers[0]
	s := Sighting{Object: OfKueue(l.manager, "MultiKueueCluster", "", first.cluster), Cause: actor.String()}
	s.Since = v.inventory.Theirs(l.manager.Context, oldest.Awaits.Since)
	var names, contexts []string
	var renew []command.Prose
	for _, w := range l.workers {
		name := fmt.Sprintf("%s (%s)", w.cluster, w.facts.Context)
		names, contexts = append(names, name), append(contexts, w.facts.Context)
		last := "nothing that it did over this connection was seen"
		if at := v.inventory.RecordOf(actor).Reached(w.facts.Context); !at.IsZero() {
			last = "the last thing that it did over this connection was at " + day(at)
		}
		cluster, _ := v.MultiKueueCluster(l.manager, w.cluster)
		s.Evidence = append(s.Evidence, conditionText(OfKueue(l.manager, "MultiKueueCluster", "", w.cluster), v.activeOf(l.manager, w.cluster))+"; "+last)
		renew = append(renew, renewCredentials(brokenWorker{manager: l.manager, cluster: cluster}))
	}
	for line := range waitingFor(actor, l.waiting) {
		s.Evidence = append(s.Evidence, line)
	}
	jobs, counted := waitingJobs(l.waiting)
	s.Jobs = jobs
	s.Message = fmt.Sprintf("MultiKueue on %s does not get through to %s since %s, though connected: it keeps %s waiting",
		l.manager.Context, strings.Join(names, " and "), stamp(oldest.Awaits.Since), counted)
	s.Remedy = command.Say("check the credentials first: look for Unauthorized in the log: %s; if it is there, %s; otherwise see whether Kueue's webhooks run on %s",
		logsOfKueue(l.manager.Context), command.Join(renew, "; "), strings.Join(contexts, " and "))
	v.Report(s)
}
