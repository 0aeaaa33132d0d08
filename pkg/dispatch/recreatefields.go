package dispatch

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// asWritten is a stored Job without what only a server writes, or refuses to be
// given.
func asWritten(stored *unstructured.Unstructured) *unstructured.Unstructured {
	job := stored.DeepCopy()
	for _, name := range []string{
		"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
		"selfLink", "managedFields",
	} {
		unstructured.RemoveNestedField(job.Object, "metadata", name)
	}
	unstructured.RemoveNestedField(job.Object, "status")
	template := []string{"spec", "template", "metadata"}
	if valueAt(job, append(template, "creationTimestamp")...) == nil {
		// Servers write a null there (before Kubernetes 1.34).
		unstructured.RemoveNestedField(job.Object, append(template, "creationTimestamp")...)
	}
	if !isTrueAt(job, "spec", "manualSelector") {
		unstructured.RemoveNestedField(job.Object, "spec", "selector")
		dropGenerated(job, append(template, "labels")...)
		dropGenerated(job, "metadata", "labels")
	}
	return job
}

// dropGenerated removes the labels by which the old Job found its pods, and objects
// that have nothing in them after that.
func dropGenerated(job *unstructured.Unstructured, path ...string) {
	found := false
	for _, key := range generatedLabels() {
		_, there := mapAt(job, path...)[key]
		found = found || there
		unstructured.RemoveNestedField(job.Object, append(slices.Clone(path), key)...)
	}
	for ; found && path[len(path)-1] != "template" && len(path) > 1 && len(mapAt(job, path...)) == 0; path = path[:len(path)-1] {
		unstructured.RemoveNestedField(job.Object, path...)
	}
}

// stripMarks takes off what tells of a dispatch of the old Job, by its uid.
func (r *Replacement) stripMarks() {
	for key, value := range r.marks() {
		for _, job := range []*unstructured.Unstructured{r.Restore, r.New} {
			dropKey(job, "annotations", key)
		}
		r.changed(Removed, inKeys("metadata.annotations", key), value, "it tells of a dispatch of the old Job")
	}
}

// marks are the annotations of ours on the old Job.
func (r *Replacement) marks() map[string]string {
	marks := stringsAt(r.Old, "metadata", "annotations")
	maps.DeleteFunc(marks, func(key, _ string) bool { return !inDomain(key, ourDomain) })
	return marks
}

// stripMetadata takes off what would do harm with another owner.
func (r *Replacement) stripMetadata() {
	if _, there := stringsAt(r.Old, "metadata", "annotations")[corev1.LastAppliedConfigAnnotation]; there {
		dropKey(r.New, "annotations", corev1.LastAppliedConfigAnnotation)
		r.changed(Removed, inKeys("metadata.annotations", corev1.LastAppliedConfigAnnotation), nil,
			"it holds the old spec.managedBy; change that in the file that was applied, too")
	}
	var kept, dropped []string
	for _, f := range r.Old.GetFinalizers() {
		if f == metav1.FinalizerDeleteDependents || f == metav1.FinalizerOrphanDependents {
			dropped = append(dropped, f)
			continue
		}
		kept = append(kept, f)
	}
	if len(dropped) > 0 {
		r.New.SetFinalizers(kept)
		r.Restore.SetFinalizers(kept)
		r.changed(Removed, "metadata.finalizers", strings.Join(dropped, ", "), "a deletion sets it, and a new Job must not have it")
	}
	if len(kept) > 0 {
		r.changed(Kept, "metadata.finalizers", strings.Join(kept, ", "), "whoever set it may count on it")
		r.warn("Finalizers hold the old Job until whoever is in charge of them has removed them: %s.", strings.Join(kept, ", "))
	}
	if owners := r.Old.GetOwnerReferences(); len(owners) > 0 {
		var names []string
		for _, o := range owners {
			names = append(names, o.Kind+"/"+o.Name)
		}
		r.changed(Kept, "metadata.ownerReferences", strings.Join(names, ", "), "the new Job is deleted with them, as the old one would be")
	}
}

// setOwner changes what this is all about. For the built-in controller, no value is
// the one that every server knows.
func (r *Replacement) setOwner() {
	if r.options.owner().IsBuiltIn() {
		unstructured.RemoveNestedField(r.New.Object, delegation.Job().ManagedBy...)
		return
	}
	// It is a string in an object, so it can be set.
	_ = unstructured.SetNestedField(r.New.Object, r.options.ManagedBy, delegation.Job().ManagedBy...)
}

// setQueue puts the Job into its queue, suspended: Kueue starts it. Its webhook would
// see to that, but may not be there to do so (kueue:
// pkg/controller/jobs/job/job_webhook.go).
func (r *Replacement) setQueue() {
	before := stringsAt(r.Old, "metadata", "labels")[delegation.QueueNameLabel]
	if queue := r.options.Queue; queue != nil && *queue == "" {
		dropKey(r.New, "labels", delegation.QueueNameLabel)
	} else if queue != nil {
		labels := r.New.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[delegation.QueueNameLabel] = *queue
		r.New.SetLabels(labels)
	}
	queue := r.New.GetLabels()[delegation.QueueNameLabel]
	if r.options.owner() == delegation.MultiKueue {
		if !isTrueAt(r.Old, "spec", "suspend") {
			_ = unstructured.SetNestedField(r.New.Object, true, "spec", "suspend")
			r.changed(Set, "spec.suspend", true, "Kueue takes Jobs that wait, and lets them run when their turn has come")
		}
		return
	}
	if queue != "" {
		r.warn("The Job stays in the queue %s (label %s): where Kueue is installed, it runs only when that admits it; --queue '' takes it out.", queue, delegation.QueueNameLabel)
	}
	if isTrueAt(r.Old, "spec", "suspend") && queue == "" && (before != "" || ownerOf(r.Old) == delegation.MultiKueue) {
		r.warn(`Kueue held the Job back (spec.suspend), and nobody will let it go now; to do so: kubectl -n %s patch job %s --type=merge -p '{"spec":{"suspend":false}}'.`, r.Old.GetNamespace(), r.Old.GetName())
	}
}

// warnOfWork tells of work that is lost or done again.
func (r *Replacement) warnOfWork() {
	status, err := statusOfStored(r.stored)
	if err != nil {
		return // It was read before.
	}
	if end := finished(status); end != nil {
		r.warn("The Job is %s: the new one runs its pods once more, from the start.", end.Type)
	}
	if how := howRunning(r.stored, status); how != "" {
		r.warn("The Job %s: it is deleted with its pods, and what they have done is lost.", how)
	}
	mirror := r.marks()[delegation.MirrorAnnotation]
	switch {
	case mirror == "":
	case finished(status) == nil:
		r.warn("The Job is dispatched: its mirror %s is left where it is, and may run beside the new one.", mirror)
	case r.options.owner() == delegation.Dispatch:
		r.warn("The old mirror %s may still be there, and then be in the way of the next dispatch; cancel removes it, as long as the old Job is there.", mirror)
	}
}

// warnOfOthers tells of others who look after the Job, and may not let it be.
func (r *Replacement) warnOfOthers() {
	if c := metav1.GetControllerOfNoCopy(r.stored); c != nil {
		r.warn("The Job belongs to %s %s, which may make another before this is done; then the new one cannot be created.", c.Kind, c.Name)
	}
	if sources := r.sources(); len(sources) > 0 {
		r.warn("The Job is kept as it is written elsewhere (%s), where spec.managedBy has to be changed, too: to change it back here is tried in vain.", strings.Join(sources, ", "))
	}
	labels := stringsAt(r.Old, "metadata", "labels")
	selector := mapAt(r.Old, "spec", "template", "spec", "nodeSelector")
	if labels[delegation.QueueNameLabel] != "" && !isTrueAt(r.Old, "spec", "suspend") && len(selector) > 0 {
		r.warn("The pod template's nodeSelector (%s) may be what Kueue added to it when it admitted the old Job, and is kept.",
			strings.Join(slices.Sorted(maps.Keys(selector)), ", "))
	}
}

// sources are the tools that keep Jobs as they are written somewhere else.
func (r *Replacement) sources() []string {
	found := map[string]bool{}
	for key, value := range stringsAt(r.Old, "metadata", "labels") {
		switch {
		case key == "app.kubernetes.io/managed-by" && value == "Helm":
			found["Helm"] = true
		case inDomain(key, "toolkit.fluxcd.io"):
			found["Flux"] = true
		case inDomain(key, "applyset.kubernetes.io"):
			found["kubectl apply --prune"] = true
		}
	}
	if stringsAt(r.Old, "metadata", "annotations")["argocd.argoproj.io/tracking-id"] != "" {
		found["Argo CD"] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// dropKey removes a label or an annotation, and the field if it was the last.
func dropKey(job *unstructured.Unstructured, field, key string) {
	unstructured.RemoveNestedField(job.Object, "metadata", field, key)
	if len(mapAt(job, "metadata", field)) == 0 {
		unstructured.RemoveNestedField(job.Object, "metadata", field)
	}
}
