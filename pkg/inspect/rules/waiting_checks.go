package rules

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func otherCheckPending() Rule {
	return Rule{
		Code: "JM020", Title: "another AdmissionCheck has not answered", Severity: inspect.Warning,
		Holds: "all other admission checks have answered",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks,
		},
		Why: `Besides MultiKueue's, the ClusterQueue on the management cluster has an AdmissionCheck that is not Ready
for this Workload. MultiKueue offers a Workload to no worker before all other checks are Ready. It may be that the
check's controller is slow, waits for somebody's approval, or does not run at all.`,
		Shows: `The Workload has QuotaReserved=True, one of its status.admissionChecks that is not MultiKueue's is
Pending, and status.nominatedClusterNames is empty.`,
		Remedy: `See to the controller of that check, or take the check out of the ClusterQueue.`,
		Link:   "https://github.com/kubernetes-sigs/kueue/issues/9622",
		Detect: detectOtherCheckPending,
	}
}

func detectOtherCheckPending(v *View) {
	for _, s := range v.Submissions() {
		if !s.WaitsForWorkers() || !isQueued(s) || len(s.Nominated()) > 0 {
			continue
		}
		for _, state := range otherChecksOf(s) {
			reportPendingCheck(v, s, state)
		}
	}
}

// otherChecksOf are the checks of a submission's Workload that keep MultiKueue
// waiting.
func otherChecksOf(s Submission) []kueue.CheckState {
	var others []kueue.CheckState
	for _, state := range s.Workload.Status.AdmissionChecks {
		if state.Name != s.Check.Name && state.State == kueue.CheckPending {
			others = append(others, state)
		}
	}
	return others
}

func reportPendingCheck(v *View, s Submission, state kueue.CheckState) {
	f := s.Manager
	o := OfKueue(f, "AdmissionCheck", "", state.Name)
	evidence := []string{checkText(workloadObject(f, s.Workload), state)}
	remedy := command.Say("see to the controller that serves it: %s", kubectlOn(o, "describe"))
	if check, known := v.Check(f, state.Name); check != nil {
		remedy = command.Say("see to %s, the controller of that check, and to what it says: %s",
			check.Spec.ControllerName, kubectlOn(workloadObject(f, s.Workload), "describe"))
		if active := meta.FindStatusCondition(check.Status.Conditions, kueue.Active); active != nil {
			evidence = append(evidence, conditionText(o, active))
		}
	} else if known {
		evidence = append(evidence, fmt.Sprintf("%s: there is no AdmissionCheck %s", f.Context, state.Name))
	}
	v.Report(Sighting{
		Object: o, Since: newest(state.LastTransitionTime.Time, offeredSince(s)), Evidence: evidence, Remedy: remedy,
		Message: fmt.Sprintf("MultiKueue waits for AdmissionCheck %s of %s, which has not answered", state.Name, f.Context),
		Jobs:    []*inspect.Job{s.Job()}, Cause: f.Context + " " + state.Name,
	})
}
