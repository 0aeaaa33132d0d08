package recreate

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/podtemplate"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// Submitted is what Kueue knows of an object that was submitted to it.
type Submitted struct {
	// Workload is what it has made for the object, nil if nothing was found.
	Workload *unstructured.Unstructured
	// Unread is why it could not be looked for, nil if it could.
	Unread error
}

// FindSubmitted looks for what Kueue knows of an object. One that Kueue has not started,
// or has put back into its queue by now, is as its author wrote it, and not asked for.
func FindSubmitted(ctx context.Context, c *fleet.Cluster, k delegation.Kind, old *unstructured.Unstructured) Submitted {
	k = object.OrJob(k)
	if !isStartedByKueue(k, old) {
		return Submitted{}
	}
	ctx, cancel := context.WithTimeout(ctx, fleet.RequestTimeout)
	defer cancel()
	made := metav1.ListOptions{LabelSelector: labels.Set{delegation.JobUIDLabel: string(old.GetUID())}.String()}
	for _, resource := range delegation.KueueResources("workloads") {
		var latest *unstructured.Unstructured
		err := c.Each(ctx, resource, old.GetNamespace(), made, func(w *unstructured.Unstructured) {
			// An elastic object has several.
			if latest == nil || latest.GetCreationTimestamp().Time.Before(w.GetCreationTimestamp().Time) {
				latest = w
			}
		})
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return Submitted{Unread: err}
		}
		return Submitted{Workload: latest}
	}
	return Submitted{}
}

// isStartedByKueue says whether Kueue may have changed an object as it started it. As it
// puts an object back into its queue, it puts everything back, and marks it until that
// is done.
func isStartedByKueue(k delegation.Kind, o *unstructured.Unstructured) bool {
	isQueued := content.StringsAt(o, "metadata", "labels")[delegation.QueueNameLabel] != ""
	isHeld := object.StateOf(k, o).Suspend && content.StringsAt(o, "metadata", "annotations")[delegation.KueueStopping] == ""
	return isQueued && !isHeld
}

// stripKueues takes off what Kueue has put into the old Job as it started it. With other
// values than its own it would never start the new one, nor the old one if that is
// brought back ("conflict for key=kueue.x-k8s.io/workload"); and what says where the pods
// go would hold for flavors and clusters for which it was not meant.
func (r *Replacement) stripKueues() {
	if r.options.Submitted.Workload != nil && isStartedByKueue(r.kind(), r.stored) {
		r.putBack()
	} else {
		r.warnOfPlacing(podtemplate.Of(r.kind(), r.New), r.whyUntold())
	}
	podtemplate.TakeKueues(r.kind(), r.Restore)
	for _, key := range podtemplate.TakeKueues(r.kind(), r.New) {
		r.changed(plan.Removed, key.Field, key.Value, "Kueue put it there as it started the old "+r.kind().Kind+", and would not start what has it")
	}
	if value := content.StringsAt(r.Old, "metadata", "annotations")[delegation.KueueStopping]; value != "" {
		for _, job := range []*unstructured.Unstructured{r.Restore, r.New} {
			dropKey(job, "annotations", delegation.KueueStopping)
		}
		r.changed(plan.Removed, content.Keyed("metadata.annotations", delegation.KueueStopping), value,
			"Kueue sets it while it stops a "+r.kind().Kind+", and would not start what has it")
	}
}

// putBack sets back what the Workload tells to have been otherwise before.
func (r *Replacement) putBack() {
	workload := r.options.Submitted.Workload
	podtemplate.Restore(r.kind(), r.Restore, workload)
	restored, untold := podtemplate.Restore(r.kind(), r.New, workload)
	for _, one := range restored {
		action, value := plan.Removed, one.Kueues
		if one.Before != nil {
			action, value = plan.Set, one.Before
		}
		r.changed(action, one.Field, value, fmt.Sprintf("that is what it was before Kueue started the old %s (Workload %s)", r.kind().Kind, workload.GetName()))
	}
	r.putBackCount()
	r.warnOfPlacing(untold, fmt.Sprintf("no pod set of Workload %s is made of it", workload.GetName()))
}

// putBackCount sets back the number of pods of a Job that Kueue has started with less than
// it asks for.
func (r *Replacement) putBackCount() {
	annotations := content.StringsAt(r.Old, "metadata", "annotations")
	sets := content.Objects(content.At(r.options.Submitted.Workload, "spec", "podSets"))
	if !r.kind().IsJob() || annotations[delegation.MinParallelism] == "" || len(sets) != 1 {
		return
	}
	asked, _ := sets[0]["count"].(int64)
	fields := []string{"parallelism"}
	if annotations[delegation.CompletionsLikeParallelism] == "true" {
		fields = append(fields, "completions")
	}
	for _, field := range fields {
		if now, _ := content.At(r.Old, "spec", field).(int64); asked == 0 || now >= asked {
			continue
		}
		for _, job := range []*unstructured.Unstructured{r.Restore, r.New} {
			// It is a number in an object, so it can be set.
			_ = unstructured.SetNestedField(job.Object, asked, "spec", field)
		}
		r.changed(plan.Set, "spec."+field, asked, fmt.Sprintf("Kueue had started the old %s with less pods than it asks for (%s)", r.kind().Kind, delegation.MinParallelism))
	}
}

// whyUntold is why it is not known what was otherwise before; "" where nothing was.
func (r *Replacement) whyUntold() string {
	switch {
	case isStartedByKueue(r.kind(), r.stored) && r.options.Submitted.Unread != nil:
		return "its Workload could not be read: " + kubecontext.Because(r.options.Submitted.Unread)
	case isStartedByKueue(r.kind(), r.stored):
		return "it has no Workload that would tell"
	case len(podtemplate.KueuesOf(r.kind(), r.stored)) > 0:
		return "an earlier one had it, of which nothing is left"
	}
	return ""
}

// warnOfPlacing tells of what may be Kueue's or its author's.
func (r *Replacement) warnOfPlacing(templates []podtemplate.Template, why string) {
	var fields []string
	for _, t := range templates {
		for _, field := range t.Placed() {
			fields = append(fields, t.Path+".spec."+field)
		}
	}
	if len(fields) > 0 && why != "" {
		r.warn("What says where pods go is kept as it is (%s), and may be what Kueue had put there, from its ResourceFlavors: %s. Compare it with the file that the %s was made from.",
			strings.Join(fields, ", "), why, r.kind().Kind)
	}
}
