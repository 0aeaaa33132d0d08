package rules

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func heldOnManager() Rule {
	return Rule{
		Code: "JM019", Title: "held in its queue on the management cluster", Severity: inspect.Error,
		Holds: "no Job is held in its queue on the management cluster",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartQueues, inspect.PartNamespaces,
			inspect.PartClusters, inspect.PartSecrets, inspect.PartEvents,
		},
		Why: `A Job goes to no worker before its management cluster has reserved quota for it. That cluster holds it
back: the queue that it names does not exist, is stopped or does not select its namespace, or its ClusterQueue has no
quota for it. If other Jobs use the quota, the Job only has to wait. The rest ends only by a change.`,
		Shows: `The Workload of the Job has QuotaReserved=False with reason Misconfigured, Suspended, WaitingForQuota,
ExceedsMaxQuota or NoMatchingFlavor (before Kueue 0.19 Inadmissible or Pending), and a message that names the queue.
The Job is suspended and no cluster is nominated.`,
		Remedy: `Create or resume the queue, raise its quota, correct its flavors, or submit the Job to another queue. A Job that was created
without managedBy because its queue did not exist has to be created again: the field is set at creation only. The
same goes for a Job that has to request less: its Pod template cannot be changed in place.`,
		Link:   "https://kueue.sigs.k8s.io/docs/tasks/troubleshooting/troubleshooting_jobs/",
		Detect: detectHeldOnManager,
	}
}

func detectHeldOnManager(v *View) {
	var sightings []Sighting
	for _, s := range v.Submissions() {
		if s.Workload == nil || s.IsFinished() || !isQueued(s) || s.Check != nil && s.Check.State != kueue.CheckPending {
			continue
		}
		wait, held := holdOf(s.Workload)
		if !held || !v.concernsMultiKueue(s) {
			continue
		}
		if sighting, ok := v.heldOnManager(s, &wait); ok {
			sightings = append(sightings, sighting)
		}
	}
	reportWorstFirst(v, sightings)
}

// concernsMultiKueue is false for a Job that waits in a queue of its own cluster,
// which is that queue's own matter. A queue that does not exist could have led
// anywhere.
func (v *View) concernsMultiKueue(s Submission) bool {
	if s.Job().ManagedBy == delegation.MultiKueue {
		return true
	}
	dispatched, known := v.isDispatched(s.Manager, s.Workload.Namespace, s.Workload.Spec.QueueName)
	_, readable := v.LocalQueues(s.Manager, s.Workload.Namespace)
	return dispatched || !known && readable
}

func (v *View) heldOnManager(s Submission, wait *kueue.Wait) (Sighting, bool) {
	j, f, c := s.Job(), s.Manager, wait.Condition
	sighting := Sighting{
		Object: Of(j), Since: c.LastTransitionTime.Time, Jobs: []*inspect.Job{j},
		Evidence: []string{conditionOf(f, s.Workload, c)}, Remedy: v.fixes(f, s.Workload, wait), Message: wait.Text(),
	}
	switch {
	case wait.Reason == kueue.ReasonQuotaInUse:
		v.waitsForRoom(&sighting, s, wait)
	case wait.Reason == kueue.ReasonAdmissionGated:
		// That is meant, and said where it was asked for.
		return sighting, false
	case isHeldOtherwise(wait):
		sighting.Severity = severityOf(wait)
	case wait.IsForQueue():
		return v.heldByQueue(sighting, s, wait)
	default:
		v.cannotTakeHere(&sighting, s, wait)
	}
	return sighting, true
}

// cannotTakeHere completes the sighting of a Job that the quota or the flavors of its
// ClusterQueue on the manager do not suit. If a flavor is at fault, all Jobs of the queue are
// one finding.
func (v *View) cannotTakeHere(sighting *Sighting, s Submission, wait *kueue.Wait) {
	f, queue := s.Manager, v.clusterQueueOf(s.Manager, s.Workload, wait)
	sighting.Message = fmt.Sprintf("does not fit ClusterQueue %s on %s: %s", queue, f.Context, wait.Text())
	if !wait.IsForGood() {
		sighting.Severity = inspect.Warning
	}
	if wait.Reason != kueue.ReasonNoTopology && wait.Reason != kueue.ReasonFlavorMissing {
		return
	}
	sighting.Object = OfKueue(f, "ClusterQueue", "", queue)
	sighting.Cause = strings.Join([]string{f.Context, queue, wait.Text(), s.Job().Kind}, " ")
	sighting.Message = fmt.Sprintf("ClusterQueue %s on %s cannot take its %s: %s", queue, f.Context, plural(s.Job()), wait.Text())
}

// heldByQueue completes the sighting of a Job whose queue on the manager is at fault. It is
// not ok if Kueue's message is outdated, or another rule reports the queue.
func (v *View) heldByQueue(sighting Sighting, s Submission, wait *kueue.Wait) (Sighting, bool) {
	f := s.Manager
	t, ok := v.trouble(f, s.Workload, wait, "")
	if !ok || v.isTold(f, t) {
		return sighting, false
	}
	sighting.Object, sighting.Cause, sighting.Evidence, sighting.Remedy = t.object, named(t.object)+" "+f.Context, t.evidence, t.remedy
	sighting.Message = fmt.Sprintf("%s %s on %s", named(t.object), t.what, f.Context)
	if t.isMeant {
		sighting.Severity = inspect.Warning
	}
	if wait.Reason == kueue.ReasonLocalQueueMissing {
		sighting.Remedy = v.useAnotherQueue(s, t)
	}
	return sighting, true
}

// waitsForRoom tells of a Job that only has to wait; however many wait in a
// ClusterQueue, it is one finding.
func (v *View) waitsForRoom(sighting *Sighting, s Submission, wait *kueue.Wait) {
	f := s.Manager
	queue := v.clusterQueueOf(f, s.Workload, wait)
	sighting.Severity = inspect.Info
	if p, ok := v.preempted(s); ok {
		sighting.Message = fmt.Sprintf("%s; waits for quota again in ClusterQueue %s", p.text, queue)
		sighting.Evidence = append(sighting.Evidence, p.evidence)
		return
	}
	if queue != "" {
		sighting.Object, sighting.Cause = OfKueue(f, "ClusterQueue", "", queue), f.Context+" room "+queue+" "+s.Job().Kind
	}
	sighting.Message = fmt.Sprintf("%s wait for quota in ClusterQueue %s of %s", plural(s.Job()), queue, f.Context)
}

// isTold says whether a ClusterQueue is inactive because of its AdmissionChecks,
// which JM008 and JM009 tell of.
func (v *View) isTold(f *inspect.Facts, t trouble) bool {
	if t.object.Kind != "ClusterQueue" || t.isMeant {
		return false
	}
	queue, _ := v.ClusterQueue(f, t.object.Name)
	if queue == nil {
		return false
	}
	active := meta.FindStatusCondition(queue.Status.Conditions, kueue.Active)
	return active != nil && slices.Contains(toldOfQueues(), active.Reason)
}

// useAnotherQueue is what to do about a Job that names a queue which is not there.
func (v *View) useAnotherQueue(s Submission, missing trouble) command.Prose {
	j := s.Job()
	other := dispatchingQueue(v, s)
	switch {
	case other == someQueue:
		return missing.remedy
	case j.ManagedBy == delegation.MultiKueue:
		return kubectlFor(j, "label").With("--overwrite", delegation.QueueNameLabel+"="+other).Prose()
	case mayRecreate(j, delegation.MultiKueue):
		// Only at creation Kueue gives a Job to MultiKueue.
		return recreate(j, delegation.MultiKueue).With("--queue", other).Prose()
	}
	return command.Say("%s, and create it again with the label %s=%s: only at creation Kueue gives a %s to MultiKueue",
		deleteJob(j), delegation.QueueNameLabel, other, j.Kind)
}
