package waiting

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func otherCheckPending() view.Rule {
	return view.Rule{
		Code: "JM020", Severity: inspect.Warning,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks,
		},
		Detect: detectOtherCheckPending,
	}
}

func detectOtherCheckPending(v *view.View) {
	for _, s := range v.Submissions() {
		if !s.WaitsForWorkers() || !isQueued(s) || len(s.Nominated()) > 0 {
			continue
		}
		for _, state := range otherChecksOf(s) {
			reportPendingCheck(v, s, state)
		}
	}
}

// otherChecksOf returns the pending checks of a submission's Workload that
// MultiKueue waits for.
func otherChecksOf(s view.Submission) []kueue.CheckState {
	var others []kueue.CheckState
	for _, state := range s.Workload.Status.AdmissionChecks {
		if state.Name != s.Check.Name && state.State == kueue.CheckPending {
			others = append(others, state)
		}
	}
	return others
}

func reportPendingCheck(v *view.View, s view.Submission, state kueue.CheckState) {
	f := s.Manager
	o := view.OfKueue(f, "AdmissionCheck", "", state.Name)
	evidence := []string{quote.CheckState(view.OfWorkload(f, s.Workload), state)}
	remedy := command.Say("check its controller: %s", advice.KubectlObject(o, "describe"))
	check, known := v.Check(f, state.Name)
	if check != nil {
		remedy = command.Say("check that controller %s runs, and read the message of the check: %s",
			check.Spec.ControllerName, advice.KubectlObject(view.OfWorkload(f, s.Workload), "describe"))
		if active := meta.FindStatusCondition(check.Status.Conditions, kueue.Active); active != nil {
			evidence = append(evidence, quote.Condition(o, active))
		}
	} else if known {
		evidence = append(evidence, fmt.Sprintf("%s: there is no AdmissionCheck %s", f.Context, state.Name))
	}
	v.Report(view.Sighting{
		Object: o, Since: view.Latest(state.LastTransitionTime.Time, offeredSince(s)), Evidence: evidence, Remedy: remedy,
		Message: fmt.Sprintf("MultiKueue waits for AdmissionCheck %s of %s, which has not answered", state.Name, f.Context),
		Jobs:    []*inspect.Job{s.Job()}, Cause: f.Context + " " + state.Name, MayPass: check != nil || !known,
	})
}
