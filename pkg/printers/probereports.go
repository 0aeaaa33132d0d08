package printers

import (
	"fmt"
	"io"
	"strings"

	"github.com/jstemmer/go-junit-report/v2/junit"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// probeCode is the code of probeRule.
const probeCode = "probe"

// helpOf returns the address of the page about a rule.
func helpOf(r rules.Rule) string {
	if r.Code == probeCode {
		return project + "/blob/main/docs/doctor.md#send-a-job-through"
	}
	return r.Docs()
}

// probeRule returns the rule of a probe for SARIF. It is in no catalogue, because a probe is no
// finding of check.
func probeRule() rules.Rule {
	r := rules.Rule{Code: probeCode, Severity: inspect.Error}
	r.Title = "a probe Job does not get through"
	r.Why = "doctor --probe submitted a tiny Job to a MultiKueue queue. The Job did not run, or its status was not copied back."
	r.Remedy = "Read the message of the result. It has the step at which the Job stopped, the reason and the fix."
	return r
}

// ProbeJUnit writes a test case for each step of a probe and for each worker that was asked.
func ProbeJUnit(w io.Writer, r *inspect.ProbeReport) error {
	suite := junit.Testsuite{Name: command.Plugin("doctor", "--probe").Shell(), Time: fmt.Sprintf("%.3f", r.TotalSeconds)}
	for i := range r.Steps {
		s := &r.Steps[i]
		test := testCase("probe", fmt.Sprintf("queue %s/%s: %s", r.Namespace, r.Queue, ProbeStepText(s.Name)))
		if s.Seconds != nil {
			test.Time = fmt.Sprintf("%.3f", *s.Seconds)
		}
		text := probeText(r)
		switch s.State {
		case inspect.StepFailed:
			test.Failure = &junit.Result{Message: Safe(text), Type: "error", Data: SafeLines(text + "\n" + probeRemedy(r))}
		case inspect.StepUnknown:
			test.Error = &junit.Result{Message: Safe(text), Type: "unchecked", Data: SafeLines(text)}
		case inspect.StepNotReached:
			test.Skipped = &junit.Result{Message: "not reached", Type: "unchecked", Data: "not reached"}
		case inspect.StepDone:
		}
		suite.AddTestcase(test)
	}
	for i := range r.Workers {
		worker := &r.Workers[i]
		test := testCase("probe", fmt.Sprintf("worker %s accepts a mirror of queue %s/%s", worker.Cluster, r.Namespace, r.Queue))
		result := &junit.Result{Message: Safe(worker.Message), Type: string(worker.Verdict), Data: SafeLines(worker.Message + "\nfix: " + worker.Remedy)}
		switch worker.Verdict {
		case inspect.Never:
			test.Failure = result
		case inspect.Unknown:
			test.Skipped = result
		case inspect.Waits:
			test.SystemOut = &junit.Output{Data: SafeLines(worker.Message)}
		case inspect.Fits:
		}
		suite.AddTestcase(test)
	}
	var suites junit.Testsuites
	suites.AddSuite(suite)
	if _, err := io.WriteString(w, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"); err != nil {
		return err
	}
	return suites.WriteXML(w)
}

func probeText(r *inspect.ProbeReport) string {
	return strings.TrimSuffix(ProbeHeadline(r)+". "+r.Message, ". ")
}

// probeRemedy returns the fix of a probe, with the commands that remove what it left behind.
func probeRemedy(r *inspect.ProbeReport) string {
	var parts []string
	if r.Trace != nil && r.Trace.Remedy != "" {
		parts = append(parts, r.Trace.Remedy)
	}
	for i := range r.Left {
		parts = append(parts, string(leftoverProse(&r.Left[i])))
	}
	return strings.TrimSuffix("fix: "+strings.Join(parts, "; "), "fix: ")
}

// ProbeSARIF writes a result if a probe did not pass, and one for each worker that cannot run its
// Job.
func ProbeSARIF(w io.Writer, r *inspect.ProbeReport, version string) error {
	list := inspect.NewFindingList()
	list.Unchecked, list.Errors = r.Unchecked, r.Errors
	add := func(context, message, remedy string) {
		list.Items = append(list.Items, inspect.Finding{
			Code: probeCode, Severity: inspect.Error, Message: message, Context: context, Kind: "LocalQueue", Namespace: r.Namespace, Name: r.Queue, Remedy: remedy,
		})
	}
	if r.Result == inspect.ProbeFailed || r.Result == inspect.ProbeUnknown {
		add(r.Context, probeText(r), probeRemedy(r))
	}
	for i := range r.Workers {
		if worker := &r.Workers[i]; worker.Verdict == inspect.Never {
			add(worker.Context, fmt.Sprintf("worker %s cannot run Jobs of queue %s/%s: %s", worker.Cluster, r.Namespace, r.Queue, worker.Message), worker.Remedy)
		}
	}
	return SARIF(w, list, []rules.Rule{probeRule()}, version)
}
