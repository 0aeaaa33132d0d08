package recreate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
)

// withoutServerFields returns a stored object without the fields that only servers write or that
// they refuse in a create request.
func withoutServerFields(k delegation.Kind, stored *unstructured.Unstructured) *unstructured.Unstructured {
	job := stored.DeepCopy()
	for _, name := range []string{
		"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
		"selfLink", "managedFields",
	} {
		unstructured.RemoveNestedField(job.Object, "metadata", name)
	}
	unstructured.RemoveNestedField(job.Object, "status")
	if !k.IsJob() {
		return job
	}
	template := []string{"spec", "template", "metadata"}
	if content.At(job, append(template, "creationTimestamp")...) == nil {
		// Servers before Kubernetes 1.34 write null here.
		unstructured.RemoveNestedField(job.Object, append(template, "creationTimestamp")...)
	}
	if !content.IsTrueAt(job, "spec", "manualSelector") {
		unstructured.RemoveNestedField(job.Object, "spec", "selector")
		dropGenerated(job, append(template, "labels")...)
		dropGenerated(job, "metadata", "labels")
	}
	return job
}

// dropGenerated removes the labels by which the old Job found its Pods, and maps that are empty
// afterwards.
func dropGenerated(job *unstructured.Unstructured, path ...string) {
	found := false
	for _, key := range object.GeneratedLabels() {
		_, there := content.MapAt(job, path...)[key]
		found = found || there
		unstructured.RemoveNestedField(job.Object, append(slices.Clone(path), key)...)
	}
	for ; found && path[len(path)-1] != "template" && len(path) > 1 && len(content.MapAt(job, path...)) == 0; path = path[:len(path)-1] {
		unstructured.RemoveNestedField(job.Object, path...)
	}
}

// stripMarks removes annotations about a dispatch of the old Job, which contain its UID.
func (r *Replacement) stripMarks() {
	for key, value := range r.marks() {
		for _, job := range []*unstructured.Unstructured{r.Restore, r.New} {
			dropKey(job, "annotations", key)
		}
		r.changed(plan.Removed, content.Keyed("metadata.annotations", key), value, "it describes a dispatch of the old "+r.kind().Kind)
	}
}

// marks returns our annotations on the old Job.
func (r *Replacement) marks() map[string]string {
	marks := content.StringsAt(r.Old, "metadata", "annotations")
	maps.DeleteFunc(marks, func(key, _ string) bool { return !object.InDomain(key, object.OurDomain) })
	return marks
}

// stripMetadata removes metadata that would do harm with another owner.
func (r *Replacement) stripMetadata() {
	if _, there := content.StringsAt(r.Old, "metadata", "annotations")[corev1.LastAppliedConfigAnnotation]; there {
		dropKey(r.New, "annotations", corev1.LastAppliedConfigAnnotation)
		r.changed(plan.Removed, content.Keyed("metadata.annotations", corev1.LastAppliedConfigAnnotation), nil,
			fmt.Sprintf("it holds the old %s; change that in the file that was applied, too", content.Dotted(r.kind().ManagedBy)))
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
		r.changed(plan.Removed, "metadata.finalizers", strings.Join(dropped, ", "), fmt.Sprintf("a deletion sets it, and a new %s must not have it", r.kind().Kind))
	}
	if len(kept) > 0 {
		r.changed(plan.Kept, "metadata.finalizers", strings.Join(kept, ", "), "its owner may need it")
		r.warn("Finalizers block the deletion of the old %s until their controllers remove them: %s.", r.kind().Kind, strings.Join(kept, ", "))
	}
	if owners := r.Old.GetOwnerReferences(); len(owners) > 0 {
		var names []string
		for _, o := range owners {
			names = append(names, o.Kind+"/"+o.Name)
		}
		r.changed(plan.Kept, "metadata.ownerReferences", strings.Join(names, ", "), fmt.Sprintf("the new %s is deleted with them, as the old one would be", r.kind().Kind))
	}
}

// setOwner sets the new owner. For the built-in controller, it removes the field, which every
// server understands.
func (r *Replacement) setOwner() {
	if r.options.owner().IsBuiltIn() {
		unstructured.RemoveNestedField(r.New.Object, r.kind().ManagedBy...)
		return
	}
	// The parent of the field is an object, so this cannot fail.
	_ = unstructured.SetNestedField(r.New.Object, r.options.ManagedBy, r.kind().ManagedBy...)
}

// setQueue sets the queue of the Job, and suspends it for MultiKueue, because Kueue starts it.
// Kueue's webhook would suspend it, too, but may be missing (kueue:
// pkg/controller/jobs/job/job_webhook.go).
func (r *Replacement) setQueue() {
	before := content.StringsAt(r.Old, "metadata", "labels")[delegation.QueueNameLabel]
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
	path, held := object.Hold(r.kind())
	isHeld := object.StateOf(r.kind(), r.Old).Suspend
	if r.options.owner() == delegation.MultiKueue {
		if !isHeld && path != nil {
			_ = unstructured.SetNestedField(r.New.Object, held, path...)
			r.changed(plan.Set, content.Dotted(path), held, fmt.Sprintf("Kueue queues suspended %ss and resumes them when it admits them", r.kind().Kind))
		}
		return
	}
	if queue != "" {
		r.warn("The %s stays in the queue %s (label %s): with Kueue installed, it runs only when Kueue admits it. Remove it with --queue ''.", r.kind().Kind, queue, delegation.QueueNameLabel)
	}
	if isHeld && queue == "" && (before != "" || object.OwnerOf(r.kind(), r.Old) == delegation.MultiKueue) {
		r.warn("Kueue suspended the %s (%s), and no controller will resume it. To resume it: %s.", r.kind().Kind, content.Dotted(path),
			command.Kubectl(r.options.Context, r.Old.GetNamespace(), "patch", command.KindName(r.kind()), r.Old.GetName(), "--type=merge", "-p", command.JSON(resumePatch(path, held))))
	}
}

// resumePatch returns the merge patch that resumes an object.
func resumePatch(path []string, held any) map[string]any {
	patch := map[string]any{}
	if held == true {
		_ = unstructured.SetNestedField(patch, false, path...)
	} else {
		_ = unstructured.SetNestedField(patch, nil, path...)
	}
	return patch
}

// warnOfWork warns about work that is lost or repeated.
func (r *Replacement) warnOfWork() {
	end := object.EndOf(r.kind(), r.stored)
	if end != nil {
		r.warn("The %s is %s: the new one runs its Pods again, from the start.", r.kind().Kind, object.StatusOf(r.kind(), r.stored))
	}
	if how := describeRunning(r.stored, r.options); how != "" {
		r.warn("The %s %s: it is deleted with its Pods, and their work is lost.", r.kind().Kind, how)
	}
	mirror := r.marks()[delegation.MirrorAnnotation]
	switch {
	case mirror == "":
	case end == nil:
		r.warn("The %s is dispatched: its mirror %s stays, and may run next to the new one.", r.kind().Kind, mirror)
	case r.options.owner() == delegation.Dispatch:
		r.warn("The old mirror %s may still exist and block the next dispatch. Remove it with cancel while the old %s exists.", mirror, r.kind().Kind)
	}
}

// warnOfManagers warns about controllers and tools that may revert the change.
func (r *Replacement) warnOfManagers() {
	if c := metav1.GetControllerOfNoCopy(r.stored); c != nil {
		r.warn("The %s belongs to %s %s, which may create another one first; then the new one cannot be created.", r.kind().Kind, c.Kind, c.Name)
	}
	if sources := r.sources(); len(sources) > 0 {
		r.warn("Another tool manages the %s (%s). Change %s there, too; otherwise it reverts the change.",
			r.kind().Kind, strings.Join(sources, ", "), content.Dotted(r.kind().ManagedBy))
	}
}

// sources returns the tools that revert changes of the Job to a version stored elsewhere.
func (r *Replacement) sources() []string {
	found := map[string]bool{}
	for key, value := range content.StringsAt(r.Old, "metadata", "labels") {
		switch {
		case key == "app.kubernetes.io/managed-by" && value == "Helm":
			found["Helm"] = true
		case object.InDomain(key, "toolkit.fluxcd.io"):
			found["Flux"] = true
		case object.InDomain(key, "applyset.kubernetes.io"):
			found["kubectl apply --prune"] = true
		}
	}
	if content.StringsAt(r.Old, "metadata", "annotations")["argocd.argoproj.io/tracking-id"] != "" {
		found["Argo CD"] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// dropKey removes a label or an annotation, and the map if it is empty afterwards.
func dropKey(job *unstructured.Unstructured, field, key string) {
	unstructured.RemoveNestedField(job.Object, "metadata", field, key)
	if len(content.MapAt(job, "metadata", field)) == 0 {
		unstructured.RemoveNestedField(job.Object, "metadata", field)
	}
}
