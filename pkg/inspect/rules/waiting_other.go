package rules

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func heldOtherwise() Rule {
	return Rule{
		Code: "JM116", Title: "a worker holds it for something else than room", Severity: inspect.Warning,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `Kueue on a worker does not admit the copy of a Workload, and quota is not why. It waits until others that are
preempted have ended, or until the pods of what it admitted before are ready; or somebody has gated the admission, or
the Job's own controller takes it for invalid; or Kueue cannot tell what it asks for. The first two pass by themselves.
Nothing on the management cluster says so, where its quota is held.`,
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
			held, c := holdOf(o.Workload)
			if held == heldForOthers || held == heldByItself || held == heldByMistake {
				others = append(others, heldCopy{o, held, c})
			}
		}
		for _, those := range grouped(others, func(h heldCopy) string { return h.condition.Reason + " " + h.condition.Message }) {
			sightings = append(sightings, heldOtherwiseOn(v, w, those.values))
		}
	}
	reportWorstFirst(v, sightings)
}

// heldCopy is a copy that a worker holds, and the condition that says so.
type heldCopy struct {
	Copy
	held      hold
	condition *metav1.Condition
}

// heldOtherwiseOn tells of the workers that hold copies for one reason.
func heldOtherwiseOn(v *View, w *waiter, those []heldCopy) Sighting {
	first := those[0]
	c, worker := first.condition, first.Worker.Context
	var contexts, evidence []string
	for _, h := range those {
		contexts = append(contexts, h.Worker.Context)
		evidence = append(evidence, conditionOf(h.Worker, h.Workload, h.condition))
	}
	why := waitFor(first.Workload, c, worker)
	s := Sighting{
		Object: Of(w.Job()), Since: v.On(w.Manager.Context, worker, c.LastTransitionTime.Time), Severity: why.severity,
		Message: fmt.Sprintf("on %s: %s", strings.Join(contexts, ", "), why.what), Evidence: evidence, Remedy: why.remedy, Jobs: []*inspect.Job{w.Job()},
		Cause: strings.Join([]string{w.Manager.Context, worker, c.Reason, c.Message, w.Job().Kind}, " "),
	}
	if first.held != heldForOthers && w.isStuck() {
		s.Severity, s.Message = inspect.Error, s.Message+"; no other worker can take it"
	}
	return s
}

// wait is for what a Workload waits that is no matter of queues and quota.
type wait struct {
	severity inspect.Severity
	// what is a sentence about the object that it was made for.
	what   string
	remedy command.Prose
}

// waitFor reads why Kueue of a context holds a Workload, by the reason of its condition
// (kueue: apis/kueue/v1beta2/workload_types.go).
func waitFor(w *kueue.Workload, c *metav1.Condition, context string) wait {
	describe := describeWorkload(context, w)
	switch c.Reason {
	case kueue.PreemptedFirst:
		return wait{inspect.Info, "room is being made for it: others that were preempted have not ended so far", command.Say("wait; see for whom: %s", describe)}
	case kueue.PodsReadyFirst:
		return wait{
			inspect.Info, "Kueue admits nothing before the pods of all that it admitted are ready (waitForPodsReady.blockAdmission)",
			command.Say("wait; see whose are not: %s", command.Kubectl(context, "", "get", kueue.Resource("Workload"), "-A", "-o", "wide")),
		}
	case kueue.AdmissionGated:
		return wait{
			inspect.Info, "somebody has gated its admission: " + c.Message,
			command.Say("have whom the annotation kueue.x-k8s.io/admission-gated-by names let it go: %s", describe),
		}
	case kueue.OnHold:
		return wait{inspect.Warning, "its own controller keeps it from running: " + c.Message, command.Say("see what is wrong with it: %s", describe)}
	}
	return wait{inspect.Warning, "Kueue cannot queue it: " + c.Message, command.Say("correct what the message names: %s", describe)}
}
