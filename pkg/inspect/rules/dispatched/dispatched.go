// Package dispatched has the rules about Jobs of the command dispatch.
package dispatched

import (
	"fmt"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

// Rules returns JM201 to JM206.
func Rules() []view.Rule {
	return []view.Rule{statusNotCopied(), finalStatusNotCopied(), lostMirror(), mirrorKept(), invalidMark(), mirrorRunsOn()}
}

func statusNotCopied() view.Rule {
	return view.Rule{
		Code: "JM201", Undated: true, Severity: inspect.Warning,
		Reads:  []inspect.Part{inspect.PartJobs, inspect.PartLeases},
		Covers: []string{"JM104"},
		Detect: func(v *view.View) { eachUnfinished(v, reportUnattended) },
	}
}

func finalStatusNotCopied() view.Rule {
	return view.Rule{
		Code: "JM202", Undated: true, Severity: inspect.Error,
		Reads:  []inspect.Part{inspect.PartJobs, inspect.PartLeases},
		Covers: []string{"JM104", "JM110", "JM201"},
		Detect: func(v *view.View) { eachUnfinished(v, reportFinalStatusNotCopied) },
	}
}

func reportUnattended(v *view.View, x unattendedOrigin) {
	name, _ := x.place(v)
	v.Report(view.Sighting{
		Object: view.Of(x.Origin), Since: x.since(v), Jobs: []*inspect.Job{x.Origin},
		Message:  fmt.Sprintf("no dispatcher holds its Lease: the status of its mirror on %s is not copied", name),
		Evidence: x.evidence(),
		Remedy:   command.Say("resume with the same mirror: %s; or end the %s: %s", x.resumeCommand(v), x.Origin.Kind, advice.Cancel(x.Origin)),
	})
}

func reportFinalStatusNotCopied(v *view.View, x unattendedOrigin) {
	m := x.mirror
	if m == nil || m.DeletedAt != nil || !m.Status.IsFinished() || v.Age(m.Context, view.TimeOf(m.FinishedTime)) < inspect.Settling {
		return
	}
	isLive := func(other inspect.Mirror) bool { return other.Current && view.IsLiveJob(other.Job) }
	if slices.ContainsFunc(x.Mirrors, isLive) {
		return
	}
	evidence := x.evidence()
	if m.TTL != nil {
		evidence = append(evidence, quote.TTL(m))
	}
	v.Report(view.Sighting{
		Object: view.Of(x.Origin), Since: view.Latest(x.since(v), v.On(x.Origin.Context, m.Context, view.TimeOf(m.FinishedTime))), Jobs: []*inspect.Job{x.Origin},
		Message:  fmt.Sprintf("its mirror on %s is %s, but the origin still says %s. No dispatcher holds its Lease", m.Context, m.Status, x.Origin.Status),
		Evidence: evidence,
		Remedy:   command.Say("copy the final status: %s; or end the %s: %s; keep the mirror until then", x.resumeCommand(v), x.Origin.Kind, advice.Cancel(x.Origin)),
	})
}
