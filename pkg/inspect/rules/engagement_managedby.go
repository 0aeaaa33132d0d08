package rules

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

func managedByMissing() Rule {
	return Rule{
		Code: "JM012", Title: "submitted to MultiKueue without managedBy", Severity: inspect.Error,
		Families: []Family{FamilyMultiKueue},
		Reads:    []inspect.Part{inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartVersion},
		Why: `MultiKueue only takes objects whose managedBy is kueue.x-k8s.io/multikueue, for else a second controller
would run them on the management cluster. Kueue's webhook sets it when the object is made, if the queue is then known to
lead to MultiKueue. It was not set where the webhook was away, where the queue or its check came later than the object,
where the label of the queue was added later, or where the API server dropped the field: before Kubernetes 1.32 it does
so with a Job's unless the feature gate JobManagedBy is on. Of a Job, and of most other kinds, the field cannot be set
afterwards.`,
		Shows: `MultiKueue's admission check of the Workload is Rejected with "The owner is not managed by Kueue", the
Workload is deactivated with reason DeactivatedDueToAdmissionCheck, and the object stays suspended.`,
		Remedy: `Delete the object and create it again once Kueue's webhook answers and the queue is active; or write
managedBy into the manifest, as recreate does for an object that is there.`,
		Link: "https://github.com/kubernetes-sigs/kueue/pull/2401",
		Detect: func(v *View) {
			for _, r := range rejections(v, "The owner is not managed by Kueue: Expecting spec.") {
				reportManagedByMissing(v, r)
			}
		},
	}
}

// firstWithField is the first Kubernetes that keeps a Job's managedBy by default.
const firstWithField = "1.32.0"

func reportManagedByMissing(v *View, r rejection) {
	s := r.sighting()
	server := v.Version(r.manager)
	if r.job == nil {
		field := "spec.managedBy"
		if row, known := delegation.KindOf(r.ownerKind()); known {
			field = fieldOf(row)
		}
		s.Message = fmt.Sprintf("MultiKueue rejected it, because the %s's %s is not %s", r.kind(), field, delegation.MultiKueue)
		s.Remedy = command.Say("delete the %s that Workload %s/%s was made for, and create it again with %s: %s",
			r.kind(), r.workload.Namespace, r.workload.Name, field, delegation.MultiKueue)
		v.Report(s)
		return
	}
	j := r.job
	s.Message = "MultiKueue rejected it, because its managedBy is not " + string(delegation.MultiKueue)
	if j.ManagedBy.IsBuiltIn() {
		s.Message = "MultiKueue rejected it, because its managedBy is not set; it will never run"
	}
	s.Remedy = giveTo(j, delegation.MultiKueue)
	if mayChange(j) {
		s.Remedy += ", and then " + r.again().Prose()
	}
	if parsed, err := version.ParseGeneric(server); j.Row().IsJob() && err == nil && parsed.LessThan(version.MustParseGeneric(firstWithField)) {
		s.Evidence = append(s.Evidence, fmt.Sprintf("%s: the API server is %s; before 1.32 it drops spec.managedBy unless the feature gate JobManagedBy is on", r.manager.Context, server))
		s.Remedy = command.Say("upgrade %s to Kubernetes 1.32 or later, then %s", r.manager.Context, s.Remedy)
	}
	v.Report(s)
}
