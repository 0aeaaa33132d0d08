package rules

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// trouble finds out what is wrong with the queue that holds a Workload on a
// cluster; not ok where what the condition says no longer holds, or holds it for
// something else than a queue. like is the ClusterQueue that a queue which is
// missing should lead to, if there is one of that name.
func (v *View) trouble(f *inspect.Facts, w *kueue.Workload, held hold, c *metav1.Condition, like string) (trouble, bool) {
	t := trouble{since: c.LastTransitionTime.Time, evidence: []string{conditionOf(f, w, c)}}
	switch held {
	case heldForLocalQueue:
		return v.missingLocalQueue(t, f, w, like)
	case heldForClusterQueue:
		return v.missingClusterQueue(t, f, v.clusterQueueOf(f, w, c))
	case heldByStop:
		return v.stoppedQueue(t, f, w, c)
	case heldByNamespace:
		return v.excludedNamespace(t, f, w, c)
	default:
		return trouble{}, false
	}
}

// clusterQueueOf is the name of the ClusterQueue that a Workload waits in, "" if
// neither its LocalQueue nor the condition tells.
func (v *View) clusterQueueOf(f *inspect.Facts, w *kueue.Workload, c *metav1.Condition) string {
	if local, _ := v.LocalQueue(f, w.Namespace, w.Spec.QueueName); local != nil {
		return local.Spec.ClusterQueue
	}
	rest, ok := strings.CutPrefix(c.Message, "ClusterQueue ")
	name, _, _ := strings.Cut(rest, " ")
	if !ok {
		return ""
	}
	return name
}

func (v *View) missingLocalQueue(t trouble, f *inspect.Facts, w *kueue.Workload, like string) (trouble, bool) {
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
	t.remedy = v.createLocalQueue(f, t.object, like)
	return t, true
}

// createLocalQueue is how to create a LocalQueue, with a command if it is clear what
// ClusterQueue it should lead to.
func (v *View) createLocalQueue(f *inspect.Facts, o Object, like string) command.Prose {
	queues, _ := v.ClusterQueues(f)
	if !slices.ContainsFunc(queues, func(q *kueue.ClusterQueue) bool { return q.Name == like }) {
		like = ""
		if len(queues) == 1 {
			like = queues[0].Name
		}
	}
	if like == "" {
		return command.Say("create %s on %s, for one of the ClusterQueues there: %s", named(o), f.Context, command.Kubectl(f.Context, "", "get", "clusterqueues.kueue.x-k8s.io"))
	}
	queue := map[string]any{
		"apiVersion": o.APIVersion, "kind": "LocalQueue", "metadata": map[string]any{"namespace": o.Namespace, "name": o.Name},
		"spec": map[string]any{"clusterQueue": like},
	}
	return command.Kubectl(f.Context, "", "create", "-f", "-").Fed(command.JSON(queue)).Prose()
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
	t.remedy = command.Say("create ClusterQueue %s on %s, or delete the LocalQueue there and create it again for one of those that are there: %s",
		name, f.Context, command.Kubectl(f.Context, "", "get", "clusterqueues.kueue.x-k8s.io"))
	return t, true
}

// stoppedQueue finds out which queue has stopped, and whether somebody wanted
// that.
func (v *View) stoppedQueue(t trouble, f *inspect.Facts, w *kueue.Workload, c *metav1.Condition) (trouble, bool) {
	local, known := v.LocalQueue(f, w.Namespace, w.Spec.QueueName)
	if local != nil && kueue.IsStopped(local.Spec.StopPolicy) {
		t.object = OfKueue(f, "LocalQueue", w.Namespace, local.Name)
		return stoppedByPolicy(t, local.Spec.StopPolicy), true
	}
	name := v.clusterQueueOf(f, w, c)
	if name == "" || known && local == nil {
		return t, false
	}
	t.object = OfKueue(f, "ClusterQueue", "", name)
	queue, known := v.ClusterQueue(f, name)
	if known && queue == nil {
		return t, false
	}
	t.what = "is not active"
	t.remedy = command.Say("see what it lacks: %s", kubectlOn(t.object, "describe"))
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
	t.remedy = repairQueue(f, name, active.Reason, t.remedy)
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
	t.remedy = kueue.Resume(o.Context, o.Kind, o.Namespace, o.Name).Prose()
	return t
}

func (v *View) excludedNamespace(t trouble, f *inspect.Facts, w *kueue.Workload, c *metav1.Condition) (trouble, bool) {
	name := v.clusterQueueOf(f, w, c)
	if name == "" {
		return t, false
	}
	t.object = OfKueue(f, "ClusterQueue", "", name)
	t.what = "takes nothing from namespace " + w.Namespace
	t.remedy = command.Say("widen spec.namespaceSelector of ClusterQueue %s on %s, or label namespace %s so that it matches", name, f.Context, w.Namespace)
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
		t.remedy = patchOn(t.object, map[string]any{}, "spec", "namespaceSelector").Prose()
		return t, true
	}
	t.evidence = append(t.evidence, fmt.Sprintf("%s: spec.namespaceSelector of ClusterQueue %s is %s", f.Context, name, metav1.FormatLabelSelector(selector)))
	if namespace != nil {
		t.evidence = append(t.evidence, fmt.Sprintf("%s: the labels of Namespace %s are %s", f.Context, w.Namespace,
			cmp.Or(labels.Set(namespace.Labels).String(), "<none>")))
	}
	if len(selector.MatchLabels) > 0 && len(selector.MatchExpressions) == 0 {
		label := command.Kubectl(f.Context, "", "label", "namespace", w.Namespace, "--overwrite")
		for _, key := range slices.Sorted(maps.Keys(selector.MatchLabels)) {
			label = label.With(key + "=" + selector.MatchLabels[key])
		}
		t.remedy = label.Prose()
	}
	return t, true
}
