package running

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func ownerNotFound() view.Rule {
	return view.Rule{
		Code: "JM038", Severity: inspect.Error,
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks},
		Detect: func(v *view.View) {
			for s := range unfinished(v) {
				if finished := finishedFor(s.Workload, kueue.OwnerNotFound); finished != nil && onlyFinished(v, s) {
					v.Report(describeOwnerless(s, finished))
				}
			}
		},
	}
}

// describeOwnerless describes a Job whose Workload finished because its mirror was deleted. A mirror
// that a finalizer keeps has the name that the next mirror needs.
func describeOwnerless(s view.Submission, finished *metav1.Condition) view.Sighting {
	j := s.Job()
	sighting := view.Sighting{
		Object: view.Of(j), Since: finished.LastTransitionTime.Time, Jobs: []*inspect.Job{j},
		Message: fmt.Sprintf("it will never run: its Workload finished with OwnerNotFound, although the %s exists", j.Kind),
		Evidence: []string{
			quote.WorkloadCondition(s.Manager, s.Workload, finished),
			fmt.Sprintf("%s: %s, UID %s, exists and has not finished", j.Context, view.Of(j).String(), j.UID),
		},
		Remedy: advice.CreateAgain(j),
	}
	for _, m := range s.Pair.Mirrors {
		if !advice.IsBlocked(m.Job) {
			continue
		}
		sighting.Message = fmt.Sprintf("it will never finish: its Workload finished with OwnerNotFound, and the deletion of its mirror on %s waits for %s",
			m.Job.Context, quote.Finalizers(m.Job))
		sighting.Evidence = append(sighting.Evidence, quote.Deletion(m.Job)...)
		sighting.Jobs, sighting.Covers = append(sighting.Jobs, m.Job), []string{"JM111"}
		sighting.Remedy = command.Say("%s, and then delete the origin: %s, and create the %s again", advice.Unblock(m.Job, ""), advice.DeleteJob(j), j.Kind)
	}
	return sighting
}
