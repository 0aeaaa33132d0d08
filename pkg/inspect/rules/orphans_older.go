package rules

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func olderIncarnation() Rule {
	return Rule{
		Code: "JM063", Title: "the mirror of an older Job of the same name still exists", Severity: inspect.Error,
		Holds: "no mirror of an older Job of MultiKueue blocks a Job",
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartWorkloads},
		Why: `The origin was deleted and created again under the same name, and the mirror of the old one was not cleaned
up: the worker was not reachable at the time, or Kueue did not run. It runs what nobody asks for any more, and keeps
the place that the new mirror needs.`,
		Shows: `The name of the Workload in the mirror's annotation kueue.x-k8s.io/prebuilt-workload-name ends in a hash
of the origin's uid, and it is not that of the origin that is there now; of StatefulSets and LeaderWorkerSets, the
annotation kueue.x-k8s.io/multikueue-origin-uid is another uid.`,
		Remedy: `Delete the old mirror and its Workload on the worker.`,
		Link:   "https://github.com/kubernetes-sigs/kueue/tree/main/keps/693-multikueue",
		Detect: func(v *View) {
			known := map[string]marks{}
			for _, p := range v.Pairs() {
				for _, m := range p.Mirrors {
					if m.Current || m.Relation != inspect.ByMultiKueue || m.Job.DeletedAt != nil || p.Origin.DeletedAt != nil {
						continue
					}
					of := known[p.Origin.Context]
					if of == nil {
						of = v.marksOf(p.Origin.Context)
						for _, f := range v.Clusters() {
							of.addCopies(v, factsOf(v, p.Origin), f)
						}
						known[p.Origin.Context] = of
					}
					// Else it is the mirror of a Job of the same name, of another management cluster.
					if may, certain := of.may(m.Job.Marks.MultiKueueOrigin); may {
						reportOlder(v, p.Origin, m.Job, certain)
					}
				}
			}
		},
	}
}

// reportOlder reports a mirror that runs under a Workload of another incarnation
// of its origin, or was made for one by the uid that it carries.
//
// certain is whether it is known that its management cluster has made it.
func reportOlder(v *View, origin, mirror *inspect.Job, certain bool) {
	f, _ := v.Facts(origin.Context)
	w, known := v.Workload(f, mirror.Namespace, mirror.Prebuilt())
	other := fmt.Sprintf("annotation %s of %s is %s, which is not a name for uid %s", delegation.PrebuiltWorkload, named(Of(mirror)), mirror.Prebuilt(), origin.UID)
	isChosen := origin.Prebuilt() != "" && origin.Prebuilt() == mirror.Prebuilt()
	switch uid := mirror.Marks.MultiKueueOriginUID; {
	case uid != "":
		other = fmt.Sprintf("annotation %s of %s is %s", delegation.MultiKueueOriginUIDAnnotation, named(Of(mirror)), uid)
	case mirror.Prebuilt() == "" || !known || isChosen || w != nil && isFor(w, origin):
		// People may make the Workload themselves, under any name.
		return
	}
	s := Sighting{
		Object: Of(mirror), Since: newest(origin.CreationTimestamp.Time, timeOf(mirror.FinishedTime)), Jobs: []*inspect.Job{origin, mirror},
		Message: fmt.Sprintf("it belongs to an older %s of the same name on %s", mirror.Kind, origin.Context),
		Evidence: []string{
			mirror.Context + ": " + other,
			fmt.Sprintf("%s: metadata.uid of %s is %s, created %s", origin.Context, named(Of(origin)), origin.UID, stamp(origin.CreationTimestamp)),
			stateOf(mirror),
		},
		Remedy: deleteJob(mirror).Prose(),
	}
	if copied, _ := v.Workload(factsOf(v, mirror), mirror.Namespace, mirror.Prebuilt()); copied != nil {
		s.Remedy = deleteBoth(mirror, mirror.Prebuilt())
	}
	if !certain {
		s.Remedy = command.Say("%s, %s", ifNobodyElse(mirror.Context, mirror.Marks.MultiKueueOrigin), s.Remedy)
	}
	if mirror.Status.IsFinished() {
		s.Severity = inspect.Warning
	}
	turn := inspect.Turn{
		Actor: inspect.Actor{Role: inspect.RoleKueue, Context: origin.Context}, Duty: inspect.DutyRemove, Target: mirror.Context,
		Subject: inspect.SubjectOf(mirror.Namespace, cmp.Or(mirror.Prebuilt(), mirror.Name)),
	}
	newer, _ := v.MadeFor(f, origin)
	for _, w := range newer {
		turn.Also = append(turn.Also, inspect.SubjectOf(w.Namespace, w.Name))
	}
	s.Awaits = v.awaits(turn, origin.Context, s.Since)
	v.Report(s)
}

// factsOf is what was read of a Job's cluster.
func factsOf(v *View, j *inspect.Job) *inspect.Facts {
	f, _ := v.Facts(j.Context)
	return f
}

// isFor says whether a Workload was made for a Job.
func isFor(w *kueue.Workload, j *inspect.Job) bool {
	return w.Labels[delegation.JobUIDLabel] == j.UID ||
		slices.ContainsFunc(w.OwnerReferences, func(o metav1.OwnerReference) bool { return string(o.UID) == j.UID })
}
