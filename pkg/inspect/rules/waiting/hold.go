package waiting

import (
	"fmt"
	"slices"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// queueProblem is a problem of a queue that a Workload waits in.
type queueProblem struct {
	object view.Object
	// what is the problem, in words that follow the name of the object.
	what     string
	since    time.Time
	evidence []string
	remedy   command.Prose
	// isIntended is whether a user asked for it.
	isIntended bool
}

// reportHeld reports queues of workers that hold the copies of waiting Jobs
// for one of the reasons.
func reportHeld(v *view.View, reasons ...kueue.WaitReason) {
	for w := range unadmitted(v) {
		var problems []queueProblem
		for _, o := range w.copies {
			if t, ok := problemOf(v, w, o, reasons); ok {
				problems = append(problems, t)
			}
		}
		for _, group := range view.GroupBy(problems, func(t queueProblem) string { return t.object.String() }) {
			v.Report(heldOnWorkers(v, w, group.Key, group.Values))
		}
	}
}

func problemOf(v *view.View, w *waiter, o view.Copy, reasons []kueue.WaitReason) (queueProblem, bool) {
	wait, ok := view.HoldOf(o.Workload)
	if !ok || !slices.Contains(reasons, wait.Reason) {
		return queueProblem{}, false
	}
	like := ""
	if w.Workload.Status.Admission != nil {
		like = w.Workload.Status.Admission.ClusterQueue
	}
	return findQueueProblem(v, o.Worker, o.Workload, &wait, like)
}

// remedyOf returns the remedy of the same problem on several workers. To start the Job, one fix on one worker is enough.
// The best fix of each worker comes first.
func remedyOf(problems []queueProblem) command.Prose {
	var ranked [][]command.Fix
	for _, t := range problems {
		for i, f := range t.remedy.Fixes() {
			if i == len(ranked) {
				ranked = append(ranked, nil)
			}
			ranked[i] = append(ranked[i], f)
		}
	}
	return command.Alternatives(slices.Concat(ranked...))
}

// heldOnWorkers returns the sighting of one trouble on several workers.
func heldOnWorkers(v *view.View, w *waiter, key string, problems []queueProblem) view.Sighting {
	var contexts, evidence []string
	for _, t := range problems {
		contexts = append(contexts, t.object.Context)
		evidence = append(evidence, t.evidence...)
	}
	first := problems[0]
	s := view.Sighting{
		Object: first.object, Since: first.since, Evidence: evidence, Remedy: remedyOf(problems),
		Message: fmt.Sprintf("%s %s on %s", key, first.what, inspect.And(contexts)),
		Jobs:    []*inspect.Job{w.Job()}, Cause: w.Manager.Context + " " + key, Severity: inspect.Warning,
	}
	if w.isStuck(v) {
		s.Severity, s.Message = inspect.Error, s.Message+noOtherWorker(w)
	}
	return s
}

// noOtherWorker adds to the message about some workers that no other one can run the Job either.
func noOtherWorker(w *waiter) string { return ", and no other worker can admit the " + w.Job().Kind }
