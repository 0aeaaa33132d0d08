package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// prose is what a flavor or queue lacks, in words that begin with the flavor or the resource.
func prose(l *kueue.Lack) string {
	switch l.Kind {
	case kueue.TooMuch:
		asks := l.Asked
		if l.AfterOthers() {
			asks += " (after " + l.Before + " for its other pods)"
		}
		return fmt.Sprintf("it asks for %s %s, and %s is the most that flavor %s can ever give, with what may be borrowed", asks, l.Resource, l.Most, l.Flavor)
	case kueue.MoreNeeded:
		return fmt.Sprintf("%s more %s needed in flavor %s", l.More, l.Resource, l.Flavor)
	case kueue.NoSuchLabel:
		return fmt.Sprintf("flavor %s lacks the labels that its node selector or affinity asks for", l.Flavor)
	case kueue.Untolerated:
		return fmt.Sprintf("flavor %s has the taint %s, which its pods do not tolerate", l.Flavor, l.Taint)
	case kueue.NoSuchResource:
		return fmt.Sprintf("no flavor of its ClusterQueue has any %s", l.Resource)
	case kueue.NoSuchFlavor:
		return "there is no flavor " + l.Flavor
	case kueue.NoTopology:
		return fmt.Sprintf("flavor %s has no topology, which its pods ask for", l.Flavor)
	case kueue.NoPlaceNear:
		fit := l.Fit
		if fit == "0" {
			fit = "none"
		}
		return fmt.Sprintf("topology %s has room for %s of its %s pods as near to each other as they ask for", l.Topology, fit, l.Pods)
	}
	return ""
}

// remedyOf is what else than more quota would help, "" for nothing.
func remedyOf(l *kueue.Lack) string {
	switch l.Kind {
	case kueue.TooMuch, kueue.MoreNeeded:
		return ""
	case kueue.NoSuchLabel:
		return "ask for labels that a flavor has"
	case kueue.Untolerated:
		return fmt.Sprintf("have the pods tolerate the taint %s of flavor %s", l.Taint, l.Flavor)
	case kueue.NoSuchResource:
		return fmt.Sprintf("add %s to a flavor of the ClusterQueue", l.Resource)
	case kueue.NoSuchFlavor:
		return "create ResourceFlavor " + l.Flavor
	case kueue.NoTopology:
		return fmt.Sprintf("give ResourceFlavor %s a topology", l.Flavor)
	case kueue.NoPlaceNear:
		return fmt.Sprintf("add nodes to a domain of topology %s, or ask for a wider one", l.Topology)
	}
	return ""
}

// lacksOn are what all workers lack, each once.
func lacksOn(offers []Copy) []kueue.Lack {
	var found []kueue.Lack
	for _, o := range offers {
		if _, c := holdOf(o.Workload); c != nil {
			for _, l := range kueue.Lacks(c.Message) {
				if !slices.Contains(found, l) {
					found = append(found, l)
				}
			}
		}
	}
	return found
}

func texts(lacks []kueue.Lack) string {
	all := make([]string, len(lacks))
	for i := range lacks {
		all[i] = prose(&lacks[i])
	}
	return strings.Join(all, "; ")
}

// neverFits says why no worker can ever hold a submission, and what helps.
func neverFits(s *Sighting, w *waiter) {
	lacks := lacksOn(w.offers)
	if len(lacks) == 0 {
		s.Message = "it asks for more than any worker's quota can ever hold"
		return
	}
	byQuota := kueue.Lacking(lacks, kueue.TooMuch, kueue.MoreNeeded)
	s.Message = "no worker can ever hold it: " + texts(lacks)
	if !byQuota {
		s.Message = "no flavor of any worker suits its pods, which has nothing to do with quota: " + texts(lacks)
	}
	steps := remediesOf(lacks)
	switch {
	case len(steps) == 0:
	case byQuota:
		s.Remedy = command.Say("%s, or %s", strings.Join(steps, ", or "), s.Remedy)
	default:
		s.Remedy = command.Say("%s: %s", strings.Join(steps, ", or "), startAgain(w.Job()))
	}
}

// remediesOf are the remedies of lacks that have one, each once.
func remediesOf(lacks []kueue.Lack) []string {
	var steps []string
	for i := range lacks {
		if remedy := remedyOf(&lacks[i]); remedy != "" && !slices.Contains(steps, remedy) {
			steps = append(steps, remedy)
		}
	}
	return steps
}

// noPlace tells of pods that have no place near enough to each other, which no end of
// another Job changes. s has what helps otherwise, if anything does.
func noPlace(s *Sighting, lacks []kueue.Lack, where string) {
	s.Severity = inspect.Warning
	s.Message = "no topology on " + where + " has a place for it, until nodes change"
	if len(lacks) == 0 {
		s.Remedy = command.Say("add nodes, or have it ask for a wider topology: %s", startAgain(s.Jobs[0]))
		return
	}
	s.Message += ": " + texts(lacks)
	s.Remedy = command.Say("%s; to have it ask for something else, %s", strings.Join(remediesOf(lacks), ", or "), startAgain(s.Jobs[0]))
}

// reserved are the Workloads that have quota on a cluster, by their ClusterQueues. It is
// found out once for all that wait: there may be thousands of both.
type reserved map[*inspect.Facts]map[string][]*kueue.Workload

func (r reserved) in(v *View, f *inspect.Facts, queue string) []*kueue.Workload {
	if r[f] == nil {
		r[f] = map[string][]*kueue.Workload{}
		workloads, _ := v.Workloads(f)
		for _, w := range workloads {
			if w.Status.Admission != nil && w.Is(kueue.QuotaReserved) && !w.Is(kueue.Finished) {
				r[f][w.Status.Admission.ClusterQueue] = append(r[f][w.Status.Admission.ClusterQueue], w)
			}
		}
	}
	return r[f][queue]
}

// holders are the Jobs that have quota in the ClusterQueues which a submission waits for
// on the workers, as "default/a on kwok-w1".
func (v *View) holders(w *waiter, all reserved) []string {
	var found []string
	for _, o := range w.offers {
		queue := ""
		if local, _ := v.LocalQueue(o.Worker, o.Workload.Namespace, o.Workload.Spec.QueueName); local != nil {
			queue = local.Spec.ClusterQueue
		}
		for _, other := range all.in(v, o.Worker, queue) {
			if other != o.Workload {
				found = append(found, fmt.Sprintf("%s on %s", v.madeForName(o.Worker, other), o.Worker.Context))
			}
		}
	}
	return found
}

// madeForName is what a Workload was made for, as "Job default/a"; or the Workload, if
// that does not tell.
func (v *View) madeForName(f *inspect.Facts, w *kueue.Workload) string {
	for _, owner := range w.OwnerReferences {
		if owner.Controller != nil && *owner.Controller {
			return fmt.Sprintf("%s %s/%s", owner.Kind, w.Namespace, owner.Name)
		}
	}
	return named(workloadObject(f, w))
}

// waitsForRoomThere tells of a submission for which there is no room so far.
func (v *View) waitsForRoomThere(s *Sighting, w *waiter, all reserved) {
	j := w.Job()
	queue := w.Workload.Spec.QueueName
	s.Severity = inspect.Info
	if p, ok := v.preempted(w.Submission); ok {
		needs := v.tellRoom(s, w, all)
		s.Message = fmt.Sprintf("%s; it waits for room again%s", p.text, needs)
		s.Evidence = append(s.Evidence, p.evidence)
		return
	}
	// However many wait there: one finding.
	s.Object = OfKueue(w.Manager, "LocalQueue", j.Namespace, queue)
	s.Cause = w.Manager.Context + " " + named(s.Object) + " " + j.Kind
	s.Tell = func(s *Sighting) {
		s.Message = fmt.Sprintf("%s of LocalQueue %s/%s wait for room on the workers, none of which has any so far", plural(j), j.Namespace, queue)
		if needs := v.tellRoom(s, w, all); needs != "" {
			s.Message += fmt.Sprintf("; %s/%s%s", j.Namespace, j.Name, needs)
		}
	}
}

// tellRoom tells who holds the room that a submission waits for, and returns what it needs,
// to be put behind a colon; "" if that is not known.
func (v *View) tellRoom(s *Sighting, w *waiter, all reserved) (needs string) {
	v.tellQuota(s, w)
	j := w.Job()
	if holders := v.holders(w, all); len(holders) > 0 {
		s.Evidence = append(s.Evidence, fmt.Sprintf("%s of LocalQueue %s/%s: the room is held by %s", named(Of(j)), j.Namespace, w.Workload.Spec.QueueName, inspect.Some(holders)))
	}
	if lacks := lacksOn(w.offers); len(lacks) > 0 {
		needs = ": " + texts(lacks)
	}
	return needs
}
