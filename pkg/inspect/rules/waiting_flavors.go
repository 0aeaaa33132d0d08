package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

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
		all[i] = lacks[i].Message()
	}
	return strings.Join(all, "; ")
}

// neverFits says why no worker can ever hold a submission, and what helps.
func neverFits(s *Sighting, w *waiter) {
	lacks := lacksOn(w.offers)
	if len(lacks) == 0 {
		s.Message = "needs more than the limit of every worker"
		return
	}
	byQuota := kueue.Lacking(lacks, kueue.TooMuch, kueue.MoreNeeded)
	s.Message = "fits on no worker: " + texts(lacks)
	if !byQuota {
		s.Message = "no flavor of any worker suits its Pods: " + texts(lacks)
	}
	steps := remediesOf(lacks)
	switch {
	case len(steps) == 0:
	case byQuota:
		s.Remedy = command.Say("%s, or %s", strings.Join(steps, ", or "), s.Remedy)
	default:
		s.Remedy = command.Say("recreate the %s: %s", w.Job().Kind, strings.Join(steps, ", or "))
	}
}

// remediesOf are the remedies of lacks that have one, each once.
func remediesOf(lacks []kueue.Lack) []string {
	var steps []string
	for i := range lacks {
		if remedy := lacks[i].Fix(); remedy != "" && !slices.Contains(steps, remedy) {
			steps = append(steps, remedy)
		}
	}
	return steps
}

// noPlace tells of pods that have no place near enough to each other, which no end of
// another Job changes. s has what helps otherwise, if anything does.
func noPlace(s *Sighting, lacks []kueue.Lack, where string) {
	s.Severity = inspect.Warning
	s.Message = "no topology domain on " + where + " fits its Pods"
	if len(lacks) == 0 {
		s.Remedy = command.Say("add nodes, or recreate it with a wider topology")
		return
	}
	s.Message += ": " + texts(lacks)
	s.Remedy = command.Say("%s", strings.Join(remediesOf(lacks), ", or "))
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
		s.Message = fmt.Sprintf("%s; waits for quota again%s", p.text, needs)
		s.Evidence = append(s.Evidence, p.evidence)
		return
	}
	// However many wait there: one finding.
	s.Object = OfKueue(w.Manager, "LocalQueue", j.Namespace, queue)
	s.Cause = w.Manager.Context + " " + named(s.Object) + " " + j.Kind
	s.Tell = func(s *Sighting) {
		s.Message = fmt.Sprintf("%s wait for quota on the workers", plural(j))
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
		s.Evidence = append(s.Evidence, fmt.Sprintf("%s of LocalQueue %s/%s: quota is held by %s", named(Of(j)), j.Namespace, w.Workload.Spec.QueueName, inspect.Some(holders)))
	}
	if lacks := lacksOn(w.offers); len(lacks) > 0 {
		needs = ": " + texts(lacks)
	}
	return needs
}
