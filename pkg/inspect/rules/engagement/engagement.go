// Package engagement has the rules about delegations that never begin.
package engagement

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Rules returns JM012 to JM018, without JM014.
func Rules() []view.Rule {
	return []view.Rule{
		managedByMissing(), notDispatched(), kindHasNoAdapter(), customJobsGateOff(), noWorkload(), managerIsItsWorker(),
	}
}

func notDispatched() view.Rule {
	return view.Rule{
		Code: "JM013", Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartKueue, inspect.PartWorkloads, inspect.PartChecks, inspect.PartQueues,
		},
		Detect: func(v *view.View) {
			for _, s := range v.Submissions() {
				if s.Job().ManagedBy != delegation.MultiKueue || s.Job().MultiKueueOrigin() != "" || !s.IsLive() {
					continue
				}
				if s.Workload == nil {
					reportUnqueued(v, s)
				} else {
					reportOnManager(v, s)
				}
			}
		},
	}
}

// isDispatchedInstead reports whether the command dispatch dispatched a Job
// instead of MultiKueue.
func isDispatchedInstead(p inspect.Pair) bool {
	return !p.Origin.Pinned().IsZero() || view.DispatchedMirror(p) != nil
}

// reportUnqueued reports a Job that Kueue ignores.
func reportUnqueued(v *view.View, s view.Submission) {
	j := s.Job()
	has, known := v.HasKueue(s.Manager)
	isIgnored := j.Status == delegation.Unclaimed && s.WorkloadKnown || !s.WorkloadKnown && j.IsSurelyIgnored()
	if !isIgnored || !known || isDispatchedInstead(s.Pair) {
		return
	}
	sighting := view.Sighting{Object: view.Of(j), Since: j.CreationTimestamp.Time, Jobs: []*inspect.Job{j}}
	switch {
	case !has:
		sighting.Message = fmt.Sprintf("Kueue is not installed on %s: nothing dispatches it", j.Context)
		sighting.Evidence = []string{quote.NeverWritten(j), j.Context + ": kueue.x-k8s.io is not served"}
		sighting.Remedy = command.Say("to run it on %s, %s; or submit it to a cluster that has Kueue", j.Context, advice.Disown(v, j))
		sighting.Cause = "no Kueue on " + j.Context
	case j.Queue() == "":
		sighting.Message = "ignored by Kueue: no queue label"
		sighting.Evidence = []string{quote.NeverWritten(j), fmt.Sprintf("%s: %s has no label %s", j.Context, view.Of(j).String(), delegation.QueueNameLabel)}
		sighting.Remedy = joinQueue(v, s)
	default:
		// Kueue knows the Job but created no Workload: JM017.
		return
	}
	v.Report(sighting)
}

// joinQueue returns how to put a Job into a LocalQueue that uses MultiKueue. Kueue
// ignores the queue label of a Job that was ever unsuspended, so the Job must be
// recreated.
func joinQueue(v *view.View, s view.Submission) command.Prose {
	j, name := s.Job(), advice.DispatchingQueue(v, s)
	open := advice.OpenQueue(v, s, name)
	queue, label := v.QueueBehind(s.Manager, j.Namespace, name), fmt.Sprintf("label %s=%s", delegation.QueueNameLabel, name)
	which := ""
	switch {
	case name == advice.QueuePlaceholder:
		which = fmt.Sprintf("; %s is one of namespace %s whose ClusterQueue has a MultiKueue check", name, j.Namespace)
	case queue != nil && !advice.MayCover(queue, j):
		return afterOpening(open, advice.CreateAgainWith(j, "with "+label+" and a request for "+resourcesOf(queue)))
	case queue != nil && j.Requests == nil && len(queue.Covered()) > 0:
		which = fmt.Sprintf("; its Pods must request %s", resourcesOf(queue))
	}
	if advice.CanRecreate(j, delegation.MultiKueue) {
		object := "it"
		if open != "" {
			object = "the " + j.Kind
		}
		return afterOpening(open, command.Say("recreate %s with a queue label: %s%s", object, advice.RecreateIn(v, j, delegation.MultiKueue, name), which))
	}
	return afterOpening(open, command.Say("%s%s", advice.CreateAgainWith(j, "with "+label), which))
}

// afterOpening returns a step that uses a LocalQueue, after the step that creates it on a worker: "" if no
// such step is necessary.
func afterOpening(open, step command.Prose) command.Prose {
	if open != "" {
		return command.Say("%s, and then %s", open, step)
	}
	return step
}

// resourcesOf returns the resources that a ClusterQueue covers, for a sentence.
func resourcesOf(q *kueue.ClusterQueue) string { return strings.Join(q.Covered(), " or ") }

// reportOnManager reports a Job that Kueue admitted on its own cluster, or would admit there: its ClusterQueue has no
// MultiKueue check, or gives the Job no flavor. No controller runs it there.
func reportOnManager(v *view.View, s view.Submission) {
	j, w := s.Job(), s.Workload
	q := queueOf(v, s)
	if q == nil || isDispatched(s) {
		return
	}
	is, known := v.QueueDispatches(s.Manager, q)
	if !known || hasUnserved(v, s.Manager, q) {
		return
	}
	isAdmitted := view.IsTrue(w.Condition(kueue.Admitted)) && w.Status.Admission != nil
	switch {
	case !is && isAdmitted:
		reportAdmittedHere(v, s, fmt.Sprintf("ClusterQueue %s has no MultiKueue check: Kueue admitted it on %s, where nothing runs it", q.Name, j.Context), runOnWorker(v, s, q))
	case !is && w.IsActive():
		reportQueuedHere(v, s, q)
	case is && isAdmitted && !w.Status.Admission.HasFlavor() && len(w.Status.AdmissionChecks) == 0:
		reportAdmittedHere(v, s, fmt.Sprintf("requests nothing that ClusterQueue %s covers (%s), so Kueue on %s admitted it without MultiKueue, and no controller runs it",
			q.Name, strings.Join(q.Covered(), ", "), j.Context),
			command.Say("%s; or to run it on %s, %s", advice.CreateAgainWith(j, "with a request for "+resourcesOf(q)), j.Context, advice.Disown(v, j)))
	}
}

// isDispatched reports whether MultiKueue has a submission, or had it when it started.
func isDispatched(s view.Submission) bool {
	return s.Check != nil || s.Chosen() != "" || view.HasStarted(s.Job())
}

// queueOf returns the ClusterQueue that has reserved quota for a submission or, before, that of its LocalQueue; nil if
// unknown.
func queueOf(v *view.View, s view.Submission) *kueue.ClusterQueue {
	if admission := s.Workload.Status.Admission; admission != nil {
		q, _ := v.ClusterQueue(s.Manager, admission.ClusterQueue)
		return q
	}
	return v.QueueBehind(s.Manager, s.Workload.Namespace, s.Workload.Spec.QueueName)
}

// hasUnserved reports whether a ClusterQueue names a check that no controller has picked up: JM008 reports it, and its
// controller may be a mistyped MultiKueue.
func hasUnserved(v *view.View, f *inspect.Facts, q *kueue.ClusterQueue) bool {
	return slices.ContainsFunc(q.Checks(), func(name string) bool {
		c, _ := v.Check(f, name)
		return c != nil && !c.IsServed()
	})
}

// reportAdmittedHere reports a Job that Kueue admitted on its own cluster.
func reportAdmittedHere(v *view.View, s view.Submission, message string, remedy command.Prose) {
	j, w, admitted := s.Job(), s.Workload, s.Workload.Condition(kueue.Admitted)
	evidence := fmt.Sprintf("%s: condition Admitted of Workload %s/%s is True since %s, without admission checks and without clusterName",
		j.Context, w.Namespace, w.Name, quote.Time(admitted.LastTransitionTime))
	if len(w.Status.AdmissionChecks) > 0 {
		evidence = strings.Replace(evidence, "without admission checks and", "without a check of MultiKueue and", 1)
	}
	v.Report(view.Sighting{
		Object: view.Of(j), Since: admitted.LastTransitionTime.Time, Jobs: []*inspect.Job{j},
		Message: message, Remedy: remedy, Evidence: []string{quote.Owner(j), evidence},
	})
}

// reportQueuedHere reports a Job that Kueue would admit on its own cluster. Quota there, a queue that is open, or another
// check would not help the Job: JM019 is about these.
func reportQueuedHere(v *view.View, s view.Submission, q *kueue.ClusterQueue) {
	j, w := s.Job(), s.Workload
	v.Report(view.Sighting{
		Object: view.Of(j), Since: w.CreationTimestamp.Time, Jobs: []*inspect.Job{j}, Covers: []string{"JM019"},
		Message: fmt.Sprintf("ClusterQueue %s has no MultiKueue check: Kueue would admit it on %s, where nothing runs it", q.Name, j.Context),
		Evidence: []string{
			quote.Owner(j), fmt.Sprintf("%s: spec.queueName of Workload %s/%s is %s", j.Context, w.Namespace, w.Name, w.Spec.QueueName),
			fmt.Sprintf("%s: no AdmissionCheck of ClusterQueue %s is one of MultiKueue", j.Context, q.Name),
		},
		Remedy: runOnWorker(v, s, q),
	})
}

// runOnWorker returns how to run a Job that Kueue admits on the manager. Another queue comes first, because that
// changes only the Job. The queue of a Workload cannot change while it has quota (kueue:
// pkg/webhooks/workload_webhook.go). A check of its own ClusterQueue is a way only if it helps the Job and stops no others.
func runOnWorker(v *view.View, s view.Submission, q *kueue.ClusterQueue) command.Prose {
	j, queue := s.Job(), advice.DispatchingQueue(v, s)
	var ways []command.Prose
	if queue != advice.QueuePlaceholder {
		use := advice.CreateAgainWith(j, "with label "+delegation.QueueNameLabel+"="+queue)
		if j.Suspended && !s.HasQuota() {
			use = advice.UseQueue(v, s, queue)
		}
		ways = append(ways, afterOpening(advice.OpenQueue(v, s, queue), use))
	}
	if v.MayDispatch(s.Manager, j.Namespace, s.Workload.Spec.QueueName) && !v.HasOtherWorkloads(s.Manager, q) {
		ways = append(ways, advice.AddMultiKueueCheck(v, s.Manager, q))
	}
	return command.Join(append(ways, command.Say("to run it on %s, %s", j.Context, advice.Disown(v, j))), "; or ")
}
