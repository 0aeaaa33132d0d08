package orphans

import (
	"cmp"
	"fmt"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

func olderIncarnation() view.Rule {
	return view.Rule{
		Code: "JM063", Severity: inspect.Error,
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartWorkloads},
		Detect: func(v *view.View) {
			for _, p := range v.Pairs() {
				for _, m := range p.Mirrors {
					if m.Current || m.Relation != inspect.ByMultiKueue || m.Job.DeletedAt != nil || p.Origin.DeletedAt != nil {
						continue
					}
					_, certain := v.OriginNames(factsOf(v, p.Origin)).MayLabel(m.Job.Marks.MultiKueueOrigin)
					reportOlder(v, p.Origin, m.Job, certain)
				}
			}
		},
	}
}

// reportOlder reports a mirror that runs under a Workload of another
// incarnation of its origin, or whose annotation has the UID of another one.
//
// certain is whether its management cluster is known to have created it.
func reportOlder(v *view.View, origin, mirror *inspect.Job, certain bool) {
	f, _ := v.Facts(origin.Context)
	w, known := v.Workload(f, mirror.Namespace, mirror.Prebuilt())
	other := fmt.Sprintf("annotation %s of %s is %s, which is not a name for UID %s", delegation.PrebuiltWorkload, view.Of(mirror).String(), mirror.Prebuilt(), origin.UID)
	switch uid := mirror.Marks.MultiKueueOriginUID; {
	case uid != "":
		other = fmt.Sprintf("annotation %s of %s is %s", delegation.MultiKueueOriginUIDAnnotation, view.Of(mirror).String(), uid)
	case mirror.Prebuilt() == "" || !known || w != nil && view.IsMadeFor(w, origin):
		// A Workload that was made for the origin is its own, whatever its name.
		return
	}
	s := view.Sighting{
		Object: view.Of(mirror), Jobs: []*inspect.Job{origin, mirror},
		Since:   view.Latest(v.On(mirror.Context, origin.Context, origin.CreationTimestamp.Time), view.TimeOf(mirror.FinishedTime)),
		Message: fmt.Sprintf("the mirror on %s belongs to an older %s of the same name on %s", mirror.Context, mirror.Kind, origin.Context),
		Evidence: []string{
			mirror.Context + ": " + other,
			fmt.Sprintf("%s: metadata.uid of %s is %s, created %s", origin.Context, view.Of(origin).String(), origin.UID, quote.Time(origin.CreationTimestamp)),
			quote.State(mirror),
		},
	}
	s.Remedy = deleteOlder(v, mirror, certain)
	if mirror.Status.IsFinished() {
		s.Severity = inspect.Warning
	}
	pending := liveness.PendingAction{
		Actor: liveness.Actor{Role: liveness.RoleKueue, Context: origin.Context}, Duty: liveness.DutyRemove, Target: mirror.Context,
		Subject: liveness.SubjectOf(mirror.Namespace, cmp.Or(mirror.Prebuilt(), mirror.Name)),
	}
	newer, _ := v.MadeFor(f, origin)
	for _, w := range newer {
		pending.Aliases = append(pending.Aliases, liveness.SubjectOf(w.Namespace, w.Name))
	}
	s.Awaits = v.Awaits(pending, mirror.Context, s.Since)
	v.Report(s)
}

// deleteOlder returns how to delete a mirror of an older Job, with the Workload that it runs under. certain is whether
// its management cluster is known to have created it.
func deleteOlder(v *view.View, mirror *inspect.Job, certain bool) command.Prose {
	what, deletion := command.Say("delete the mirror"), advice.DeleteJob(mirror).Prose()
	if copied, _ := v.Workload(factsOf(v, mirror), mirror.Namespace, mirror.Prebuilt()); copied != nil {
		what, deletion = command.Say("delete the mirror and its Workload"), deleteBoth(mirror, mirror.Prebuilt())
	}
	if !certain {
		what = command.Say("%s, %s", what, unlessUsed(mirror.Context, mirror.Marks.MultiKueueOrigin))
	}
	return command.Say("%s: %s", what, deletion)
}

// factsOf returns what was read of a Job's cluster.
func factsOf(v *view.View, j *inspect.Job) *inspect.Facts {
	f, _ := v.Facts(j.Context)
	return f
}
