package printers

import (
	"fmt"
	"io"
	"strings"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/escape"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// project is the address that reports name as their origin.
const project = "https://github.com/jobmanagedby/kubectl-jobmanagedby"

// SARIF writes findings as a SARIF 2.1.0 report. Objects of clusters are not in files; the
// location names them like a path.
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
		f := &list.Items[i]
		path := strings.Trim(strings.Join([]string{"clusters", f.Context, f.Namespace, strings.ToLower(f.Kind), f.Name}, "/"), "/")
		text := fmt.Sprintf("%s. %s", f.Message, strings.Join(append(append([]string{}, f.Evidence...), "Remedy: "+f.Remedy), ". "))
		run.CreateResultForRule(f.Code).WithLevel(level(f.Severity)).
			WithMessage(sarif.NewTextMessage(text)).
			AddLocation(sarif.NewLocation().
				WithPhysicalLocation(sarif.NewPhysicalLocation().WithArtifactLocation(sarif.NewSimpleArtifactLocation(path))).
				WithLogicalLocations([]*sarif.LogicalLocation{
					sarif.NewLogicalLocation().WithKind("resource").WithName(f.Name).WithFullyQualifiedName(path),
				}))
	}
	succeeded := len(list.Errors) == 0
	invocation := sarif.NewInvocation().WithExecutionSuccessful(succeeded)
	for _, e := range list.Errors {
		invocation.AddToolExecutionNotification(sarif.NewNotification().WithLevel("error").WithMessage(sarif.NewTextMessage(e.Context + ": " + e.Message)))
	}
	run.AddInvocation(invocation)
	return sarif.NewReport().AddRun(run).PrettyWrite(escape.JSONWriter(w))
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
