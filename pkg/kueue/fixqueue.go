package kueue

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// cohortCycle is the reason of an inactive ClusterQueue whose cohorts form a cycle. Nothing in
// the ClusterQueue itself is wrong (Kueue 0.19.7).
const cohortCycle = "CohortCycleDetected"

// fixQueue returns the fixes of a queue that is missing, stopped, or closed to the namespace.
func (s FixTarget) fixQueue(w *Wait) []command.Fix {
	fixes := s.openQueue(w)
	for i := range fixes {
		fixes[i].Then = slices.Concat(fixes[i].Then, s.Next)
	}
	return fixes
}

// openQueue returns how to make a queue admit the Workload.
func (s FixTarget) openQueue(w *Wait) []command.Fix {
	namespace := s.Workload.Namespace
	clusterQueue := w.Queue
	if clusterQueue == "" || w.Reason == ReasonLocalQueueStopped {
		clusterQueue = s.clusterQueueName()
	}
	switch {
	case w.Reason == ReasonLocalQueueMissing:
		return []command.Fix{s.createLocalQueue(namespace, s.Workload.Spec.QueueName)}
	case w.Reason == ReasonClusterQueueMissing:
		return []command.Fix{fixBy(list(s.Context, "ClusterQueue"),
			"create ClusterQueue %s on %s, or recreate the LocalQueue for an existing one", clusterQueue, s.Context)}
	case w.Reason == ReasonNamespaceExcluded:
		return []command.Fix{s.admitNamespace(clusterQueue)}
	case s.isLocalQueueStopped(w):
		return []command.Fix{ResumeLocalQueue(s.Context, namespace, s.Workload.Spec.QueueName)}
	}
	return s.ActivateQueue(clusterQueue)
}

// SubmitAfter is the step that follows the fix of a queue, for a Job that must not be submitted before. ownerField is the
// field with which it can be, "" if none is known to help.
func SubmitAfter(ownerField string) command.Step {
	text := "submit the Job after that"
	if ownerField != "" {
		text += fmt.Sprintf("; to submit it earlier, set %s to %s", ownerField, delegation.MultiKueue)
	}
	return command.Step{Text: text, Command: []string{}}
}

// ResumeLocalQueue returns how to resume a stopped LocalQueue.
func ResumeLocalQueue(context, namespace, name string) command.Fix {
	return resume(context, "LocalQueue", namespace, name)
}

// resume returns how to resume a queue that has a stopPolicy. A person set it, usually to drain the cluster.
func resume(context, kind, namespace, name string) command.Fix {
	object := strings.TrimPrefix(namespace+"/"+name, "/")
	return fixBy(Patch(context, kind, namespace, name, "None", "spec", "stopPolicy"), "if its maintenance is over, resume %s %s on %s", kind, object, context)
}

// isLocalQueueStopped reports whether the LocalQueue itself is stopped. Kueue
// also calls a LocalQueue inactive if its ClusterQueue is.
func (s FixTarget) isLocalQueueStopped(w *Wait) bool {
	if s.LocalQueue != nil {
		return IsStopped(s.LocalQueue.Spec.StopPolicy)
	}
	return w.Reason == ReasonLocalQueueStopped
}

// QueueFor returns the ClusterQueue of a cluster that a missing LocalQueue should point to: that of
// the same name as on another cluster or, if none has it, the only one. It returns nil if neither exists.
func QueueFor(queues []*ClusterQueue, like string) *ClusterQueue {
	if i := slices.IndexFunc(queues, func(q *ClusterQueue) bool { return like != "" && q.Name == like }); i >= 0 {
		return queues[i]
	}
	if len(queues) == 1 {
		return queues[0]
	}
	return nil
}

// createLocalQueue returns how to create a LocalQueue for the ClusterQueue of the target, or for one
// that the reader chooses.
func (s FixTarget) createLocalQueue(namespace, name string) command.Fix {
	queue := s.clusterQueueName()
	if queue == "" {
		return fixBy(list(s.Context, "ClusterQueue"), "create LocalQueue %s/%s on %s for one of its ClusterQueues", namespace, name, s.Context)
	}
	object := map[string]any{
		"apiVersion": s.apiVersion(), "kind": "LocalQueue", "metadata": map[string]any{"namespace": namespace, "name": name},
		"spec": map[string]any{"clusterQueue": queue},
	}
	return command.Fix{Text: "create LocalQueue " + namespace + "/" + name + " on " + s.Context, Command: create(s.Context, object)}
}

// apiVersion returns the version in which objects of Kueue are created.
func (s FixTarget) apiVersion() string { return Group + "/" + cmp.Or(s.Version, "v1beta2") }

// create returns the words that create an object.
func create(context string, object any) []string {
	return command.Words(command.Kubectl(context, "", "create", "-f", "-").Fed(command.JSON(object)).Shell())
}

// ActivateQueue returns how to make a ClusterQueue active: by its stop policy, or by what
// its condition Active says.
func (s FixTarget) ActivateQueue(name string) []command.Fix {
	q := s.ClusterQueue
	if q != nil && name != "" && q.DeletionTimestamp == nil && !IsStopped(q.Spec.StopPolicy) && !s.hasCohortCycle() {
		if fixes := s.provideFlavors(s.missingFlavors()...); len(fixes) > 0 {
			return fixes
		}
	}
	return []command.Fix{s.activateQueue(name)}
}

// hasCohortCycle reports whether the cohorts above the ClusterQueue form a cycle.
func (s FixTarget) hasCohortCycle() bool {
	active := meta.FindStatusCondition(s.ClusterQueue.Status.Conditions, Active)
	return len(s.CohortCycle) > 0 || active != nil && active.Reason == cohortCycle
}

// activateQueue returns how to make a ClusterQueue active that lacks no ResourceFlavor.
func (s FixTarget) activateQueue(name string) command.Fix {
	describe := Kubectl(s.Context, "describe", "ClusterQueue", "", name)
	q, named := s.ClusterQueue, "ClusterQueue "+name
	if name == "" {
		named = "its ClusterQueue"
	}
	switch {
	case q == nil && s.MayNotRead:
		return fix("ask an administrator of %s why %s is not active", s.Context, named)
	case name == "":
		return fixBy(list(s.Context, "ClusterQueue"), "resume the ClusterQueue on %s, or add what is missing", s.Context)
	case q == nil:
		return fixBy(describe, "resume ClusterQueue %s on %s, or add what is missing", name, s.Context)
	case q.DeletionTimestamp != nil:
		return fixBy(Kubectl(s.Context, "get", "ClusterQueue", "", name).With("-o", "yaml"),
			"ClusterQueue %s on %s is being deleted. Save it, and create it again after its last Workload has ended", name, s.Context)
	case IsStopped(q.Spec.StopPolicy):
		return resume(s.Context, "ClusterQueue", "", name)
	case s.hasCohortCycle():
		return s.breakCycle(name)
	}
	return fixBy(describe, "add what ClusterQueue %s on %s lacks", name, s.Context)
}

// breakCycle returns how to break the cycle of cohorts above a ClusterQueue.
func (s FixTarget) breakCycle(queue string) command.Fix {
	cycle := s.CohortCycle
	if len(cycle) == 0 {
		parents := list(s.Context, "Cohort").With("-o", "custom-columns=NAME:.metadata.name,PARENT:.spec.parentName")
		return fixBy(parents, "break the cycle of cohorts above ClusterQueue %s on %s: change spec.parentName of one", queue, s.Context)
	}
	edit := command.Kubectl(s.Context, "", "edit", Resource("Cohort")).With(cycle...)
	return fixBy(edit, "break the cycle of cohorts %s → %s above ClusterQueue %s on %s: change spec.parentName of one", strings.Join(cycle, " → "), cycle[0], queue, s.Context)
}

// admitNamespace returns how to let a ClusterQueue take Workloads of the namespace: a label
// if the selector consists of labels, otherwise a wider selector.
func (s FixTarget) admitNamespace(name string) command.Fix {
	namespace, q := s.Workload.Namespace, s.ClusterQueue
	switch {
	case q == nil && name == "":
		return fixBy(list(s.Context, "ClusterQueue"), "widen the namespaceSelector of the ClusterQueue on %s to namespace %s", s.Context, namespace)
	case q == nil:
		return fixBy(Kubectl(s.Context, "edit", "ClusterQueue", "", name), "widen spec.namespaceSelector of ClusterQueue %s on %s to namespace %s", name, s.Context, namespace)
	case q.Spec.NamespaceSelector == nil:
		// Without a selector, a ClusterQueue is closed, which may be intended: other namespaces stay out.
		selector := map[string]any{"matchLabels": map[string]any{corev1.LabelMetadataName: namespace}}
		return fixBy(Patch(s.Context, "ClusterQueue", "", name, selector, "spec", "namespaceSelector"),
			"let ClusterQueue %s on %s select namespace %s", name, s.Context, namespace)
	}
	selector := q.Spec.NamespaceSelector
	isByName := selectsByName(selector, namespace)
	wanted := maps.Clone(selector.MatchLabels)
	delete(wanted, corev1.LabelMetadataName)
	if len(wanted) == 0 || len(selector.MatchExpressions) > 0 || isByName {
		text := fmt.Sprintf("widen spec.namespaceSelector (%s) of ClusterQueue %s on %s", metav1.FormatLabelSelector(selector), name, s.Context)
		if isByName {
			text += " to namespace " + namespace
		} else {
			text += ", or label namespace " + namespace
		}
		return fixBy(Kubectl(s.Context, "edit", "ClusterQueue", "", name), "%s", text)
	}
	label, keys := command.Kubectl(s.Context, "", "label", "namespace", namespace, "--overwrite"), slices.Sorted(maps.Keys(wanted))
	for _, key := range keys {
		label = label.With(key + "=" + wanted[key])
	}
	// The selector may exclude the namespace on purpose, and others may use its labels.
	text := fmt.Sprintf("if namespace %s may use ClusterQueue %s, label it on %s", namespace, name, s.Context)
	if replaced := s.replacedLabels(wanted, keys); replaced != "" {
		text += " (replaces " + replaced + ")"
	}
	if !s.IsStep {
		text = "use another queue or, " + text
	}
	return fixBy(label, "%s", text)
}

// replacedLabels names what new labels of the namespace replace, "" if nothing.
func (s FixTarget) replacedLabels(wanted map[string]string, keys []string) string {
	if s.NamespaceLabels == nil || s.NamespaceLabels(s.Workload.Namespace) == nil {
		return "another value of " + strings.Join(keys, ", ")
	}
	var replaced []string
	for key, value := range s.NamespaceLabels(s.Workload.Namespace) {
		if want, isSet := wanted[key]; isSet && want != value {
			replaced = append(replaced, key+"="+value)
		}
	}
	slices.Sort(replaced)
	return strings.Join(replaced, ", ")
}

// selectsByName reports whether a selector excludes a namespace by its name, a label that the API server
// always sets.
func selectsByName(selector *metav1.LabelSelector, namespace string) bool {
	byName := metav1.LabelSelector{}
	if want, ok := selector.MatchLabels[corev1.LabelMetadataName]; ok {
		byName.MatchLabels = map[string]string{corev1.LabelMetadataName: want}
	}
	for _, e := range selector.MatchExpressions {
		if e.Key == corev1.LabelMetadataName {
			byName.MatchExpressions = append(byName.MatchExpressions, e)
		}
	}
	matcher, err := metav1.LabelSelectorAsSelector(&byName)
	return err == nil && !matcher.Matches(labels.Set{corev1.LabelMetadataName: namespace})
}
