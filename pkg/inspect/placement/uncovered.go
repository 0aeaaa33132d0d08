package placement

import (
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// uncoveredNames returns the names of the resources that no flavor has.
func (a *assignment) uncoveredNames() []string {
	names := make([]string, len(a.uncovered))
	for i, n := range a.uncovered {
		names[i] = n.resource
	}
	return names
}

// isSurelyUncovered reports whether one of the resources that no flavor has is surely lacking.
func (s *site) isSurelyUncovered(result *assignment) bool {
	return slices.ContainsFunc(result.uncoveredNames(), s.isSurelyLacking)
}

// isSurelyLacking reports whether Kueue rejects a request because no flavor has a resource. Its
// configuration, which is not read, may make it ignore a resource that the ClusterQueue does not cover, as
// people do for CPU and memory. If Kueue itself rejects the request, it does not.
func (s *site) isSurelyLacking(resource string) bool {
	isSaid := s.Wait != nil && s.Wait.Has(kueue.ReasonResourceNotCovered)
	isExtended := strings.Contains(resource, "/")
	return isSaid || isExtended || s.isConfirmed(inspect.Never) || slices.Contains(s.queue.Queue.Covered(), resource)
}

// lackQuota decides about a request for resources that no flavor has. If it surely lacks them and also exceeds what the
// queue has, each change ends both.
func (s *site) lackQuota(a *assigner, result *assignment, all []podSetDemand) {
	first := &result.uncovered[0]
	s.Resource, s.Needs, s.Free, s.Limit = first.resource, first.requested.Text(first.resource), "0", "0"
	s.Uncovered = result.uncoveredNames()
	text := kueue.UncoveredText(s.uncovered(result)...)
	if !s.isSurelyUncovered(result) {
		s.coverBy(result)
		s.decide(inspect.Unknown, inspect.NoSuchResource, "%s, %s", text, unlessExcluded(s.Uncovered))
		return
	}
	if possible, isSure := a.isPossible(all); result.worst != nil && isSure && !possible {
		text += "; " + neverText(result, s.queue)
		s.suggest(result)
		s.coverNext(result)
	}
	if len(s.Changes) == 0 {
		s.coverBy(result)
	}
	s.decide(inspect.Never, inspect.NoSuchResource, "%s", text)
}

// unlessExcluded says on what it depends whether Kueue counts resources that no flavor has (kueue:
// apis/config/v1beta2/configuration_types.go, excludeResourcePrefixes and transformations).
func unlessExcluded(resources []string) string {
	pronoun := "it"
	if len(resources) > 1 {
		pronoun = "them"
	}
	return "unless Kueue's configuration excludes or transforms " + pronoun
}

// uncovered returns the lacks of resources that no flavor has.
func (s *site) uncovered(result *assignment) []kueue.Lack {
	lacks := make([]kueue.Lack, len(result.uncovered))
	for i, n := range result.uncovered {
		lacks[i] = kueue.Lack{Reason: kueue.ReasonResourceNotCovered, Resource: n.resource, ClusterQueue: s.queue.Name, Requested: n.requested.Text(n.resource)}
	}
	return lacks
}

// covers returns the two changes after which no resource is without quota: of the queue, and of the request.
func (s *site) covers(resources []string, queue *kueue.ClusterQueue) []inspect.PlacementChange {
	wait := kueue.Wait{Reason: kueue.ReasonResourceNotCovered}
	for _, name := range resources {
		wait.Lacks = append(wait.Lacks, kueue.Lack{Reason: kueue.ReasonResourceNotCovered, Resource: name})
	}
	return s.fixesOf(wait, queue)
}

// coverBy adds the changes after which no resource is without quota. They are as small as what the request waits for
// then.
func (s *site) coverBy(result *assignment) {
	share := 0.0
	for i := range result.tries {
		if t := &result.tries[i]; t.chosen && t.suits {
			share = max(share, shareOf(t.shortages()))
		}
	}
	for _, c := range s.covers(result.uncoveredNames(), s.queue.Queue) {
		c.Share = share
		s.change(c)
	}
}

// coverNext adds to each change that it is not enough if resources of the request are without quota.
func (s *site) coverNext(result *assignment) {
	if len(result.uncovered) == 0 {
		return
	}
	steps := stepsOf(s.covers(result.uncoveredNames(), s.queue.Queue)[:1])
	if !s.isSurelyUncovered(result) {
		steps[0].Text += ", " + unlessExcluded(result.uncoveredNames())
	}
	for i := range s.Changes {
		s.Changes[i].Then = slices.Concat(s.Changes[i].Then, steps)
	}
}

// doubted returns the change of a queue that may have no quota for some resources of a request, as a step of another change;
// none if the queue has it, or surely lacks it.
func doubted(p *inspect.Placement) []inspect.PlacementChange {
	if !isUncovered(p) || p.Verdict != inspect.Unknown || len(p.Changes) == 0 {
		return nil
	}
	c := p.Changes[0]
	c.Message += ", " + unlessExcluded(p.Uncovered)
	return []inspect.PlacementChange{c}
}

// isUncovered reports whether a queue has no quota for resources of the request.
func isUncovered(p *inspect.Placement) bool { return p.Reason == inspect.NoSuchResource }

// coverOnWorker completes the changes of a manager whose queue has no quota for some resources, if no worker could run
// the request then: with those of the worker that lacks least. Otherwise, the next answer would name the worker.
func (a *Surroundings) coverOnWorker(own *inspect.Placement, manager *inspect.Facts, r *Request, entry role, submitted *kueue.Workload, workers []inspect.Placement) {
	var best *inspect.Placement
	for i := range workers {
		w := &workers[i]
		if !isUncovered(w) && w.Verdict != inspect.Never {
			return
		}
		if isUncovered(w) && len(w.Changes) > 0 && (best == nil || w.LeastChange() < best.LeastChange()) {
			best = w
		}
	}
	if best == nil {
		return
	}
	site, q := newSite(manager, r, a, entry, submitted), queueOf(manager, r)
	remove := site.covers(own.Uncovered, q)[1]
	for i := range own.Changes {
		if c := &own.Changes[i]; c.Message != remove.Message {
			c.Then = command.AddSteps(c.Then, stepsOf(best.Changes[:1]))
		} else {
			*c = site.covers(slices.Compact(slices.Sorted(slices.Values(slices.Concat(own.Uncovered, best.Uncovered)))), q)[1]
		}
	}
}
