package printers

import (
	"io"
	"slices"
	"strings"

	"github.com/jstemmer/go-junit-report/v2/junit"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// JUnit writes the JUnit report of the command verb: a test case for each finding, and one for each
// entry of Unchecked. withPassed adds one for each other rule. The name of a test case is the
// condition that should hold.
//
// A finding of severity info is no failure. A context that was not read is an error; everything
// else that was not checked is skipped. XML cannot hold most control characters, so texts are
// escaped as for a terminal.
func JUnit(w io.Writer, verb string, list *inspect.FindingList, all []rules.Rule, withPassed bool) error {
	suite := junit.Testsuite{Name: command.Plugin(verb).Shell(), Time: "0"}
	found := map[string]bool{}
	for i := range list.Items {
		found[list.Items[i].Code] = true
		suite.AddTestcase(foundCase(&list.Items[i]))
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
func foundCase(f *inspect.Finding) junit.Testcase {
	name := f.Title
	if r, isKnown := rules.ByCode(f.Code); isKnown {
		name = r.Holds
	}
	object := strings.Join([]string{f.Context, f.Namespace, f.Kind, f.Name}, " ")
	test := testCase(f.Code, f.Code+" "+name+": "+object)
	text := SafeLines(strings.Join(append(append([]string{f.Message}, f.Evidence...), "fix: "+f.Remedy), "\n"))
	if f.Severity == inspect.Info {
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
		if reason == "" && (u.What == inspect.Everything || len(u.Contexts) == 0) {
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
