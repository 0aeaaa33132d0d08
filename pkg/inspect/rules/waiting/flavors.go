package waiting

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
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

func lackTexts(lacks []kueue.Lack) string {
	var all []string
	for i := range lacks {
		if text := lacks[i].Message(); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return strings.Join(all, "; ")
}

// reservations has the Workloads that hold quota on a cluster, by ClusterQueue.
// It is found once for all waiting Jobs, because there may be thousands of
// both.
type reservations map[*inspect.Facts]map[string][]*kueue.Workload

func (r reservations) in(v *view.View, f *inspect.Facts, queue string) []*kueue.Workload {
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

// holders returns the Jobs that hold quota in the ClusterQueues that a
// submission waits for on the workers, as "default/a on kwok-w1".
func holders(v *view.View, w *waiter, all reservations) []string {
	var found []string
	for _, o := range w.offers {
		queue := ""
		if local, _ := v.LocalQueue(o.Worker, o.Workload.Namespace, o.Workload.Spec.QueueName); local != nil {
			queue = local.Spec.ClusterQueue
		}
		for _, other := range all.in(v, o.Worker, queue) {
			if other != o.Workload {
				found = append(found, fmt.Sprintf("%s on %s", quote.WorkloadOwner(o.Worker, other), o.Worker.Context))
			}
		}
	}
	return found
}

// describeQuotaWaitOnWorkers completes the sighting of a submission that waits for
// quota on workers.
func describeQuotaWaitOnWorkers(v *view.View, s *view.Sighting, w *waiter, held []heldCopy, all reservations) {
	j := w.Job()
	queue := w.Workload.Spec.QueueName
	s.Severity = inspect.Info
	if p, ok := quote.LastPreemption(v, w.Submission); ok {
		needs := addHolders(v, s, w, held, all)
		s.Message = fmt.Sprintf("%s; waits for quota again%s", p.Details, needs)
		s.Evidence, s.Preempted = append(s.Evidence, p.Evidence), &p.Preemption
		return
	}
	// All Jobs that wait in one LocalQueue are one finding.
	s.Object = view.OfKueue(w.Manager, "LocalQueue", j.Namespace, queue)
	s.Cause = w.Manager.Context + " " + s.Object.String() + " " + j.Kind
	s.Complete = func(s *view.Sighting) {
		s.Message = fmt.Sprintf("%s wait for quota on the workers", quote.Plural(j))
		if needs := addHolders(v, s, w, held, all); needs != "" {
			s.Message += fmt.Sprintf("; %s/%s%s", j.Namespace, j.Name, needs)
		}
	}
}

// addHolders adds which Jobs hold the quota that a submission waits for. It
// returns what the submission needs, with a leading colon, "" if unknown.
func addHolders(v *view.View, s *view.Sighting, w *waiter, held []heldCopy, all reservations) (needs string) {
	addQuota(v, s, held)
	j := w.Job()
	if holders := holders(v, w, all); len(holders) > 0 {
		s.Evidence = append(s.Evidence, fmt.Sprintf("%s of LocalQueue %s/%s: quota is held by %s", view.Of(j).String(), j.Namespace, w.Workload.Spec.QueueName, inspect.Some(holders)))
	}
	if lacks := lacksOn(held); len(lacks) > 0 {
		needs = ": " + lackTexts(lacks)
	}
	return needs
}
