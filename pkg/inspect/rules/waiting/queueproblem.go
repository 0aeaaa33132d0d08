package waiting

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// findQueueProblem returns the problem of the queue that holds a Workload on a
// cluster. It returns false if Kueue's message is outdated or is not about a
// queue. like is the name of the ClusterQueue that a missing LocalQueue
// should point to, if it exists.
func findQueueProblem(v *view.View, f *inspect.Facts, w *kueue.Workload, wait *kueue.Wait, like string) (queueProblem, bool) {
	c := wait.Condition
	t := queueProblem{since: c.LastTransitionTime.Time, evidence: []string{quote.WorkloadCondition(f, w, c)}}
	t.remedy = command.Alternatives(wait.Fixes(advice.FixTargetOf(v, f, w, wait, like)))
	switch wait.Reason {
	case kueue.ReasonLocalQueueMissing:
		return missingLocalQueue(v, t, f, w)
	case kueue.ReasonClusterQueueMissing:
		return missingClusterQueue(v, t, f, v.ClusterQueueOf(f, w, wait))
	case kueue.ReasonLocalQueueStopped, kueue.ReasonClusterQueueInactive:
		return findStopped(v, t, f, w, wait)
	case kueue.ReasonNamespaceExcluded:
		return excludedNamespace(v, t, f, w, wait)
	default:
		return queueProblem{}, false
	}
}

func missingLocalQueue(v *view.View, t queueProblem, f *inspect.Facts, w *kueue.Workload) (queueProblem, bool) {
	name := w.Spec.QueueName
	queue, known := v.LocalQueue(f, w.Namespace, name)
	t.object = view.OfKueue(f, "LocalQueue", w.Namespace, name)
	switch {
	case queue != nil && queue.DeletionTimestamp == nil:
		// Kueue is about to notice the queue.
		return t, false
	case queue != nil:
		t.what = "is being deleted"
	default:
		t.what = "does not exist"
	}
	if known && queue == nil {
		t.evidence = append(t.evidence, fmt.Sprintf("%s: there is no %s", f.Context, t.object.String()))
	}
	return t, true
}

func missingClusterQueue(v *view.View, t queueProblem, f *inspect.Facts, name string) (queueProblem, bool) {
	if name == "" {
		return t, false
	}
	queue, known := v.ClusterQueue(f, name)
	if queue != nil && queue.DeletionTimestamp == nil {
		return t, false
	}
	t.object, t.what = view.OfKueue(f, "ClusterQueue", "", name), "does not exist"
	switch {
	case queue != nil:
		t.what = "is being deleted"
	case known:
		t.evidence = append(t.evidence, fmt.Sprintf("%s: there is no ClusterQueue %s", f.Context, name))
	}
	return t, true
}

// findStopped finds which queue has stopped, and whether a user stopped it.
func findStopped(v *view.View, t queueProblem, f *inspect.Facts, w *kueue.Workload, wait *kueue.Wait) (queueProblem, bool) {
	local, known := v.LocalQueue(f, w.Namespace, w.Spec.QueueName)
	if local != nil && kueue.IsStopped(local.Spec.StopPolicy) {
		t.object = view.OfKueue(f, "LocalQueue", w.Namespace, local.Name)
		return stoppedByPolicy(t, local.Spec.StopPolicy, local.Status.Conditions), true
	}
	name := v.ClusterQueueOf(f, w, wait)
	if name == "" || known && local == nil {
		return t, false
	}
	t.object = view.OfKueue(f, "ClusterQueue", "", name)
	queue, known := v.ClusterQueue(f, name)
	if known && queue == nil {
		return t, false
	}
	t.what = "is not active"
	if queue == nil {
		return t, true
	}
	if kueue.IsStopped(queue.Spec.StopPolicy) {
		return stoppedByPolicy(t, queue.Spec.StopPolicy, queue.Status.Conditions), true
	}
	active := meta.FindStatusCondition(queue.Status.Conditions, kueue.Active)
	if active == nil || active.Status == metav1.ConditionTrue {
		// Kueue is about to notice that the queue was started.
		return t, false
	}
	t.what, t.since = "is not active ("+active.Reason+")", view.Latest(t.since, active.LastTransitionTime.Time)
	t.evidence = append(t.evidence, quote.Condition(t.object, active))
	return t, true
}

// stoppedByPolicy completes the problem of a queue that a user stopped. It began when the queue
// became inactive: a Workload that waited before keeps the time of its condition.
func stoppedByPolicy(t queueProblem, policy string, conditions []metav1.Condition) queueProblem {
	o := t.object
	if active := meta.FindStatusCondition(conditions, kueue.Active); view.IsFalse(active) {
		t.since = view.Latest(t.since, active.LastTransitionTime.Time)
		t.evidence = append(t.evidence, quote.Condition(o, active))
	}
	t.what, t.isIntended = "is stopped", true
	t.evidence = append(t.evidence, fmt.Sprintf("%s: spec.stopPolicy of %s is %s", o.Context, o.String(), policy))
	return t
}

func excludedNamespace(v *view.View, t queueProblem, f *inspect.Facts, w *kueue.Workload, wait *kueue.Wait) (queueProblem, bool) {
	name := v.ClusterQueueOf(f, w, wait)
	if name == "" {
		return t, false
	}
	t.object = view.OfKueue(f, "ClusterQueue", "", name)
	t.what = "excludes namespace " + w.Namespace + " (namespaceSelector)"
	queue, _ := v.ClusterQueue(f, name)
	if queue == nil {
		return t, true
	}
	if active := meta.FindStatusCondition(queue.Status.Conditions, kueue.Active); active != nil {
		// Before that, another problem held the Workload.
		t.since = view.Latest(t.since, active.LastTransitionTime.Time)
	}
	namespace, _ := v.Namespace(f, w.Namespace)
	selector := queue.Spec.NamespaceSelector
	if view.IsSelected(selector, namespace) {
		// Kueue is about to notice that the selector was widened.
		return t, false
	}
	if selector == nil {
		t.evidence = append(t.evidence, fmt.Sprintf("%s: ClusterQueue %s has no spec.namespaceSelector, which matches no namespace", f.Context, name))
		return t, true
	}
	t.evidence = append(t.evidence, fmt.Sprintf("%s: spec.namespaceSelector of ClusterQueue %s is %s", f.Context, name, metav1.FormatLabelSelector(selector)))
	if namespace != nil {
		t.evidence = append(t.evidence, fmt.Sprintf("%s: the labels of Namespace %s are %s", f.Context, w.Namespace,
			cmp.Or(labels.Set(namespace.Labels).String(), "<none>")))
	}
	return t, true
}
