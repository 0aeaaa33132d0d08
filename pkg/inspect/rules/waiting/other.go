package waiting

import (
	"fmt"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func waitsOtherwise() view.Rule {
	return view.Rule{
		Code: "JM116", Severity: inspect.Warning,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets,
		},
		Detect: detectHeldOtherwise,
	}
}

func detectHeldOtherwise(v *view.View) {
	for w := range unadmitted(v) {
		var others []heldCopy
		for _, o := range w.copies {
			if wait, held := view.HoldOf(o.Workload); held && view.IsHeldOtherwise(&wait) {
				others = append(others, heldCopy{Copy: o, wait: wait})
			}
		}
		for _, group := range view.GroupBy(others, func(h heldCopy) string { return string(h.wait.Reason) + " " + h.wait.Message }) {
			v.Report(heldOtherwiseOn(v, w, group.Values))
		}
	}
}

// heldCopy is a copy of a Workload on a worker, and why it waits.
type heldCopy struct {
	view.Copy
	wait kueue.Wait
	// queue is the ClusterQueue of the copy; nil if unknown.
	queue *kueue.ClusterQueue
}

// heldOtherwiseOn returns a sighting of the workers that hold copies for one
// reason.
func heldOtherwiseOn(v *view.View, w *waiter, copies []heldCopy) view.Sighting {
	first := copies[0]
	c, worker := first.wait.Condition, first.Worker.Context
	var contexts, evidence []string
	for i := range copies {
		h := &copies[i]
		contexts = append(contexts, h.Worker.Context)
		evidence = append(evidence, quote.WorkloadCondition(h.Worker, h.Workload, h.wait.Condition))
	}
	s := view.Sighting{
		Object: view.Of(w.Job()), Since: v.On(w.Manager.Context, worker, c.LastTransitionTime.Time), Severity: severityOf(&first.wait),
		Message: fmt.Sprintf("on %s: %s", strings.Join(contexts, ", "), first.wait.Text()), Evidence: evidence,
		Remedy: advice.EndWait(v, w.Job(), first.Worker, first.Workload, &first.wait), Jobs: []*inspect.Job{w.Job()},
		Cause: strings.Join([]string{w.Manager.Context, worker, c.Reason, c.Message, w.Job().Kind}, " "),
	}
	if !first.wait.IsTransient() && w.isStuck(v) {
		s.Severity, s.Message = inspect.Error, s.Message+"; no other worker can admit it"
	}
	return s
}

// severityOf returns Info for a wait that can pass by itself.
func severityOf(w *kueue.Wait) inspect.Severity {
	if w.IsTransient() {
		return inspect.Info
	}
	return inspect.Warning
}
