package rules

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

func templateForNobody() Rule {
	return Rule{
		Code: "JM307", Title: "no controller picks up the objects it creates", Severity: inspect.Warning,
		Holds: "the objects of every delegated template are picked up",
		Reads: []inspect.Part{inspect.PartJobs},
		Why: `A CronJob makes its Jobs for the owner that its jobTemplate names, and goes by their status alone: a Job that
nobody takes up counts as active for ever. With concurrencyPolicy Forbid no later run begins then; with Allow one more
Job is left each time; and with Replace each is deleted for the next one, so that none ever runs.`,
		Shows: `Jobs that the CronJob controls have managedBy, and nobody ever wrote their status.`,
		Remedy: `See that the owner's controller runs and takes these Jobs up. Or take managedBy off the jobTemplate, where
it can be changed at any time, and delete the Jobs that wait; the next run then is on this cluster.`,
		Link: "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/#concurrency-policy",
		Detect: func(v *View) {
			for _, f := range v.Clusters() {
				v.reportTemplates(f)
			}
		},
	}
}

// reportTemplates reports the templates of a cluster of which something waits.
func (v *View) reportTemplates(f *inspect.Facts) {
	var waiting []*inspect.Job
	for _, j := range v.Jobs(f) {
		if j.Controller == nil || j.ManagedBy.IsBuiltIn() || !isWaiting(j) {
			continue
		}
		row, known := delegation.KindOf(schema.FromAPIVersionAndKind(j.Controller.APIVersion, j.Controller.Kind))
		if known && row.Template {
			waiting = append(waiting, j)
		}
	}
	for _, those := range grouped(waiting, func(j *inspect.Job) string { return string(j.Controller.UID) }) {
		template := v.jobOfUID(f, those.key)
		if template == nil || !template.Suspended && template.DeletedAt == nil {
			v.Report(notTakenOf(template, those.values))
		}
	}
}

// notTakenOf tells of a template whose objects wait to be taken up; the template is
// nil where its kind was not read.
func notTakenOf(template *inspect.Job, waiting []*inspect.Job) Sighting {
	slices.SortStableFunc(waiting, func(a, b *inspect.Job) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	oldest := waiting[0]
	s := Sighting{Since: oldest.CreationTimestamp.Time, Jobs: waiting}
	if template != nil {
		s.Evidence = append(s.Evidence, ownerOf(template))
	} else {
		c := oldest.Controller
		template = &inspect.Job{Context: oldest.Context, APIVersion: c.APIVersion, Kind: c.Kind, Namespace: oldest.Namespace, Name: c.Name}
	}
	row := template.Row()
	s.Object = Of(template)
	left := named(Of(oldest))
	if len(waiting) > 1 {
		left = fmt.Sprintf("%d of them", len(waiting))
	}
	s.Message = fmt.Sprintf("it makes %s for %s, but no controller picked up %s; %s", plural(oldest), oldest.ManagedBy, left, consequence(template.Concurrency, len(waiting)))
	if template.Concurrency != "" {
		s.Evidence = append(s.Evidence, fmt.Sprintf("%s: spec.concurrencyPolicy of %s is %s", template.Context, named(s.Object), template.Concurrency))
	}
	s.Evidence = append(s.Evidence, fmt.Sprintf("%s: %s controls %s", oldest.Context, named(s.Object), named(Of(oldest))), notWritten(oldest))
	s.Remedy = command.Say("see that the controller of %s runs, and takes them up; or %s, and delete those that wait: %s",
		oldest.ManagedBy, set(template, row.ManagedBy, nil), deleteJob(oldest))
	if oldest.ManagedBy == delegation.Dispatch && mayDispatch(oldest.Row()) {
		s.Remedy = command.Say("dispatch those that wait: %s; or %s, and delete them", dispatchTo(oldest, "CONTEXT", oldest.Namespace), set(template, row.ManagedBy, nil))
	}
	return s
}

// consequence is what comes of it that so many are left, by the template's
// concurrencyPolicy, "" where that is not known.
func consequence(policy string, left int) string {
	switch {
	case policy == string(batchv1.ForbidConcurrent):
		return "with its concurrencyPolicy Forbid, no later run begins"
	case policy == string(batchv1.ReplaceConcurrent):
		return "with its concurrencyPolicy Replace, each is deleted for the next one, so that none ever runs"
	case policy == string(batchv1.AllowConcurrent), left > 1:
		return "one more is left with each run"
	}
	return "if its concurrencyPolicy is Forbid, no later run begins"
}
