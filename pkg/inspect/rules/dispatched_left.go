package rules

import (
	"fmt"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

func takenBack() Rule {
	return Rule{
		Code: "JM203", Undated: true, Title: "its dispatch was undone, and nothing runs it", Severity: inspect.Warning,
		Holds: "every cancelled dispatch has a new owner",
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartLeases},
		Why: `dispatch was interrupted, or came to its --timeout, with --on-interrupt=delete: it removed the mirror, and
left the origin open for another dispatch. Until then the Job is neither finished nor run, and what waits for its end,
such as kubectl wait, waits for ever.`,
		Shows: `A Job is managed by jobmanagedby.github.io/dispatch, is neither finished nor suspended, and its status was
written; it has no annotation jobmanagedby.github.io/mirror, no Job on any context has its uid as
jobmanagedby.github.io/origin-uid, and nobody holds the Lease jobs-managedby-NAME in its namespace. It is judged only
where all contexts could be looked at.`,
		Remedy: `Run dispatch again: the Job runs from the start, on whatever cluster. Or end it with cancel.`,
		Link:   docsLeases,
		Detect: func(v *View) {
			if len(v.Unseen()) == 0 {
				v.eachUnattended(reportTakenBack)
			}
		},
	}
}

func reportTakenBack(v *View, x unattended) {
	o := x.Origin
	// What nobody ever told anything is unclaimed, and was not dispatched so far.
	isOpen := o.Status == delegation.Pending || o.Status == delegation.Running
	if o.ManagedBy != delegation.Dispatch || !isOpen || x.mirror != nil || o.Marks != nil && (!o.Marks.Mirror.IsZero() || o.Marks.BadMirror != "") {
		return
	}
	v.Report(Sighting{
		Object: Of(o), Since: x.since(v), Jobs: []*inspect.Job{o},
		Message: "it lost its mirror, and no dispatcher holds its Lease",
		Evidence: []string{
			x.leaseLine(), stateOf(o),
			fmt.Sprintf("%s: %s has no annotation %s", o.Context, named(Of(o)), delegation.MirrorAnnotation),
			fmt.Sprintf("no %s that was found on another cluster has the label %s=%s", o.Kind, delegation.OriginUIDLabel, o.UID),
		},
		Remedy: command.Say("run it from the start: %s; or end it: %s", dispatchTo(o, "CONTEXT", o.Namespace), cancel(o)),
	})
}

func mirrorKept() Rule {
	return Rule{
		Code: "JM204", Undated: true, Title: "the mirror has finished, and nothing deletes it", Severity: inspect.Info,
		Holds: "every finished mirror of a dispatch is deleted",
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartLeases},
		Why: `Once the end of a Job has landed on the origin, dispatch gives the mirror a ttlSecondsAfterFinished, or
deletes it. It died before that, or was not let; the mirror and its pods then stay for ever. Who has dispatched with
--mirror-ttl=-1s wants it that way: check --suppress JM204=NAMESPACE/NAME leaves such Jobs out.`,
		Shows: `The origin and its mirror have the condition Complete or Failed, the mirror has no
spec.ttlSecondsAfterFinished, and nobody holds the Lease jobs-managedby-NAME in the origin's namespace.`,
		Remedy: `Run the same dispatch again: it has the mirror deleted after a while, and is done. Or delete the mirror;
how it ended is told by the origin.`,
		Link:   "https://kubernetes.io/docs/concepts/workloads/controllers/ttlafterfinished/",
		Detect: func(v *View) { v.eachUnattended(reportKept) },
	}
}

func reportKept(v *View, x unattended) {
	o, m := x.Origin, x.mirror
	if !o.Status.IsFinished() || m == nil || m.DeletedAt != nil || !m.Status.IsFinished() || m.TTL != nil {
		return
	}
	remedy := command.Say("delete it: %s", deleteJob(m))
	if o.Pinned().UID == m.UID && m.Row().IsJob() {
		// Not every other kind has a field for that. Of what has ended, dispatch finds no other mirror than that.
		remedy = command.Say("have it deleted after a while: %s; or now: %s", x.again(v), deleteJob(m))
	}
	field := strings.Join(m.Row().TTL(), ".")
	why := fmt.Sprintf("%s: %s of %s is not set", m.Context, field, named(Of(m)))
	if m.Row().OtherTTL {
		why = fmt.Sprintf("%s: %s of %s deletes what it has made, and not itself", m.Context, field, named(Of(m)))
	}
	ended := newest(timeOf(o.FinishedTime), v.On(o.Context, m.Context, timeOf(m.FinishedTime)))
	v.Report(Sighting{
		Object: Of(o), Since: newest(x.since(v), ended), Jobs: []*inspect.Job{o},
		Message:  fmt.Sprintf("its mirror on %s is %s; no dispatcher will delete it", m.Context, m.Status),
		Evidence: append(x.evidence(), why),
		Remedy:   remedy,
	})
}
