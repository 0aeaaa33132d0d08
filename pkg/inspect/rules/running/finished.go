package running

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func finishedEarly() view.Rule {
	return view.Rule{
		Code: "JM123", Severity: inspect.Error,
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks},
		Detect: func(v *view.View) {
			for _, s := range v.Submissions() {
				if s.Workload == nil || !s.Job().IsOpen() {
					continue
				}
				// JM036 and JM038 report their own reasons.
				if c := s.Workload.GivenUp(); c != nil && c.Reason != kueue.OutOfSync && c.Reason != kueue.OwnerNotFound {
					v.Report(describeGivenUp(v, s, c))
				}
			}
		},
	}
}

func describeGivenUp(v *view.View, s view.Submission, c *metav1.Condition) view.Sighting {
	j := s.Job()
	sighting := view.Sighting{
		// Finished is final, so there is no grace period.
		Object: view.Of(j), Jobs: []*inspect.Job{j},
		Message:  fmt.Sprintf("it will never run: its Workload has finished with %s", quote.Reason(c)),
		Evidence: []string{quote.WorkloadCondition(s.Manager, s.Workload, c)},
		Remedy:   command.Say("correct what the message names, then %s", advice.CreateAgain(j)),
	}
	fields := leftovers(s.Workload)
	if len(fields) == 0 {
		return sighting
	}
	sighting.Message = fmt.Sprintf("it will never run: its Pod template has fields that Kueue set in an earlier %s (%s)", j.Kind, strings.Join(fields, ", "))
	for _, field := range fields {
		sighting.Evidence = append(sighting.Evidence, fmt.Sprintf("%s: %s had %s before Kueue picked the %s up", s.Manager.Context, view.OfWorkload(s.Manager, s.Workload).String(), field, j.Kind))
	}
	sighting.Remedy = command.Say("create the %s again without %s: %s", j.Kind, strings.Join(fields, ", "), advice.Recreation(v, j, j.ManagedBy))
	return sighting
}

// leftovers returns the fields that Kueue sets in Pod templates while they
// run, if they were set before Kueue created the Workload. The pod sets of
// the Workload are the templates of that time.
func leftovers(w *kueue.Workload) []string {
	found := map[string]bool{}
	for _, set := range w.Spec.PodSets {
		for key := range set.Template.Metadata.Annotations {
			if delegation.IsKueueTemplateKey(key) {
				found["annotation "+key] = true
			}
		}
		for key := range set.Template.Metadata.Labels {
			if delegation.IsKueueTemplateKey(key) {
				found["label "+key] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}
