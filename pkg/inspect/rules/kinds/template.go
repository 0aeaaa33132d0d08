package kinds

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

func templateIgnored() view.Rule {
	return view.Rule{
		Code: "JM307", Severity: inspect.Warning,
		Reads: []inspect.Part{inspect.PartJobs},
		Detect: func(v *view.View) {
			for _, f := range v.Clusters() {
				reportTemplates(v, f)
			}
		},
	}
}

// reportTemplates reports the templates of a cluster whose objects wait to be
// picked up.
func reportTemplates(v *view.View, f *inspect.Facts) {
	var waiting []*inspect.Job
	for _, j := range v.Jobs(f) {
		if j.Controller == nil || j.ManagedBy.IsBuiltIn() || !view.IsWaiting(j) {
			continue
		}
		row, known := delegation.KindOf(schema.FromAPIVersionAndKind(j.Controller.APIVersion, j.Controller.Kind))
		if known && row.Template {
			waiting = append(waiting, j)
		}
	}
	for _, group := range view.GroupBy(waiting, func(j *inspect.Job) string { return string(j.Controller.UID) }) {
		template := v.JobByUID(f, group.Key)
		if template == nil || !template.Suspended && template.DeletedAt == nil {
			v.Report(describeIgnored(template, group.Values))
		}
	}
}

// describeIgnored returns the sighting of a template whose objects wait to be
// picked up. template is nil if its kind was not read.
func describeIgnored(template *inspect.Job, waiting []*inspect.Job) view.Sighting {
	slices.SortStableFunc(waiting, func(a, b *inspect.Job) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	oldest := waiting[0]
	s := view.Sighting{Since: oldest.CreationTimestamp.Time, Jobs: waiting}
	if template != nil {
		s.Evidence = append(s.Evidence, quote.Owner(template))
	} else {
		template = advice.ControllerOf(oldest)
	}
	row := template.Row()
	s.Object = view.Of(template)
	left := view.Of(oldest).String()
	if len(waiting) > 1 {
		left = fmt.Sprintf("%d of them", len(waiting))
	}
	s.Message = fmt.Sprintf("it creates %s for %s, but no controller picked up %s; %s", quote.Plural(oldest), oldest.ManagedBy, left, consequence(template.Concurrency, len(waiting)))
	if template.Concurrency != "" {
		s.Evidence = append(s.Evidence, fmt.Sprintf("%s: spec.concurrencyPolicy of %s is %s", template.Context, s.Object.String(), template.Concurrency))
	}
	s.Evidence = append(s.Evidence, fmt.Sprintf("%s: %s controls %s", oldest.Context, s.Object.String(), view.Of(oldest).String()), quote.NeverWritten(oldest))
	disown := command.Say("remove the owner from the %s: %s", template.Kind, advice.SetField(template, row.ManagedBy, nil))
	s.Remedy = command.Say("check that the controller of %s runs and picks them up; or %s, and delete the waiting ones: %s",
		oldest.ManagedBy, disown, advice.DeleteJob(oldest))
	if meant := delegation.SuggestOwner(oldest.ManagedBy); meant != "" {
		s.Remedy = command.Say("correct the owner to %s: %s; and delete the waiting ones: %s", string(meant), advice.SetField(template, row.ManagedBy, string(meant)), advice.DeleteJob(oldest))
	}
	if oldest.ManagedBy == delegation.Dispatch && advice.CanDispatch(oldest.Row()) {
		s.Remedy = command.Say("dispatch the waiting ones: %s; or %s, and delete them", advice.DispatchTo(oldest, "CONTEXT", oldest.Namespace), disown)
	}
	return s
}

// consequence describes the effect of the template's concurrencyPolicy if
// objects are left. policy is "" if unknown.
func consequence(policy string, left int) string {
	switch {
	case policy == string(batchv1.ForbidConcurrent):
		return "with its concurrencyPolicy Forbid, no later run starts"
	case policy == string(batchv1.ReplaceConcurrent):
		return "with its concurrencyPolicy Replace, each is deleted for the next one, so none ever runs"
	case policy == string(batchv1.AllowConcurrent), left > 1:
		return "each run adds one more"
	}
	return "if its concurrencyPolicy is Forbid, no later run starts"
}
