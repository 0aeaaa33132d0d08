package recreate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/podtemplate"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Submitted is Kueue's record of an object.
type Submitted struct {
	// Workload is the object's Workload; nil if there is none.
	Workload *unstructured.Unstructured
	// Unread is the error of reading the Workload.
	Unread error
}

// FindSubmitted returns Kueue's record of an object. It sends no request for an object that Kueue
// has not started or has put back into its queue: that object is as its author wrote it.
func FindSubmitted(ctx context.Context, c *fleet.Cluster, k delegation.Kind, old *unstructured.Unstructured) Submitted {
	k = object.OrJob(k)
	if !isStartedByKueue(k, old) {
		return Submitted{}
	}
	workloads, err := workloadsOf(ctx, c, old)
	if err != nil {
		return Submitted{Unread: err}
	}
	var latest *unstructured.Unstructured
	for _, w := range workloads {
		// An elastic object has several Workloads.
		if !w.typed.IsVariant() && (latest == nil || latest.GetCreationTimestamp().Time.Before(w.stored.GetCreationTimestamp().Time)) {
			latest = w.stored
		}
	}
	return Submitted{Workload: latest}
}

// workload is a Workload as it is stored, and the fields that pkg/kueue reads.
type workload struct {
	stored *unstructured.Unstructured
	typed  kueue.Workload
}

// workloadsOf returns the Workloads of an object: those of all its sizes, variants, and one that
// its author created for it. Their names differ, but all have the object's UID in a label.
func workloadsOf(ctx context.Context, c *fleet.Cluster, o *unstructured.Unstructured) (all []workload, err error) {
	ofObject := metav1.ListOptions{LabelSelector: labels.Set{delegation.JobUIDLabel: string(o.GetUID())}.String()}
	for _, resource := range delegation.KueueResources("workloads") {
		var malformed error
		err := c.Each(ctx, resource, o.GetNamespace(), ofObject, func(stored *unstructured.Unstructured) {
			w := workload{stored: stored}
			malformed = errors.Join(malformed, runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, &w.typed))
			all = append(all, w)
		})
		if !kubecontext.IsUnserved(err) {
			return all, errors.Join(err, malformed)
		}
	}
	return nil, nil
}

// isAbandoned reports whether Kueue has finished the Workload although the object had not ended, and nothing runs.
func (s Submitted) isAbandoned() bool {
	var typed kueue.Workload
	return s.Workload != nil && runtime.DefaultUnstructuredConverter.FromUnstructured(s.Workload.Object, &typed) == nil && typed.IsAbandoned()
}

// runningOn returns the Workload with which MultiKueue runs an object on a worker, and that
// cluster; nil if no worker runs it, also if Kueue has abandoned the Workload. Kueue keeps the finished
// Workloads of earlier sizes.
func runningOn(workloads []workload) (on *unstructured.Unstructured, cluster string) {
	isOpen := func(w workload) bool { return !w.typed.Is(kueue.Finished) }
	hasOpen := slices.ContainsFunc(workloads, isOpen)
	if !hasOpen && slices.ContainsFunc(workloads, func(w workload) bool { return w.typed.IsAbandoned() }) {
		return nil, ""
	}
	for _, w := range workloads {
		if cluster := w.typed.ChosenCluster(); cluster != "" && isOpen(w) == hasOpen {
			return w.stored, cluster
		}
	}
	return nil, ""
}

// isStartedByKueue reports whether Kueue may have changed an object when it started it. When
// Kueue puts an object back into its queue, it reverts all changes, and keeps an annotation until
// that is done.
func isStartedByKueue(k delegation.Kind, o *unstructured.Unstructured) bool {
	isQueued := content.StringsAt(o, "metadata", "labels")[delegation.QueueNameLabel] != ""
	isHeld := object.StateOf(k, o).Suspend && content.StringsAt(o, "metadata", "annotations")[delegation.KueueStopping] == ""
	return isQueued && !isHeld
}

// stripKueues removes what Kueue added to the old Job when it started it. Kueue would never start
// a Job with other values than its own ("conflict for key=kueue.x-k8s.io/workload"), neither the
// new one nor a restored one. The fields that place Pods would apply to other flavors and
// clusters than those for which Kueue set them.
func (r *Replacement) stripKueues() {
	if r.options.Submitted.Workload != nil && isStartedByKueue(r.kind(), r.stored) {
		r.revertKueue()
	} else {
		r.warnOfPlacing(podtemplate.Of(r.kind(), r.New), r.unknownReason())
	}
	podtemplate.RemoveKueueKeys(r.kind(), r.Restore)
	for _, key := range podtemplate.RemoveKueueKeys(r.kind(), r.New) {
		r.changed(plan.Removed, key.Field, key.Value, "Kueue added it to the old "+r.kind().Kind+", and does not start an object that has it")
	}
	if value := content.StringsAt(r.Old, "metadata", "annotations")[delegation.KueueStopping]; value != "" {
		for _, job := range []*unstructured.Unstructured{r.Restore, r.New} {
			dropKey(job, "annotations", delegation.KueueStopping)
		}
		r.changed(plan.Removed, content.Keyed("metadata.annotations", delegation.KueueStopping), value,
			"Kueue sets it while it stops a "+r.kind().Kind+", and does not start an object that has it")
	}
}

// revertKueue restores the fields whose original values are in the Workload.
func (r *Replacement) revertKueue() {
	workload := r.options.Submitted.Workload
	podtemplate.Restore(r.kind(), r.Restore, workload)
	restored, unidentified := podtemplate.Restore(r.kind(), r.New, workload)
	for _, one := range restored {
		action, value := plan.Removed, one.After
		if one.Before != nil {
			action, value = plan.Set, one.Before
		}
		r.changed(action, one.Field, value, fmt.Sprintf("the value before Kueue started the old %s (Workload %s)", r.kind().Kind, workload.GetName()))
	}
	r.revertCount()
	r.warnOfPlacing(unidentified, fmt.Sprintf("no Pod set of Workload %s comes from it", workload.GetName()))
}

// revertCount restores the number of Pods of a Job that Kueue has started with fewer than
// requested.
func (r *Replacement) revertCount() {
	annotations := content.StringsAt(r.Old, "metadata", "annotations")
	sets := content.Objects(content.At(r.options.Submitted.Workload, "spec", "podSets"))
	if !r.kind().IsJob() || annotations[delegation.MinParallelism] == "" || len(sets) != 1 {
		return
	}
	requested, _ := sets[0]["count"].(int64)
	fields := []string{"parallelism"}
	if annotations[delegation.CompletionsLikeParallelism] == "true" {
		fields = append(fields, "completions")
	}
	for _, field := range fields {
		if now, _ := content.At(r.Old, "spec", field).(int64); requested == 0 || now >= requested {
			continue
		}
		for _, job := range []*unstructured.Unstructured{r.Restore, r.New} {
			// The parent of the field is an object, so this cannot fail.
			_ = unstructured.SetNestedField(job.Object, requested, "spec", field)
		}
		r.changed(plan.Set, "spec."+field, requested, fmt.Sprintf("Kueue had started the old %s with fewer Pods than it requests (%s)", r.kind().Kind, delegation.MinParallelism))
	}
}

// unknownReason returns the reason why the original values are unknown; "" if Kueue has changed
// nothing.
func (r *Replacement) unknownReason() string {
	switch {
	case isStartedByKueue(r.kind(), r.stored) && r.options.Submitted.Unread != nil:
		return "its Workload could not be read: " + kubecontext.Because(r.options.Submitted.Unread)
	case isStartedByKueue(r.kind(), r.stored):
		return "it has no Workload with the original values"
	case len(podtemplate.KueueKeys(r.kind(), r.stored)) > 0:
		return "its earlier Workload was deleted"
	}
	return ""
}

// warnOfPlacing warns about fields that Kueue or the author may have set.
func (r *Replacement) warnOfPlacing(templates []podtemplate.Template, reason string) {
	var fields []string
	for _, t := range templates {
		for _, field := range t.PlacementFields() {
			fields = append(fields, t.Path+".spec."+field)
		}
	}
	if len(fields) > 0 && reason != "" {
		r.warn("Kept placement fields (%s), which may come from Kueue's ResourceFlavors: %s. Compare them with the manifest of the %s.",
			strings.Join(fields, ", "), reason, r.kind().Kind)
	}
}
