package rules

import (
	"fmt"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func foreignJob() Rule {
	return Rule{
		Code: "JM034", Title: "another Job of the same name exists on the worker", Severity: inspect.Error,
		Holds: "no other Job blocks the name of a mirror",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `A mirror has its origin's namespace and name. The worker that admitted the Job has a Job of that name
already, which MultiKueue did not make, or which it made for another management cluster. MultiKueue does not touch
what is not its own, so it cannot make the mirror; and as the copies on all other workers are deleted once one worker
has admitted the Job, it does not try another one either (kueue issue 12404).`,
		Shows: `The copy of the Workload on a worker is admitted and has no owner, and the Job of that name there lacks
the label kueue.x-k8s.io/multikueue-origin, or has another value than the copy. On the management cluster the check is
Pending without a word, and quota is held on both sides.`,
		Remedy: `Delete the other Job on the worker, after having saved it under another name if somebody needs it;
the Job then goes on by itself. Or delete the origin and create it under a name that is free on all workers.`,
		Link:   "https://github.com/kubernetes-sigs/kueue/issues/12404",
		Covers: []string{"JM022"},
		Detect: func(v *View) {
			for s := range underWay(v) {
				for _, c := range ownerless(v, s) {
					j := v.jobNamed(c.Worker, s.Job(), s.Job().Namespace, s.Job().Name)
					if j != nil && !isOf(j, c.Workload) {
						v.Report(clash(v, s, c, j))
						break
					}
				}
			}
		},
	}
}

// ownerless are the copies of a Job that waits for workers that one has admitted,
// and that no mirror was made for.
func ownerless(v *View, s Submission) []Copy {
	if !s.WaitsForWorkers() {
		return nil
	}
	var found []Copy
	for _, c := range v.Copies(s) {
		if c.Workload.Is(kueue.Admitted) && !c.Workload.Is(kueue.Finished) && !isOwned(c.Workload) {
			found = append(found, c)
		}
	}
	return found
}

// isOf says whether a Job comes from the management cluster that made a copy.
func isOf(j *inspect.Job, w *kueue.Workload) bool {
	return j.MultiKueueOrigin() != "" && j.Marks.MultiKueueOrigin == w.Labels[delegation.MultiKueueOriginLabel]
}

// admittedAt is when a worker admitted a copy, by the manager's clock.
func admittedAt(v *View, s Submission, c Copy) time.Time {
	admitted := c.Workload.Condition(kueue.Admitted)
	return v.On(s.Manager.Context, c.Worker.Context, admitted.LastTransitionTime.Time)
}

func clash(v *View, s Submission, c Copy, other *inspect.Job) Sighting {
	j := s.Job()
	mark := "has no label " + delegation.MultiKueueOriginLabel
	if other.MultiKueueOrigin() != "" {
		mark = fmt.Sprintf("has the label %s=%s", delegation.MultiKueueOriginLabel, other.Marks.MultiKueueOrigin)
	}
	evidence := []string{
		conditionNamed(c.Worker, c.Workload, kueue.Admitted) + "; it has no ownerReferences",
		fmt.Sprintf("%s: %s, created %s, %s", other.Context, named(Of(other)), stamp(other.CreationTimestamp), mark),
		checkOf(s),
	}
	for _, n := range s.Pair.Namesakes {
		if n != other {
			evidence = append(evidence, fmt.Sprintf("%s: there is another %s too", n.Context, named(Of(n))))
		}
	}
	return Sighting{
		Object: Of(j), Since: admittedAt(v, s, c), Jobs: []*inspect.Job{j}, Evidence: evidence,
		Message: fmt.Sprintf("%s (%s) admitted it, but another %s there has its name", c.Cluster, c.Worker.Context, j.Kind),
		Remedy: command.Say("if nobody needs the other %s: %s; else %s, and create it under another name",
			j.Kind, deleteJob(other), deleteJob(j)),
	}
}

func mirrorRefused() Rule {
	return Rule{
		Code: "JM035", Title: "a worker admitted it, but no mirror was created", Severity: inspect.Error,
		Holds: "every admitted Job has a mirror",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `Once a worker has admitted the copy of the Workload, MultiKueue makes the mirror there. Where it does not
come, the worker's API server may refuse it: a ResourceQuota or an admission policy forbids it, the account of
MultiKueue may not create Jobs, or the Job is not valid there. A Job with spec.manualSelector never is, for MultiKueue
takes the selector away. Nobody else gets the Job meanwhile; the reason stands in the log of Kueue's controller on the
management cluster ("Syncing remote controller object") and nowhere else. The same is to be seen if that controller is
not running.`,
		Shows: `The copy of the Workload on a worker is admitted and has no owner, and there is no Job of that name.
On the management cluster the check is Pending without a word, and quota is held on both sides.`,
		Remedy: `Find out what refuses it, by creating a Job in that namespace of the worker with --dry-run=server, and
change the quota, the policy or the Job. Then it goes on by itself.`,
		Link: "https://kueue.sigs.k8s.io/docs/concepts/multikueue/",
		Detect: func(v *View) {
			for s := range underWay(v) {
				copies := ownerless(v, s)
				refused := len(copies) > 0
				for _, c := range copies {
					refused = refused && v.isMissing(c.Worker, s.Job(), s.Job().Namespace, s.Job().Name)
				}
				if refused {
					v.Report(refusal(v, s, copies[0]))
				}
			}
		},
	}
}

func refusal(v *View, s Submission, c Copy) Sighting {
	j := s.Job()
	quotas := command.Kubectl(c.Worker.Context, j.Namespace, "get", "resourcequotas")
	sighting := Sighting{
		Object: Of(j), Since: admittedAt(v, s, c), Jobs: []*inspect.Job{j},
		Message: fmt.Sprintf("%s (%s) admitted it, but makes no mirror", c.Cluster, c.Worker.Context),
		Evidence: []string{
			conditionNamed(c.Worker, c.Workload, kueue.Admitted) + "; it has no ownerReferences",
			fmt.Sprintf("%s: there is no %s", c.Worker.Context, named(Of(j))),
			checkOf(s),
		},
		Remedy: command.Say("see whether something refuses Jobs there: %s, and %s; then change that, or the Job",
			command.Kubectl(c.Worker.Context, j.Namespace, "create", "job", j.Name, "--image=busybox", "--dry-run=server", "--", "true"), quotas),
		Cause:  "refused " + c.Worker.Context + "/" + j.Namespace,
		Awaits: v.awaitsReach(s.Manager, s.Workload, inspect.DutyMirror, c.Worker.Context, j.Context, admittedAt(v, s, c)),
	}
	if !j.Row().IsJob() {
		sighting.Cause += " " + j.Kind
		sighting.Remedy = command.Say("see whether something refuses it there, with its manifest in FILE: %s, and %s; then change that, or the %s",
			command.Kubectl(c.Worker.Context, j.Namespace, "create", "--dry-run=server", "-f", "FILE"), quotas, j.Kind)
	}
	if !sighting.Awaits.isAtWork() {
		sighting.Remedy += command.Say("; and %s", seeKueue(j.Context, sighting.Awaits))
	}
	if j.ManualSelector {
		sighting.Cause = ""
		// This is not a matter of waiting.
		sighting.Awaits = nil
		sighting.Message = fmt.Sprintf("%s (%s) admitted it, but refuses its mirror: spec.manualSelector is set", c.Cluster, c.Worker.Context)
		sighting.Evidence = append(sighting.Evidence, fmt.Sprintf("%s: spec.manualSelector of %s is true", j.Context, named(Of(j))))
		sighting.Remedy = startAgain(j) + " without spec.manualSelector and spec.selector"
	}
	return sighting
}
