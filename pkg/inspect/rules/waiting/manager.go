package waiting

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func heldOnManager() view.Rule {
	return view.Rule{
		Code: "JM019", Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartQueues, inspect.PartNamespaces,
			inspect.PartClusters, inspect.PartSecrets, inspect.PartEvents,
		},
		Detect: detectHeldOnManager,
	}
}

func detectHeldOnManager(v *view.View) {
	for _, s := range v.Submissions() {
		if s.Workload == nil || s.IsFinished() || !isQueued(s) || s.Check != nil && s.Check.State != kueue.CheckPending {
			continue
		}
		wait, held := view.HoldOf(s.Workload)
		if !held || !v.ConcernsMultiKueue(s) {
			continue
		}
		if sighting, ok := describeHeld(v, s, &wait); ok {
			v.Report(sighting)
		}
	}
}

func describeHeld(v *view.View, s view.Submission, wait *kueue.Wait) (view.Sighting, bool) {
	j, f, c := s.Job(), s.Manager, wait.Condition
	sighting := view.Sighting{
		Object: view.Of(j), Since: c.LastTransitionTime.Time, Jobs: []*inspect.Job{j},
		Evidence: []string{quote.WorkloadCondition(f, s.Workload, c)}, Remedy: advice.EndWait(v, j, f, s.Workload, wait), Message: wait.Text(),
	}
	switch {
	case wait.Reason == kueue.ReasonQuotaInUse:
		describeQuotaWait(v, &sighting, s, wait)
	case view.IsHeldOtherwise(wait):
		sighting.Severity = severityOf(wait)
	case wait.IsForQueue():
		return heldByQueue(v, sighting, s, wait)
	default:
		describeMisfit(v, &sighting, s, wait)
	}
	return sighting, true
}

// describeMisfit completes the sighting of a Job that the quota or the flavors of its
// ClusterQueue on the manager do not suit. If a flavor is at fault, all Jobs of the queue are
// one finding.
func describeMisfit(v *view.View, sighting *view.Sighting, s view.Submission, wait *kueue.Wait) {
	f, queue := s.Manager, v.ClusterQueueOf(s.Manager, s.Workload, wait)
	sighting.Message = fmt.Sprintf("does not fit %s on %s: %s", queueNamed(queue), f.Context, wait.Text())
	if !wait.IsPermanent() {
		sighting.Severity = inspect.Warning
	}
	if queue == "" || wait.Reason != kueue.ReasonNoTopology && wait.Reason != kueue.ReasonFlavorMissing {
		return
	}
	sighting.Object = view.OfKueue(f, "ClusterQueue", "", queue)
	sighting.Cause = strings.Join([]string{f.Context, queue, wait.Text(), s.Job().Kind}, " ")
	sighting.Message = fmt.Sprintf("ClusterQueue %s on %s cannot admit its %s: %s", queue, f.Context, quote.Plural(s.Job()), wait.Text())
}

// heldByQueue completes the sighting of a Job whose queue on the manager is at fault. It is
// not ok if Kueue's message is outdated, or another rule reports the queue.
func heldByQueue(v *view.View, sighting view.Sighting, s view.Submission, wait *kueue.Wait) (view.Sighting, bool) {
	f := s.Manager
	t, ok := findQueueProblem(v, f, s.Workload, wait, "")
	if !ok || isReportedByChainRules(v, f, t) {
		return sighting, false
	}
	sighting.Object, sighting.Cause, sighting.Evidence, sighting.Remedy = t.object, t.object.String()+" "+f.Context, t.evidence, t.remedy
	sighting.Message = fmt.Sprintf("%s %s on %s", t.object.String(), t.what, f.Context)
	if t.isIntended {
		sighting.Severity = inspect.Warning
	}
	if wait.Reason == kueue.ReasonLocalQueueMissing {
		meant, remedy := advice.ReplaceQueue(v, s)
		if sighting.Remedy = remedy; meant != "" {
			sighting.Message += fmt.Sprintf("; did you mean %s?", meant)
		}
	}
	return sighting, true
}

// describeQuotaWait completes the sighting of a Job that only waits for quota. All
// Jobs that wait in one ClusterQueue are one finding.
func describeQuotaWait(v *view.View, sighting *view.Sighting, s view.Submission, wait *kueue.Wait) {
	f := s.Manager
	queue := v.ClusterQueueOf(f, s.Workload, wait)
	sighting.Severity = inspect.Info
	if p, ok := quote.LastPreemption(v, s); ok {
		sighting.Message = fmt.Sprintf("%s; waits for quota again in %s", p.Details, queueNamed(queue))
		sighting.Evidence, sighting.Preempted = append(sighting.Evidence, p.Evidence), &p.Preemption
		return
	}
	if queue == "" {
		sighting.Message = fmt.Sprintf("waits for quota in %s on %s", queueNamed(queue), f.Context)
		return
	}
	sighting.Object, sighting.Cause = view.OfKueue(f, "ClusterQueue", "", queue), f.Context+" room "+queue+" "+s.Job().Kind
	sighting.Message = fmt.Sprintf("%s wait for quota in ClusterQueue %s of %s", quote.Plural(s.Job()), queue, f.Context)
}

// queueNamed names the ClusterQueue of a Job in a sentence. The name is "" if its LocalQueue was not read.
func queueNamed(queue string) string {
	if queue == "" {
		return "its ClusterQueue"
	}
	return "ClusterQueue " + queue
}

// isReportedByChainRules reports whether a ClusterQueue is inactive because of its
// AdmissionChecks, which JM008 and JM009 report.
func isReportedByChainRules(v *view.View, f *inspect.Facts, t queueProblem) bool {
	if t.object.Kind != "ClusterQueue" || t.isIntended {
		return false
	}
	queue, _ := v.ClusterQueue(f, t.object.Name)
	if queue == nil {
		return false
	}
	active := meta.FindStatusCondition(queue.Status.Conditions, kueue.Active)
	return active != nil && slices.Contains(view.ChainReasons(), active.Reason)
}
