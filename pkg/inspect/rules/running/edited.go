package running

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func editedWhileAdmitted() view.Rule {
	return view.Rule{
		Code: "JM125", Severity: inspect.Error,
		Reads:  []inspect.Part{inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks},
		Covers: []string{"JM041", "JM046", "JM050", "JM114"},
		Detect: func(v *view.View) {
			for s := range unfinished(v) {
				if s.IsFinished() || !s.Workload.IsActive() {
					continue
				}
				if !s.Workload.Is(kueue.Admitted) {
					reportReselected(v, s)
				}
				if !s.HasQuota() {
					continue
				}
				if was, is, ok := resized(s); ok {
					v.Report(describeEdit(s, was, is))
				}
				reportResized(v, s)
			}
		},
	}
}

// resized returns how many Pods a Job was admitted for, and how many it wants
// now (kueue: pkg/controller/jobs/job, podsCount). ok is whether they differ.
// Other kinds have several pod sets, which they count in their own ways.
func resized(s view.Submission) (was, is int32, ok bool) {
	j := s.Job()
	if !j.Row().IsJob() || j.IsElastic() || len(s.Workload.Spec.PodSets) != 1 {
		return 0, 0, false
	}
	is = 1
	if j.Parallelism != nil {
		is = *j.Parallelism
	}
	if j.Completions != nil && *j.Completions < is {
		is = *j.Completions
	}
	set := s.Workload.Spec.PodSets[0]
	was = set.Count
	// Kueue itself starts a Job with fewer Pods if the Job allows it
	// (kueue.x-k8s.io/job-min-parallelism).
	isInPart := set.MinCount != nil && is >= *set.MinCount && is < was
	return was, is, was != is && was > 0 && !isInPart
}

func describeEdit(s view.Submission, was, is int32) view.Sighting {
	j := s.Job()
	worker, isCopied := copierOf(s)
	sighting := view.Sighting{
		Object: view.Of(j), Since: view.TimeOf(j.SpecWrittenAt), Jobs: []*inspect.Job{j},
		Message: editText(s, was, is, worker, isCopied),
		Evidence: []string{
			fmt.Sprintf("%s: spec.podSets[%s].count of %s is %d", s.Manager.Context, s.Workload.Spec.PodSets[0].Name, view.OfWorkload(s.Manager, s.Workload).String(), was),
			fmt.Sprintf("%s: spec.parallelism of %s is %s, spec.completions %s", j.Context, view.Of(j).String(), countText(j.Parallelism), countText(j.Completions)),
		},
		Remedy: command.Say("%s; or to change the size, %s", restoreSize(j, was, isCopied), advice.CreateAgain(j)),
	}
	if admitted := s.Workload.Condition(kueue.Admitted); admitted != nil {
		sighting.Evidence = append(sighting.Evidence, quote.WorkloadCondition(s.Manager, s.Workload, admitted))
	}
	for _, m := range s.Pair.Mirrors {
		if m.Current && m.Job.Parallelism != nil {
			sighting.Evidence = append(sighting.Evidence, fmt.Sprintf("%s: spec.parallelism of %s is %d", m.Job.Context, view.Of(m.Job).String(), *m.Job.Parallelism))
		}
	}
	return sighting
}

// restoreSize returns how a Job gets the number of Pods again that it was admitted with. completions may have changed
// only together with parallelism.
func restoreSize(j *inspect.Job, was int32, isCopied bool) command.Prose {
	fields, set := "parallelism", advice.SetField(j, []string{"spec", "parallelism"}, was)
	if j.Completions != nil && *j.Completions < was {
		fields, set = "parallelism and completions", advice.SetField(j, []string{"spec"}, map[string]any{"parallelism": was, "completions": was})
	}
	effect := ""
	if !isCopied {
		effect = ", and Kueue copies the status again"
	}
	return command.Say("set %s to %d again%s: %s", fields, was, effect, set)
}

// copierOf returns what runs a Job, and whether Kueue copies the status from there: it does not while the origin is
// suspended and its mirror runs (kueue: pkg/controller/jobs/job, determineStatusUpdate).
func copierOf(s view.Submission) (worker string, isCopied bool) {
	worker, isCopied = "a worker", true
	for _, m := range s.Pair.Mirrors {
		if isLiveMirror(m) {
			worker, isCopied = m.Job.Context, !s.Job().Suspended || m.Job.Suspended
		}
	}
	return worker, isCopied
}

// editText says what was changed on the origin, and what Kueue does about it. That is always parallelism: completions is
// immutable, or changes together with an equal parallelism (kubernetes: pkg/apis/batch/validation, validateCompletions).
func editText(s view.Submission, was, is int32, worker string, isCopied bool) string {
	j, to := s.Job(), strconv.Itoa(int(is))
	if j.Parallelism != nil && *j.Parallelism != is {
		to = fmt.Sprintf("%d (%s)", *j.Parallelism, inspect.Count(int(is), "Pod"))
	}
	text := fmt.Sprintf("its parallelism on %s was changed to %s, but it was admitted with %s: Kueue ignores the change while %s runs it",
		j.Context, to, inspect.Count(int(was), "Pod"), worker)
	if !isCopied {
		text += ", and does not copy its status"
	}
	return text
}

// reportReselected reports a waiting Job whose Workload has another node selector. Kueue compares the
// Job with its Workload, but not this field (kueue: pkg/util/equality/podset.go).
func reportReselected(v *view.View, s view.Submission) {
	j := s.Job()
	if !j.Row().IsJob() || j.IsElastic() || j.IsStopping() || !j.Suspended || len(s.Workload.Spec.PodSets) != 1 {
		return
	}
	set := &s.Workload.Spec.PodSets[0]
	was, is := cmp.Or(set.Template.Spec.NodeSelector, "none"), cmp.Or(j.NodeSelector, "none")
	if was == is {
		return
	}
	workload := view.OfWorkload(s.Manager, s.Workload)
	v.Report(view.Sighting{
		Object: view.Of(j), Since: view.TimeOf(j.SpecWrittenAt), Jobs: []*inspect.Job{j},
		Message: fmt.Sprintf("its Workload still has the old node selector (%s, not %s): Kueue does not follow this change", was, is),
		Evidence: []string{
			fmt.Sprintf("%s: the node selector of %s is %s", j.Context, view.Of(j).String(), is),
			fmt.Sprintf("%s: the node selector in podset %s of %s is %s", s.Manager.Context, set.Name, workload.String(), was),
		},
		Remedy: advice.CreateAgain(j),
	})
}

// reportResized reports an object of another kind than Job whose size differs
// from its mirror's, because the mirror has the admitted size. Kueue resizes
// the mirrors of elastic objects, so it skips them.
func reportResized(v *view.View, s view.Submission) {
	j := s.Job()
	if j.IsElastic() || s.HasState(kueue.CheckRetry) {
		return
	}
	for _, m := range s.Pair.Mirrors {
		sizes := j.ResizedFrom(m.Job)
		if !isLiveMirror(m) || len(sizes) == 0 {
			continue
		}
		first := sizes[0]
		sighting := view.Sighting{
			Object: view.Of(j), Since: view.TimeOf(j.SpecWrittenAt), Jobs: []*inspect.Job{j},
			Message: fmt.Sprintf("its %s is %d, but its mirror on %s has %d: Kueue cannot follow while a worker runs it",
				first.Field, first.Origin, m.Job.Context, first.Mirror),
			Remedy: command.Say("set %s to %d again: %s; or to change the size, %s", first.Field, first.Mirror, advice.KubectlJob(j, "edit"), advice.CreateAgain(j)),
		}
		for _, size := range sizes {
			sighting.Evidence = append(sighting.Evidence, fmt.Sprintf("%s: %s of %s is %d; %s: of %s it is %d",
				j.Context, size.Field, view.Of(j).String(), size.Origin, m.Job.Context, view.Of(m.Job).String(), size.Mirror))
		}
		v.Report(sighting)
	}
}
