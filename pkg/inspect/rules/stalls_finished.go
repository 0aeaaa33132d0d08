package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func finishedEarly() Rule {
	return Rule{
		Code: "JM123", Title: "Kueue gave it up, though it never finished", Severity: inspect.Error,
		Holds: "Kueue has given up no unfinished Job",
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks},
		Why: `Kueue declares a Workload finished where it cannot start what it was made for, and never comes back to it:
the object stays suspended for ever. Mostly that is one that was created again from what was read of its predecessor,
with what Kueue had put into the pod template of that while it ran: Kueue refuses to overwrite its own values.`,
		Shows: `The Workload has the condition Finished, with a reason such as FailedToStart and not Succeeded or Failed,
and the object that it was made for has not ended.`,
		Remedy: `Create it again from its original manifest, or without what Kueue has put into the pod template.
recreate leaves that out.`,
		Link: "https://kueue.sigs.k8s.io/docs/concepts/workload/",
		Detect: func(v *View) {
			for _, s := range v.Submissions() {
				if s.Workload == nil || !s.Job().IsOpen() {
					continue
				}
				if c := s.Workload.Condition(kueue.Finished); isTrue(c) && isGivenUp(c.Reason) {
					v.Report(givenUp(s, c))
				}
			}
		},
	}
}

// isGivenUp says whether a reason for a Workload's end is neither that of what it was
// made for, nor told by a rule of its own (JM036, JM038).
func isGivenUp(reason string) bool {
	return !slices.Contains([]string{"", "Succeeded", "Failed", "JobFinished", "WorkloadSliceReplaced", "OutOfSync", "OwnerNotFound"}, reason)
}

func givenUp(s Submission, c *metav1.Condition) Sighting {
	j := s.Job()
	sighting := Sighting{
		// That is final, however young.
		Object: Of(j), Jobs: []*inspect.Job{j},
		Message:  fmt.Sprintf("it will never run: its Workload has finished with %s", reasonOf(c)),
		Evidence: []string{conditionOf(s.Manager, s.Workload, c)},
		Remedy:   command.Say("mend what the message says, %s", startAgain(j)),
	}
	fields := leftovers(s.Workload)
	if len(fields) == 0 {
		return sighting
	}
	sighting.Message = fmt.Sprintf("it will never run: its Pod template has fields that Kueue set in an earlier %s (%s)", j.Kind, strings.Join(fields, ", "))
	for _, field := range fields {
		sighting.Evidence = append(sighting.Evidence, fmt.Sprintf("%s: %s of %s, from before Kueue took it up", s.Manager.Context, field, named(workloadObject(s.Manager, s.Workload))))
	}
	sighting.Remedy = command.Say("create it again without %s: %s", strings.Join(fields, ", "), makeAnew(j, j.ManagedBy))
	return sighting
}

// reasonOf is "Reason: message" of a condition.
func reasonOf(c *metav1.Condition) string {
	return strings.TrimSuffix(c.Reason+": "+c.Message, ": ")
}

// leftovers are the fields that Kueue sets in pod templates while it runs them, as far
// as they were there before it made a Workload: its pod sets are the templates as they
// were then.
func leftovers(w *kueue.Workload) []string {
	found := map[string]bool{}
	for _, set := range w.Spec.PodSets {
		for key := range set.Template.Metadata.Annotations {
			if delegation.IsKueuesInTemplate(key) {
				found["annotation "+key] = true
			}
		}
		for key := range set.Template.Metadata.Labels {
			if delegation.IsKueuesInTemplate(key) {
				found["label "+key] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}
