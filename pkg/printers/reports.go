package printers

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jstemmer/go-junit-report/v2/junit"
	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/escape"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// project is the address that reports name as their origin.
const project = "https://github.com/jobmanagedby/kubectl-jobmanagedby"

// suitePrefix begins the name of each JUnit test suite; the command follows. It is the same under whatever name the
// plugin is called, because CI systems compare suites by name.
const suitePrefix = "kubectl jobs-managedby "

// SARIF writes findings as a SARIF 2.1.0 report. Objects of clusters are not in files; the
// location names them like a path. Suppressed findings are results with a suppression outside of the source (SARIF
// 2.1.0, 3.35.2: external). The report is successful if everything was checked.
func SARIF(w io.Writer, list *inspect.FindingList, all []rules.Rule, version string) error {
	run := sarif.NewRunWithInformationURI("kubectl-jobs-managedby", project)
	run.Tool.Driver.WithVersion(version)
	for _, r := range all {
		run.AddRule(r.Code).WithName(r.Title).
			WithShortDescription(sarif.NewMultiformatMessageString().WithText(r.Title)).
			WithFullDescription(sarif.NewMultiformatMessageString().WithText(r.Why)).
			WithHelp(sarif.NewMultiformatMessageString().WithText(r.Remedy)).
			WithHelpURI(helpOf(r)).
			WithDefaultConfiguration(sarif.NewReportingConfiguration().WithLevel(level(r.Severity)))
	}
	for i := range list.Items {
		addResult(run, &list.Items[i])
	}
	for i := range list.Suppressed {
		addResult(run, &list.Suppressed[i]).AddSuppression(sarif.NewSuppression().WithKind("external").WithJustification("--suppress"))
	}
	invocation := sarif.NewInvocation().WithExecutionSuccessful(len(list.Unchecked) == 0)
	for _, u := range list.Unchecked {
		text := "not checked: " + UncheckedText(u)
		invocation.AddToolExecutionNotification(sarif.NewNotification().WithLevel("error").WithMessage(sarif.NewTextMessage(text)))
	}
	run.AddInvocation(invocation)
	return sarif.NewReport().AddRun(run).PrettyWrite(escape.JSONWriter(w))
}

// addResult adds a finding to a run.
func addResult(run *sarif.Run, f *inspect.Finding) *sarif.Result {
	path := strings.Trim(strings.Join([]string{"clusters", f.Context, f.Namespace, strings.ToLower(f.Kind), f.Name}, "/"), "/")
	text := fmt.Sprintf("%s. %s", f.Message, strings.Join(append(append([]string{}, f.Evidence...), "Remedy: "+f.Remedy), ". "))
	return run.CreateResultForRule(f.Code).WithLevel(level(f.Severity)).
		WithMessage(sarif.NewTextMessage(text)).
		AddLocation(sarif.NewLocation().
			WithPhysicalLocation(sarif.NewPhysicalLocation().WithArtifactLocation(sarif.NewSimpleArtifactLocation(path))).
			WithLogicalLocations([]*sarif.LogicalLocation{
				sarif.NewLogicalLocation().WithKind("resource").WithName(f.Name).WithFullyQualifiedName(path),
			}))
}

func level(s inspect.Severity) string {
	switch s {
	case inspect.Error:
		return "error"
	case inspect.Warning:
		return "warning"
	default:
		return "note"
	}
}

// JUnit writes the JUnit report of the command verb: a test case for each finding, and one for each
// entry of Unchecked. withPassed adds one for each other rule. The name of a test case is the
// condition that should hold.
//
// A finding is a failure if isFailure accepts its severity. A context that was not read is an error; everything
// else that was not checked is skipped, and so are suppressed findings. XML cannot hold most control characters, so texts are
// escaped as for a terminal.
func JUnit(w io.Writer, verb string, list *inspect.FindingList, all []rules.Rule, withPassed bool, isFailure func(inspect.Severity) bool) error {
	suite := junit.Testsuite{Name: suitePrefix + verb, Time: "0"}
	found := map[string]bool{}
	for i := range list.Items {
		found[list.Items[i].Code] = true
		suite.AddTestcase(foundCase(&list.Items[i], isFailure(list.Items[i].Severity)))
	}
	for i := range list.Suppressed {
		found[list.Suppressed[i].Code] = true
		test := foundCase(&list.Suppressed[i], false)
		test.Skipped, test.SystemOut = &junit.Result{Message: "suppressed (--suppress)", Type: "suppressed", Data: test.SystemOut.Data}, nil
		suite.AddTestcase(test)
	}
	for _, u := range list.Unchecked {
		test := testCase("unchecked", UncheckedText(u))
		result := &junit.Result{Message: Safe(u.Reason), Type: "unchecked", Data: SafeLines(u.Reason)}
		if u.What == inspect.Everything {
			test.Error = result
		} else {
			test.Skipped = result
		}
		suite.AddTestcase(test)
	}
	if withPassed {
		for _, r := range all {
			if !found[r.Code] {
				suite.AddTestcase(otherCase(r, list))
			}
		}
	}
	var suites junit.Testsuites
	suites.AddSuite(suite)
	if _, err := io.WriteString(w, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"); err != nil {
		return err
	}
	return suites.WriteXML(w)
}

func testCase(class, name string) junit.Testcase {
	return junit.Testcase{Classname: Safe(class), Name: Safe(name), Time: "0"}
}

// foundCase is the test case of a finding.
func foundCase(f *inspect.Finding, isFailure bool) junit.Testcase {
	name := f.Title
	if r, isKnown := rules.ByCode(f.Code); isKnown {
		name = r.Holds
	}
	object := strings.Join([]string{f.Context, f.Namespace, f.Kind, f.Name}, " ")
	test := testCase(f.Code, f.Code+" "+name+": "+object)
	text := SafeLines(strings.Join(append(append([]string{f.Message}, f.Evidence...), "fix: "+f.Remedy), "\n"))
	if !isFailure {
		test.SystemOut = &junit.Output{Data: text}
	} else {
		test.Failure = &junit.Result{Message: Safe(f.Message), Type: Safe(string(f.Severity)), Data: text}
	}
	return test
}

// otherCase is the test case of a rule without findings: it passes if everything that the rule
// reads was read.
func otherCase(r rules.Rule, list *inspect.FindingList) junit.Testcase {
	test := testCase(r.Code, r.Code+" "+r.Holds)
	reason := ""
	for _, u := range list.Unchecked {
		// Any rule may depend on a cluster that was not read.
		if reason == "" && (u.Cluster || len(u.Contexts) == 0) {
			reason = "not checked: " + UncheckedText(u)
		}
	}
	for _, e := range list.Errors {
		if reason == "" && slices.Contains(e.NotJudged, r.Code) {
			reason = e.Context + ": " + e.Message
		}
	}
	if reason != "" {
		test.Skipped = &junit.Result{Message: Safe(reason), Type: "unchecked", Data: SafeLines(reason)}
	}
	return test
}

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
	suite := junit.Testsuite{Name: suitePrefix + "doctor --probe", Time: fmt.Sprintf("%.3f", r.TotalSeconds)}
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
	list.Unchecked = slices.Concat(r.Unchecked, inspect.UncheckedOf(r.Errors))
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
