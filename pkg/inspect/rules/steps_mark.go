package rules

import (
	"cmp"
	"fmt"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

func markRemoved() Rule {
	return Rule{
		Code: "JM136", Title: "the mirror lost MultiKueue's label", Severity: inspect.Error,
		Holds: "every mirror of MultiKueue has its label",
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartWorkloads},
		Why: `MultiKueue takes only those objects on a worker for its own that have the label
kueue.x-k8s.io/multikueue-origin. Somebody removed it from a mirror. The mirror runs on, and MultiKueue neither copies its
status nor deletes it, so the origin never ends.`,
		Shows: `A Job on a worker has the name of an origin, and names its Workload in kueue.x-k8s.io/prebuilt-workload-name
or controls the Workload's copy. It has no label kueue.x-k8s.io/multikueue-origin.`,
		Remedy: `Put the label back, with the value that the Workload beside the mirror has. MultiKueue then copies the
status.`,
		Link:   "https://github.com/kubernetes-sigs/kueue/pull/11877",
		Covers: []string{"JM034", "JM035", "JM041", "JM047", "JM104", "JM110", "JM130", "JM131"},
		Detect: func(v *View) {
			for _, p := range v.Pairs() {
				for _, m := range p.Mirrors {
					if m.Is(inspect.ByWorkload) && m.Job.DeletedAt == nil && !p.Origin.Status.IsFinished() {
						reportMarkRemoved(v, p.Origin, m.Job)
					}
				}
			}
		},
	}
}

func reportMarkRemoved(v *View, origin, mirror *inspect.Job) {
	value, workload := defaultOrigin, mirror.Prebuilt()
	evidence := []string{fmt.Sprintf("%s: %s has no label %s", mirror.Context, named(Of(mirror)), delegation.MultiKueueOriginLabel)}
	if workload != "" {
		evidence = append(evidence, fmt.Sprintf("%s: %s of it is %s, the Workload of %s", mirror.Context, delegation.PrebuiltWorkload, workload, named(Of(origin))))
	}
	f, _ := v.Facts(mirror.Context)
	for _, name := range origin.WorkloadNames() {
		w, _ := v.Workload(f, mirror.Namespace, name)
		if w == nil {
			continue
		}
		value = cmp.Or(w.Labels[delegation.MultiKueueOriginLabel], value)
		evidence = append(evidence, fmt.Sprintf("%s: label %s of %s is %s", mirror.Context, delegation.MultiKueueOriginLabel, named(workloadObject(f, w)), value))
	}
	s := Sighting{
		Object: Of(origin), Since: v.On(origin.Context, mirror.Context, timeOf(mirror.SpecWrittenAt)), Jobs: []*inspect.Job{origin}, Evidence: append(evidence, stateOf(mirror)),
		Message: fmt.Sprintf("its mirror on %s lost label %s; MultiKueue no longer copies its status", mirror.Context, delegation.MultiKueueOriginLabel),
		Remedy: command.Say("put the label back: %s",
			kubectlFor(mirror, "label").With(delegation.MultiKueueOriginLabel+"="+value)),
	}
	if mirror.Status.IsFinished() {
		s.Message = fmt.Sprintf("its mirror on %s is %s, but lost label %s: MultiKueue never copies that", mirror.Context, mirror.Status, delegation.MultiKueueOriginLabel)
	}
	v.Report(s)
}
