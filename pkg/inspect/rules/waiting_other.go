package rules

import (
	"fmt"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func heldOtherwise() Rule {
	return Rule{
		Code: "JM116", Title: "a worker holds it for a reason other than quota", Severity: inspect.Warning,
		Holds: "no worker holds a Job for anything but quota",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `Kueue on a worker does not admit the copy of a Workload, and neither queue nor quota is the reason. Kueue
preempts others first, or waits for Pods of admitted Workloads, which both pass. Or the admission is gated, the Job's own
controller holds it, its resource requests are invalid, or Kueue cannot count its devices. The management cluster holds
quota meanwhile and shows no reason.`,
		Shows: `The Workload's copy on the worker has QuotaReserved=False with reason WaitingForPreemptedWorkloads,
WaitingForPodsReady, AdmissionGated, OnHold, DRAResourcesUnresolved or Misconfigured; what it says of queues is told by
JM026, JM027 and JM028.`,
		Remedy: `Wait for the first two. Otherwise see who has gated it, or correct what the message names; a Job cannot be
corrected in place, and has to be created again.`,
		Link:   "https://kueue.sigs.k8s.io/docs/concepts/workload/",
		Detect: detectHeldOtherwise,
	}
}

func detectHeldOtherwise(v *View) {
	var sightings []Sighting
	for w := range v.untaken() {
		var others []heldCopy
		for _, o := range w.copies {
			if wait, held := holdOf(o.Workload); held && isHeldOtherwise(&wait) {
				others = append(others, heldCopy{o, wait})
			}
		}
		for _, those := range grouped(others, func(h heldCopy) string { return string(h.wait.Reason) + " " + h.wait.Message }) {
			sightings = append(sightings, heldOtherwiseOn(v, w, those.values))
		}
	}
	reportWorstFirst(v, sightings)
}

// heldCopy is a copy of a Workload on a worker, and why it waits.
type heldCopy struct {
	Copy
	wait kueue.Wait
}

// heldOtherwiseOn tells of the workers that hold copies for one reason.
func heldOtherwiseOn(v *View, w *waiter, those []heldCopy) Sighting {
	first := those[0]
	c, worker := first.wait.Condition, first.Worker.Context
	var contexts, evidence []string
	for i := range those {
		h := &those[i]
		contexts = append(contexts, h.Worker.Context)
		evidence = append(evidence, conditionOf(h.Worker, h.Workload, h.wait.Condition))
	}
	s := Sighting{
		Object: Of(w.Job()), Since: v.On(w.Manager.Context, worker, c.LastTransitionTime.Time), Severity: severityOf(&first.wait),
		Message: fmt.Sprintf("on %s: %s", strings.Join(contexts, ", "), first.wait.Text()), Evidence: evidence,
		Remedy: v.fixes(first.Worker, first.Workload, &first.wait), Jobs: []*inspect.Job{w.Job()},
		Cause: strings.Join([]string{w.Manager.Context, worker, c.Reason, c.Message, w.Job().Kind}, " "),
	}
	if !first.wait.CanPass() && w.isStuck() {
		s.Severity, s.Message = inspect.Error, s.Message+"; no other worker can take it"
	}
	return s
}

// severityOf returns Info for a wait that can pass by itself.
func severityOf(w *kueue.Wait) inspect.Severity {
	if w.CanPass() {
		return inspect.Info
	}
	return inspect.Warning
}
