package rules

import (
	"fmt"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// dispatching are the ways in which what dispatch runs goes wrong (JM201 and on).
func dispatching() []Rule {
	return []Rule{nobodyCopies(), outcomeNotLanded(), takenBack(), mirrorKept(), markNamesNothing()}
}

// docsLeases is what Kubernetes says of Leases.
const docsLeases = "https://kubernetes.io/docs/concepts/architecture/leases/"

func nobodyCopies() Rule {
	return Rule{
		Code: "JM201", Undated: true, Title: "dispatched, but no dispatcher runs", Severity: inspect.Warning,
		Holds: "a dispatcher looks after every dispatched Job",
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartLeases},
		Why: `dispatch copies a Job's status from its mirror, and what is changed on the origin to the mirror, for as long
as the command runs, and holds a Lease beside the origin while it does. It was stopped, or its terminal or machine was,
or it cannot reach the origin's cluster any more. The mirror runs on; only nobody tells the origin.`,
		Shows: `The origin is not finished and has a mirror, or its annotation jobmanagedby.github.io/mirror names one that
may be there, and nobody holds the Lease jobs-managedby-NAME in its namespace: there is none, its holderIdentity is
empty, or it was renewed longer ago than its leaseDurationSeconds.`,
		Remedy: `Run dispatch again, on any machine: it finds the mirror and goes on with it. Or end the Job with cancel,
which removes the mirror.`,
		Link: docsLeases, Covers: []string{"JM104"},
		Detect: func(v *View) { v.eachUnfinished(reportUnattended) },
	}
}

func outcomeNotLanded() Rule {
	return Rule{
		Code: "JM202", Undated: true, Title: "the final status was never copied to the origin", Severity: inspect.Error,
		Holds: "the final status of every dispatched Job has reached its origin",
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartLeases},
		Why: `The mirror has come to its end after dispatch was stopped, or lost the origin's cluster, so that nobody has
copied that to the origin; only then does the Job count as finished. If the mirror is deleted before that, how the Job
ended is lost.`,
		Shows: `The mirror has the condition Complete or Failed, the origin has neither, and nobody holds the Lease
jobs-managedby-NAME in the origin's namespace.`,
		Remedy: `Run dispatch again, on any machine: it finds the mirror, copies how it ended, and is done. Or end the Job
with cancel. Do not delete the mirror before that.`,
		Link: docsLeases, Covers: []string{"JM104", "JM110", "JM201"},
		Detect: func(v *View) { v.eachUnfinished(reportNotLanded) },
	}
}

func reportUnattended(v *View, x unattended) {
	name, _ := x.where(v)
	v.Report(Sighting{
		Object: Of(x.Origin), Since: x.since(v), Jobs: []*inspect.Job{x.Origin},
		Message:  fmt.Sprintf("no dispatcher holds its Lease: the status of its mirror on %s is not copied", name),
		Evidence: x.evidence(),
		Remedy:   command.Say("go on with the same mirror: %s; or end it: %s", x.again(v), cancel(x.Origin)),
	})
}

func reportNotLanded(v *View, x unattended) {
	m := x.mirror
	if m == nil || m.DeletedAt != nil || !m.Status.IsFinished() || v.Age(m.Context, timeOf(m.FinishedTime)) < inspect.Settling {
		return
	}
	isLive := func(other inspect.Mirror) bool { return other.Current && isLiveJob(other.Job) }
	if slices.ContainsFunc(x.Mirrors, isLive) {
		return
	}
	evidence := x.evidence()
	if m.TTL != nil {
		evidence = append(evidence, ttlOf(m))
	}
	v.Report(Sighting{
		Object: Of(x.Origin), Since: newest(x.since(v), v.On(x.Origin.Context, m.Context, timeOf(m.FinishedTime))), Jobs: []*inspect.Job{x.Origin},
		Message:  fmt.Sprintf("its mirror on %s is %s, but it still says %s. No dispatcher holds its Lease", m.Context, m.Status, x.Origin.Status),
		Evidence: evidence,
		Remedy:   command.Say("copy how it ended: %s; or end it: %s; the mirror may go after that, not before", x.again(v), cancel(x.Origin)),
	})
}
