package rules

import (
	"fmt"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func editedWhileAdmitted() Rule {
	return Rule{
		Code: "JM125", Title: "its size was changed while admitted", Severity: inspect.Error,
		Holds: "no admitted Job was resized",
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks},
		Why: `Kueue has admitted the Job for as many pods as it had then. Where the number is changed later, Kueue stops
the origin in order to queue it anew. But the origin of a delegated Job counts the pods of its mirror, which runs on, so
Kueue waits for pods to end that nobody stops. Only elastic Jobs (kueue.x-k8s.io/elastic-job) may change their size.`,
		Shows: `The origin's parallelism, or completions if that is less, is not the count of the pod set of its
Workload, which has its quota reserved; of another kind, a field that says how many pods it wants has one value there,
and another one on the mirror. The origin may be suspended while its mirror runs as before.`,
		Remedy: `Put the number back, and Kueue resumes the origin. To have another size, create the Job again.`,
		Link:   "https://kueue.sigs.k8s.io/docs/tasks/run/jobs/",
		Covers: []string{"JM041", "JM046", "JM050"},
		Detect: func(v *View) {
			for s := range underWay(v) {
				if s.IsFinished() || !s.HasQuota() || !s.Workload.IsActive() {
					continue
				}
				if was, is, ok := resized(s); ok {
					v.Report(edited(s, was, is))
				}
				reportResized(v, s)
			}
		},
	}
}

// resized says how many pods a Job was admitted for, and how many it wants now (kueue:
// pkg/controller/jobs/job, podsCount). Other kinds have several sets, which they count
// in ways of their own.
func resized(s Submission) (was, is int32, ok bool) {
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
	// Kueue itself starts what says so with less (kueue.x-k8s.io/job-min-parallelism).
	isInPart := set.MinCount != nil && is >= *set.MinCount && is < was
	return was, is, was != is && was > 0 && !isInPart
}

func edited(s Submission, was, is int32) Sighting {
	j := s.Job()
	sighting := Sighting{
		Object: Of(j), Since: timeOf(j.SpecWrittenAt), Jobs: []*inspect.Job{j},
		Message: fmt.Sprintf("it was admitted with %d Pods, but now has %d: Kueue cannot follow while a worker runs it", was, is),
		Evidence: []string{
			fmt.Sprintf("%s: spec.podSets[%s].count of %s is %d", s.Manager.Context, s.Workload.Spec.PodSets[0].Name, named(workloadObject(s.Manager, s.Workload)), was),
			fmt.Sprintf("%s: spec.parallelism of %s is %s, spec.completions %s", j.Context, named(Of(j)), counted(j.Parallelism), counted(j.Completions)),
		},
		Remedy: command.Say("put it back: %s; to have another size, %s", set(j, []string{"spec", "parallelism"}, was), startAgain(j)),
	}
	if admitted := s.Workload.Condition(kueue.Admitted); admitted != nil {
		sighting.Evidence = append(sighting.Evidence, conditionOf(s.Manager, s.Workload, admitted))
	}
	for _, m := range s.Pair.Mirrors {
		if m.Current && m.Job.Parallelism != nil {
			sighting.Evidence = append(sighting.Evidence, fmt.Sprintf("%s: spec.parallelism of %s is %d", m.Job.Context, named(Of(m.Job)), *m.Job.Parallelism))
		}
	}
	return sighting
}

// reportResized reports an object of another kind than Job, of which a size differs from
// that of its mirror, which was made for what was admitted. Elastic ones are followed.
func reportResized(v *View, s Submission) {
	j := s.Job()
	if j.IsElastic() || hasState(s, kueue.CheckRetry) {
		return
	}
	for _, m := range s.Pair.Mirrors {
		sizes := j.ResizedFrom(m.Job)
		if !isLiveMirror(m) || len(sizes) == 0 {
			continue
		}
		first := sizes[0]
		sighting := Sighting{
			Object: Of(j), Since: timeOf(j.SpecWrittenAt), Jobs: []*inspect.Job{j},
			Message: fmt.Sprintf("its %s is %d, but its mirror on %s has %d: Kueue cannot follow while a worker runs it",
				first.Field, first.Origin, m.Job.Context, first.Mirror),
			Remedy: command.Say("put it back to %d: %s; to have another size, %s", first.Mirror, kubectlFor(j, "edit"), startAgain(j)),
		}
		for _, size := range sizes {
			sighting.Evidence = append(sighting.Evidence, fmt.Sprintf("%s: %s of %s is %d; %s: of %s it is %d",
				j.Context, size.Field, named(Of(j)), size.Origin, m.Job.Context, named(Of(m.Job)), size.Mirror))
		}
		v.Report(sighting)
	}
}
