package waiting

import (
	"fmt"
	"slices"
	"strings"

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
			// If a check rejects the Workload, Kueue deactivates it.
			if state.IsOpen() {
				reportOpenCheck(v, s, state)
			}
		}
	}
}

// otherChecksOf returns the checks of a submission's Workload that MultiKueue waits for: all others must be
// ready before a dispatcher nominates clusters.
func otherChecksOf(s view.Submission) []kueue.CheckState {
	var others []kueue.CheckState
	for _, state := range s.Workload.Status.AdmissionChecks {
		if state.Name != s.Check.Name && state.State != kueue.CheckReady {
			others = append(others, state)
		}
	}
	return others
}

func reportOpenCheck(v *view.View, s view.Submission, state kueue.CheckState) {
	f := s.Manager
	o := view.OfKueue(f, "AdmissionCheck", "", state.Name)
	waits := fmt.Sprintf("MultiKueue waits for AdmissionCheck %s of %s", state.Name, f.Context)
	answer := s.Workload.Answer(state)
	evidence := []string{quote.CheckState(view.OfWorkload(f, s.Workload), state)}
	remedy := command.Say("check its controller: %s", advice.KubectlObject(o, "describe"))
	check, known := v.Check(f, state.Name)
	if check != nil {
		controller := check.Spec.ControllerName
		read := command.Say("read the %s: %s", whatToRead(answer), advice.KubectlObject(view.OfWorkload(f, s.Workload), "describe"))
		contexts := map[string][]string{controller: {f.Context}}
		remedy = command.Join(append(checkControllers([]string{controller}, contexts, s.Job().Namespace, state), read), ", and ")
		if active := meta.FindStatusCondition(check.Status.Conditions, kueue.Active); active != nil {
			evidence = append(evidence, quote.Condition(o, active))
		}
	} else if known {
		evidence = append(evidence, fmt.Sprintf("%s: there is no AdmissionCheck %s", f.Context, state.Name))
	}
	v.Report(view.Sighting{
		Object: o, Since: view.Latest(state.LastTransitionTime.Time, offeredSince(s)), Evidence: evidence, Remedy: remedy,
		Message: waits + ", which " + answer.For(s.Job().Namespace+"/"+s.Job().Name), Clause: waits + ", which " + answer.String(),
		Jobs: []*inspect.Job{s.Job()}, Cause: f.Context + " " + state.Name, MayPass: check != nil || !known,
		Group: joinAnswers,
	})
}

// joinAnswers has a finding about several Jobs that wait for one check give the answer of the check to each, once if
// all are equal.
func joinAnswers(first *view.Sighting, all []view.Sighting) {
	const most = 2
	var different []view.Sighting
	for _, s := range all {
		if !slices.ContainsFunc(different, func(o view.Sighting) bool { return o.Clause == s.Clause }) {
			different = append(different, s)
		}
	}
	if len(different) == 1 {
		first.Message = first.Clause
		return
	}
	waits, _, _ := strings.Cut(first.Message, ", which ")
	verb := beforeJob(first)
	for i := range different[1:min(most, len(different))] {
		s := &different[i+1]
		if text, isSame := strings.CutPrefix(s.Message, verb); isSame {
			first.Message += ";" + text
			continue
		}
		first.Message += "; it " + strings.TrimPrefix(s.Message, waits+", which ")
	}
	if more := len(different) - most; more > 0 {
		first.Message += "; " + inspect.Count(more, "more answer")
	}
}

// beforeJob returns the message of a finding about one Job up to the words "for" and the Job.
func beforeJob(s *view.Sighting) string {
	before, _, _ := strings.Cut(s.Message, " for "+s.Jobs[0].Namespace+"/"+s.Jobs[0].Name)
	return before
}

// whatToRead returns what of a Workload says more than an answer that the message of a finding quotes.
func whatToRead(a kueue.Answer) string {
	if a.IsNone() || a.IsRejection() {
		return "message of the check"
	}
	return "events of the Workload"
}
