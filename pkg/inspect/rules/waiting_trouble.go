package rules

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// trouble finds out what is wrong with the queue that holds a Workload on a
// cluster; not ok if Kueue's message is outdated, or about something else than a queue.
// like is the ClusterQueue that a missing LocalQueue should lead to, if there is one of
// that name.
func (v *View) trouble(f *inspect.Facts, w *kueue.Workload, wait *kueue.Wait, like string) (trouble, bool) {
	c := wait.Condition
	t := trouble{since: c.LastTransitionTime.Time, evidence: []string{conditionOf(f, w, c)}}
	t.remedy = command.Alternatives(wait.Fixes(v.site(f, w, wait, like)))
	switch wait.Reason {
	case kueue.ReasonLocalQueueMissing:
		return v.missingLocalQueue(t, f, w)
	case kueue.ReasonClusterQueueMissing:
		return v.missingClusterQueue(t, f, v.clusterQueueOf(f, w, wait))
	case kueue.ReasonLocalQueueStopped, kueue.ReasonClusterQueueInactive:
		return v.stoppedQueue(t, f, w, wait)
	case kueue.ReasonNamespaceExcluded:
		return v.excludedNamespace(t, f, w, wait)
	default:
		return trouble{}, false
	}
}

func (v *View) missingLocalQueue(t trouble, f *inspect.Facts, w *kueue.Workload) (trouble, bool) {
	name := w.Spec.QueueName
	queue, known := v.LocalQueue(f, w.Namespace, name)
	t.object = OfKueue(f, "LocalQueue", w.Namespace, name)
	switch {
	case queue != nil && queue.DeletionTimestamp == nil:
		// Kueue is about to see it.
		return t, false
	case queue != nil:
		t.what = "is being deleted"
	default:
		t.what = "does not exist"
	}
	if known && queue == nil {
		t.evidence = append(t.evidence, fmt.Sprintf("%s: there is no %s", f.Context, named(t.object)))
	}
	return t, true
}

func (v *View) missingClusterQueue(t trouble, f *inspect.Facts, name string) (trouble, bool) {
	if name == "" {
		return t, false
	}
	queue, known := v.ClusterQueue(f, name)
	if queue != nil && queue.DeletionTimestamp == nil {
		return t, false
	}
	t.object, t.what = OfKueue(f, "ClusterQueue", "", name), "does not exist"
	switch {
	case queue != nil:
		t.what = "is being deleted"
	case known:
		t.evidence = append(t.evidence, fmt.Sprintf("%s: there is no ClusterQueue %s", f.Context, name))
	}
	return t, true
}

// stoppedQueue finds out which queue has stopped, and whether somebody wanted
// that.
func (v *View) stoppedQueue(t trouble, f *inspect.Facts, w *kueue.Workload, wait *kueue.Wait) (trouble, bool) {
	local, known := v.LocalQueue(f, w.Namespace, w.Spec.QueueName)
	if local != nil && kueue.IsStopped(local.Spec.StopPolicy) {
		t.object = OfKueue(f, "LocalQueue", w.Namespace, local.Name)
		return stoppedByPolicy(t, local.Spec.StopPolicy), true
	}
	name := v.clusterQueueOf(f, w, wait)
	if name == "" || known && local == nil {
		return t, false
	}
	t.object = OfKueue(f, "ClusterQueue", "", name)
	queue, known := v.ClusterQueue(f, name)
	if known && queue == nil {
		return t, false
	}
	t.what = "is not active"
	if queue == nil {
		return t, true
	}
	if kueue.IsStopped(queue.Spec.StopPolicy) {
		return stoppedByPolicy(t, queue.Spec.StopPolicy), true
	}
	active := meta.FindStatusCondition(queue.Status.Conditions, kueue.Active)
	if active == nil || active.Status == metav1.ConditionTrue {
		// Kueue is about to see that it has been started.
		return t, false
	}
	t.what = "is not active (" + active.Reason + ")"
	t.evidence = append(t.evidence, conditionText(t.object, active))
	return t, true
}

// isSelected says whether it is sure that a selector matches a namespace, which is
// nil where it is not known.
func isSelected(selector *metav1.LabelSelector, namespace *inspect.Namespace) bool {
	matcher, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return false
	}
	return matcher.Empty() || namespace != nil && matcher.Matches(labels.Set(namespace.Labels))
}

func stoppedByPolicy(t trouble, policy string) trouble {
	o := t.object
	t.what, t.isMeant = "is stopped", true
	t.evidence = append(t.evidence, fmt.Sprintf("%s: spec.stopPolicy of %s is %s", o.Context, named(o), policy))
	return t
}

func (v *View) excludedNamespace(t trouble, f *inspect.Facts, w *kueue.Workload, wait *kueue.Wait) (trouble, bool) {
	name := v.clusterQueueOf(f, w, wait)
	if name == "" {
		return t, false
	}
	t.object = OfKueue(f, "ClusterQueue", "", name)
	t.what = "takes nothing from namespace " + w.Namespace
	queue, _ := v.ClusterQueue(f, name)
	if queue == nil {
		return t, true
	}
	namespace, _ := v.Namespace(f, w.Namespace)
	selector := queue.Spec.NamespaceSelector
	if isSelected(selector, namespace) {
		// Kueue is about to see that it has been widened.
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
