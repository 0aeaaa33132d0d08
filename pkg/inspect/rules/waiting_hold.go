package rules

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// holdOf returns why a cluster's Kueue reserves no quota for a Workload. It is not ok if
// the Workload has quota, is not to run, or was not judged yet.
func holdOf(w *kueue.Workload) (wait kueue.Wait, ok bool) {
	wait = w.Waiting()
	isHeld := wait.IsForQuota() || wait.IsForQueue() || isHeldOtherwise(&wait)
	return wait, isHeld && wait.Condition != nil && !w.Is(kueue.QuotaReserved)
}

// isHeldOtherwise returns whether a Workload waits for something else than its queue and
// quota, which JM116 reports.
func isHeldOtherwise(w *kueue.Wait) bool {
	switch w.Reason {
	case kueue.ReasonPreempting, kueue.ReasonPodsNotReady, kueue.ReasonAdmissionGated, kueue.ReasonOnHold,
		kueue.ReasonMisconfigured, kueue.ReasonDevicesUnresolved, kueue.ReasonInadmissible:
		return true
	default:
		return false
	}
}

// site returns what the fixes of a Workload's wait on a cluster depend on. like is the
// ClusterQueue for a LocalQueue that is missing, if there is one of that name.
func (v *View) site(f *inspect.Facts, w *kueue.Workload, wait *kueue.Wait, like string) kueue.Site {
	at := kueue.Site{Context: f.Context, Workload: w, Version: f.Kueue.Version, Topology: f.Kueue.Capacity.Topology()}
	at.LocalQueue, _ = v.LocalQueue(f, w.Namespace, w.Spec.QueueName)
	name := v.clusterQueueOf(f, w, wait)
	if name == "" {
		name = like
	}
	at.ClusterQueue, _ = v.ClusterQueue(f, name)
	if queues, _ := v.ClusterQueues(f); at.ClusterQueue == nil && wait.Reason == kueue.ReasonLocalQueueMissing && len(queues) == 1 {
		at.ClusterQueue = queues[0]
	}
	return at
}

// clusterQueueOf is the name of the ClusterQueue that a Workload waits in, "" if
// neither its LocalQueue nor Kueue's message tells.
func (v *View) clusterQueueOf(f *inspect.Facts, w *kueue.Workload, wait *kueue.Wait) string {
	if local, _ := v.LocalQueue(f, w.Namespace, w.Spec.QueueName); local != nil {
		return local.Spec.ClusterQueue
	}
	if wait.Reason == kueue.ReasonClusterQueueMissing || wait.Reason == kueue.ReasonClusterQueueInactive {
		return wait.Queue
	}
	return ""
}

// fixes returns how to end a Workload's wait on a cluster. It reads queues only if the wait
// is about them.
func (v *View) fixes(f *inspect.Facts, w *kueue.Workload, wait *kueue.Wait) command.Prose {
	if isHeldOtherwise(wait) || !wait.IsForQuota() && !wait.IsForQueue() {
		return command.Alternatives(wait.Fixes(kueue.Site{Context: f.Context, Workload: w}))
	}
	return command.Alternatives(wait.Fixes(v.site(f, w, wait, "")))
}

// trouble is what is wrong with a queue that a Workload waits in.
type trouble struct {
	object Object
	// what is wrong with the object, in words that follow its name.
	what     string
	since    time.Time
	evidence []string
	remedy   command.Prose
	// isMeant is whether somebody has asked for it.
	isMeant bool
}

// reportHeld reports what holds the copies of those that wait for workers, as far
// as it is for one of these reasons.
func reportHeld(v *View, reasons ...kueue.WaitReason) {
	var sightings []Sighting
	for w := range v.untaken() {
		var troubles []trouble
		for _, o := range w.copies {
			if t, ok := v.troubleOf(w, o, reasons); ok {
				troubles = append(troubles, t)
			}
		}
		for _, those := range grouped(troubles, func(t trouble) string { return named(t.object) }) {
			sightings = append(sightings, heldOnWorkers(w, those.key, those.values))
		}
	}
	reportWorstFirst(v, sightings)
}

func (v *View) troubleOf(w *waiter, o Copy, reasons []kueue.WaitReason) (trouble, bool) {
	wait, ok := holdOf(o.Workload)
	if !ok || !slices.Contains(reasons, wait.Reason) {
		return trouble{}, false
	}
	like := ""
	if w.Workload.Status.Admission != nil {
		like = w.Workload.Status.Admission.ClusterQueue
	}
	return v.trouble(o.Worker, o.Workload, &wait, like)
}

// heldOnWorkers is the sighting of one trouble on several workers.
func heldOnWorkers(w *waiter, key string, troubles []trouble) Sighting {
	var contexts, evidence []string
	var remedies []command.Prose
	for _, t := range troubles {
		contexts = append(contexts, t.object.Context)
		evidence = append(evidence, t.evidence...)
		remedies = append(remedies, t.remedy)
	}
	first := troubles[0]
	s := Sighting{
		Object: first.object, Since: first.since, Evidence: evidence, Remedy: command.Join(remedies, "; "),
		Message: fmt.Sprintf("%s %s on %s", key, first.what, strings.Join(contexts, ", ")),
		Jobs:    []*inspect.Job{w.Job()}, Cause: w.Manager.Context + " " + key, Severity: inspect.Warning,
	}
	if w.isStuck() {
		s.Severity, s.Message = inspect.Error, s.Message+", and no other worker can take the "+w.Job().Kind
	}
	return s
}

// reportWorstFirst reports sightings so that where several become one finding, the
// worst gives it its severity.
func reportWorstFirst(v *View, sightings []Sighting) {
	slices.SortStableFunc(sightings, func(a, b Sighting) int { return a.Severity.Compare(b.Severity) })
	for _, s := range sightings {
		v.Report(s)
	}
}

// conditionText quotes a condition of an object.
func conditionText(o Object, c *metav1.Condition) string {
	text := fmt.Sprintf("%s: condition %s of %s is %s since %s", o.Context, c.Type, named(o), c.Status, stamp(c.LastTransitionTime))
	if c.Reason != "" {
		text += ", " + c.Reason
	}
	if c.Message != "" {
		text += ": " + c.Message
	}
	return text
}

func workloadObject(f *inspect.Facts, w *kueue.Workload) Object {
	return OfKueue(f, "Workload", w.Namespace, w.Name)
}
