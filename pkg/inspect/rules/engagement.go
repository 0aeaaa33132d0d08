package rules

import (
	"fmt"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// engagement are the ways in which a delegation never begins (JM012 to JM018).
func engagement() []Rule {
	return []Rule{
		managedByMissing(), nobodyDelegates(), ownerUnknown(), kindHasNoAdapter(), customJobsGateOff(), noWorkloadMade(), managerIsItsWorker(),
	}
}

func nobodyDelegates() Rule {
	return Rule{
		Code: "JM013", Title: "managed by MultiKueue, but in none of its queues", Severity: inspect.Error,
		Holds: "every delegated Job has a queue label",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartKueue, inspect.PartWorkloads, inspect.PartChecks, inspect.PartQueues,
		},
		Why: `The Job's managedBy names MultiKueue, so the built-in controller leaves it alone; but MultiKueue does not
get to see it. Mostly it names no queue: Kueue only looks at Jobs with the label kueue.x-k8s.io/queue-name. Or the
ClusterQueue behind its queue has no MultiKueue check, and Kueue admits the Job on this cluster, where nothing runs it.
Or Kueue is not installed there. A Job's managedBy cannot be changed, nor can that of most other kinds.`,
		Shows: `managedBy is kueue.x-k8s.io/multikueue, the status was never written, and kubectl says Running. No Workload
has the Job's uid, or its Workload is admitted without an admission check and without clusterName.`,
		Remedy: `Create the Job again with the label of a LocalQueue whose ClusterQueue has a MultiKueue check, or
without managedBy to run it on this cluster.`,
		Link: "https://kueue.sigs.k8s.io/docs/tasks/run/multikueue/job/",
		Detect: func(v *View) {
			for _, s := range v.Submissions() {
				if s.Job().ManagedBy != delegation.MultiKueue || s.Job().MultiKueueOrigin() != "" || !isLive(s) {
					continue
				}
				if s.Workload == nil {
					reportUnqueued(v, s)
				} else {
					reportAdmittedHere(v, s)
				}
			}
		},
	}
}

// isDispatchedInstead is whether the command dispatch took MultiKueue's place for a Job.
func isDispatchedInstead(p inspect.Pair) bool {
	return !p.Origin.Pinned().IsZero() || dispatchedMirror(p) != nil
}

func notWritten(j *inspect.Job) string {
	return fmt.Sprintf("%s; it was created at %s, and its status was never written", ownerOf(j), stamp(j.CreationTimestamp))
}

// reportUnqueued reports a Job that Kueue does not see.
func reportUnqueued(v *View, s Submission) {
	j := s.Job()
	has, known := v.HasKueue(s.Manager)
	if j.Status != delegation.Unclaimed || !s.WorkloadKnown || !known || isDispatchedInstead(s.Pair) {
		return
	}
	sighting := Sighting{Object: Of(j), Since: j.CreationTimestamp.Time, Jobs: []*inspect.Job{j}}
	switch {
	case !has:
		sighting.Message = fmt.Sprintf("Kueue is not installed on %s: nothing dispatches it", j.Context)
		sighting.Evidence = []string{notWritten(j), j.Context + ": kueue.x-k8s.io is not served"}
		sighting.Remedy = command.Say("to run it on %s: %s; or submit it to a cluster that has Kueue", j.Context, disown(j))
		sighting.Cause = "no Kueue on " + j.Context
	case j.Queue() == "":
		sighting.Message = "ignored by Kueue: no queue label"
		sighting.Evidence = []string{notWritten(j), fmt.Sprintf("%s: %s has no label %s", j.Context, named(Of(j)), delegation.QueueNameLabel)}
		sighting.Remedy = joinQueue(v, s)
	default:
		// Kueue was told of it and made nothing: JM017.
		return
	}
	v.Report(sighting)
}

// joinQueue tells how a Job comes into a LocalQueue that leads to MultiKueue. Kueue
// takes the label of none that was ever let go, so it has to be made anew.
func joinQueue(v *View, s Submission) command.Prose {
	j, queue := s.Job(), dispatchingQueue(v, s)
	which := ""
	if queue == someQueue {
		which = fmt.Sprintf("; %s is one of namespace %s whose ClusterQueue has a MultiKueue check", someQueue, j.Namespace)
	}
	if mayRecreate(j, delegation.MultiKueue) {
		return command.Say("put it into a queue: %s%s", recreateIn(j, delegation.MultiKueue, queue), which)
	}
	return command.Say("%s, and create it again with label %s=%s%s", deleteJob(j), delegation.QueueNameLabel, queue, which)
}

// dispatchingQueue is the LocalQueue of a Job's namespace that leads to MultiKueue,
// someQueue if there is none.
func dispatchingQueue(v *View, s Submission) string {
	queues, _ := v.LocalQueues(s.Manager, s.Job().Namespace)
	for _, local := range queues {
		if is, _ := v.isDispatched(s.Manager, local.Namespace, local.Name); is {
			return local.Name
		}
	}
	return someQueue
}

// reportAdmittedHere reports a Job that Kueue admitted for this very cluster, where
// nobody runs it.
func reportAdmittedHere(v *View, s Submission) {
	j, w := s.Job(), s.Workload
	admitted := w.Condition(kueue.Admitted)
	if !isTrue(admitted) || w.Status.Admission == nil || len(w.Status.AdmissionChecks) > 0 || s.Chosen() != "" {
		return
	}
	q, ok := v.ClusterQueue(s.Manager, w.Status.Admission.ClusterQueue)
	if !ok || q == nil || hasStarted(j) {
		return
	}
	if is, known := v.dispatches(s.Manager, q); is || !known {
		return
	}
	v.Report(Sighting{
		Object: Of(j), Since: admitted.LastTransitionTime.Time, Jobs: []*inspect.Job{j},
		Message: fmt.Sprintf("ClusterQueue %s has no MultiKueue check: Kueue admitted it on %s, where nothing runs it", q.Name, j.Context),
		Evidence: []string{
			ownerOf(j),
			fmt.Sprintf("%s: condition Admitted of Workload %s/%s is True since %s, without admission checks and without clusterName",
				j.Context, w.Namespace, w.Name, stamp(admitted.LastTransitionTime)),
		},
		Remedy: command.Say("to run it on %s: %s; to have it dispatched: %s, and create it again with label %s=%s",
			j.Context, disown(j), deleteJob(j), delegation.QueueNameLabel, dispatchingQueue(v, s)),
	})
}
