package running

import (
	"cmp"
	"fmt"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func markRemoved() view.Rule {
	return view.Rule{
		Code: "JM136", Severity: inspect.Error,
		Reads:  []inspect.Part{inspect.PartJobs, inspect.PartWorkloads},
		Covers: []string{"JM034", "JM035", "JM041", "JM047", "JM104", "JM110", "JM130", "JM131"},
		Detect: func(v *view.View) {
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

func reportMarkRemoved(v *view.View, origin, mirror *inspect.Job) {
	value, workload := kueue.DefaultOrigin, mirror.Prebuilt()
	evidence := []string{fmt.Sprintf("%s: %s has no label %s", mirror.Context, view.Of(mirror).String(), delegation.MultiKueueOriginLabel)}
	if workload != "" {
		evidence = append(evidence, fmt.Sprintf("%s: %s of %s is %s, the Workload of %s", mirror.Context, delegation.PrebuiltWorkload, view.Of(mirror).String(), workload, view.Of(origin).String()))
	}
	f, _ := v.Facts(mirror.Context)
	for _, name := range origin.WorkloadNames() {
		w, _ := v.Workload(f, mirror.Namespace, name)
		if w == nil {
			continue
		}
		value = cmp.Or(w.Labels[delegation.MultiKueueOriginLabel], value)
		evidence = append(evidence, fmt.Sprintf("%s: label %s of %s is %s", mirror.Context, delegation.MultiKueueOriginLabel, view.OfWorkload(f, w).String(), value))
	}
	since, isUndated := uncopiedSince(v, origin, mirror)
	s := view.Sighting{
		Object: view.Of(origin), Since: since, IsUndated: isUndated, Jobs: []*inspect.Job{origin}, Evidence: append(evidence, quote.State(mirror)),
		Message: fmt.Sprintf("its mirror on %s lost label %s; MultiKueue no longer copies its status", mirror.Context, delegation.MultiKueueOriginLabel),
		Remedy: command.Say("restore the label: %s",
			advice.KubectlJob(mirror, "label").With(delegation.MultiKueueOriginLabel+"="+value)),
	}
	if mirror.Status.IsFinished() {
		s.Message = fmt.Sprintf("its mirror on %s is %s, but MultiKueue does not copy that status: the mirror lost label %s", mirror.Context, mirror.Status, delegation.MultiKueueOriginLabel)
	}
	v.Report(s)
}

// uncopiedSince returns since when MultiKueue at most has not copied the status of a mirror without its label: since the
// last write to the mirror, since the last status that was copied to the origin, and since the end of the mirror.
func uncopiedSince(v *view.View, origin, mirror *inspect.Job) (since time.Time, isUndated bool) {
	bounds := []time.Time{view.TimeOf(origin.StatusWrittenAt)}
	if mirror.Status.IsFinished() {
		bounds = append(bounds, v.On(origin.Context, mirror.Context, view.TimeOf(mirror.FinishedTime)))
	}
	return view.Proven(bounds, v.OnOf(origin.Context, mirror.Context, mirror.SpecWrittenAt))
}
