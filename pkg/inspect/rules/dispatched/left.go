package dispatched

import (
	"fmt"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

func lostMirror() view.Rule {
	return view.Rule{
		Code: "JM203", Undated: true, Severity: inspect.Warning,
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartLeases},
		Detect: func(v *view.View) {
			if len(v.UnreadContexts()) == 0 {
				eachUnattended(v, reportLostMirror)
			}
		},
	}
}

func reportLostMirror(v *view.View, x unattendedOrigin) {
	o := x.Origin
	// Pending and Running exclude Jobs whose status was never written: they
	// were never dispatched.
	isOpen := o.Status == delegation.Pending || o.Status == delegation.Running
	if o.ManagedBy != delegation.Dispatch || !isOpen || x.mirror != nil || o.Marks != nil && (!o.Marks.Mirror.IsZero() || o.Marks.BadMirror != "") {
		return
	}
	v.Report(view.Sighting{
		Object: view.Of(o), Since: x.since(v), Jobs: []*inspect.Job{o},
		Message: "it lost its mirror, and no dispatcher holds its Lease",
		Evidence: []string{
			x.leaseLine(), quote.State(o),
			fmt.Sprintf("%s: %s has no annotation %s", o.Context, view.Of(o).String(), delegation.MirrorAnnotation),
			fmt.Sprintf("no %s on another cluster has the label %s=%s", o.Kind, delegation.OriginUIDLabel, o.UID),
		},
		Remedy: command.Say("start the %[1]s from scratch: %[2]s; or end the %[1]s: %[3]s", o.Kind, advice.DispatchTo(o, "CONTEXT", o.Namespace), advice.Cancel(o)),
	})
}

func mirrorKept() view.Rule {
	return view.Rule{
		Code: "JM204", Undated: true, Severity: inspect.Info,
		Reads:  []inspect.Part{inspect.PartJobs, inspect.PartLeases},
		Detect: func(v *view.View) { eachUnattended(v, reportKept) },
	}
}

func reportKept(v *view.View, x unattendedOrigin) {
	o, m := x.Origin, x.mirror
	if !o.Status.IsFinished() || m == nil || m.DeletedAt != nil || !m.Status.IsFinished() || m.TTL != nil {
		return
	}
	remedy := command.Say("delete the mirror: %s", advice.DeleteJob(m))
	if o.Pinned().UID == m.UID && m.Row().IsJob() && !o.LeavesMirror() {
		// Not every other kind has a TTL field. dispatch finds only the mirror
		// that a finished origin names, and leaves it if cancel did.
		remedy = command.Say("dispatch it again, which sets the TTL of the mirror: %s; or delete the mirror now: %s", x.resumeCommand(v), advice.DeleteJob(m))
	}
	field := strings.Join(m.Row().TTL(), ".")
	why := fmt.Sprintf("%s: %s of %s is not set", m.Context, field, view.Of(m).String())
	if m.Row().OtherTTL {
		why = fmt.Sprintf("%s: %s of %s deletes its child objects, not the object itself", m.Context, field, view.Of(m).String())
	}
	ended := view.Latest(view.TimeOf(o.FinishedTime), v.On(o.Context, m.Context, view.TimeOf(m.FinishedTime)))
	v.Report(view.Sighting{
		Object: view.Of(o), Since: view.Latest(x.since(v), ended), Jobs: []*inspect.Job{o},
		Message:  fmt.Sprintf("its mirror on %s is %s; no dispatcher will delete it", m.Context, m.Status),
		Evidence: append(x.evidence(), why),
		Remedy:   remedy,
	})
}

func mirrorRunsOn() view.Rule {
	return view.Rule{
		Code: "JM206", Undated: true, Severity: inspect.Warning,
		Reads:  []inspect.Part{inspect.PartJobs, inspect.PartLeases},
		Detect: func(v *view.View) { eachUnattended(v, reportRunsOn) },
	}
}

// reportRunsOn reports a mirror that outlives the end of its origin: cancel
// could not delete it, or left it because of --abandon-mirror.
func reportRunsOn(v *view.View, x unattendedOrigin) {
	o, m := x.Origin, x.mirror
	if !o.Status.IsFinished() || m == nil || !view.IsLiveJob(m) {
		return
	}
	ended := view.Latest(view.TimeOf(o.FinishedTime), v.On(o.Context, m.Context, m.CreationTimestamp.Time))
	v.Report(view.Sighting{
		Object: view.Of(o), Since: view.Latest(x.since(v), ended), Jobs: []*inspect.Job{o, m},
		Message:  fmt.Sprintf("it is %s, but its mirror on %s is %s, and no dispatcher ends it", o.Status, m.Context, m.Status),
		Evidence: x.evidence(),
		Remedy:   command.Say("delete the mirror if its result is not needed: %s", advice.DeleteJob(m)),
	})
}
