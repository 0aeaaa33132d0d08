package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// lacksOn returns what the workers lack, each once.
func lacksOn(held []heldCopy) []kueue.Lack {
	var found []kueue.Lack
	for i := range held {
		for _, l := range held[i].wait.Lacks {
			if !slices.Contains(found, l) {
				found = append(found, l)
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
func (v *View) waitsForRoomThere(s *Sighting, w *waiter, held []heldCopy, all reserved) {
	j := w.Job()
	queue := w.Workload.Spec.QueueName
	s.Severity = inspect.Info
	if p, ok := v.preempted(w.Submission); ok {
		needs := v.tellRoom(s, w, held, all)
		s.Message = fmt.Sprintf("%s; waits for quota again%s", p.text, needs)
		s.Evidence = append(s.Evidence, p.evidence)
		return
	}
	// However many wait there: one finding.
	s.Object = OfKueue(w.Manager, "LocalQueue", j.Namespace, queue)
	s.Cause = w.Manager.Context + " " + named(s.Object) + " " + j.Kind
	s.Tell = func(s *Sighting) {
		s.Message = fmt.Sprintf("%s wait for quota on the workers", plural(j))
		if needs := v.tellRoom(s, w, held, all); needs != "" {
			s.Message += fmt.Sprintf("; %s/%s%s", j.Namespace, j.Name, needs)
		}
	}
}

// tellRoom tells who holds the room that a submission waits for, and returns what it needs,
// to be put behind a colon; "" if that is not known.
func (v *View) tellRoom(s *Sighting, w *waiter, held []heldCopy, all reserved) (needs string) {
	v.tellQuota(s, held)
	j := w.Job()
	if holders := v.holders(w, all); len(holders) > 0 {
		s.Evidence = append(s.Evidence, fmt.Sprintf("%s of LocalQueue %s/%s: quota is held by %s", named(Of(j)), j.Namespace, w.Workload.Spec.QueueName, inspect.Some(holders)))
	}
	if lacks := lacksOn(held); len(lacks) > 0 {
		needs = ": " + texts(lacks)
	}
	return needs
}
