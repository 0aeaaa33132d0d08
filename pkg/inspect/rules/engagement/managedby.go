package engagement

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func managedByMissing() view.Rule {
	return view.Rule{
		Code: "JM012", Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartQueues, inspect.PartChecks, inspect.PartVersion,
		},
		Detect: func(v *view.View) {
			for _, r := range rejections(v, "The owner is not managed by Kueue: Expecting spec.") {
				reportManagedByMissing(v, r)
			}
			reportToBeRejected(v)
		},
	}
}

func reportManagedByMissing(v *view.View, r rejection) {
	s := r.sighting()
	server := v.Version(r.manager)
	if r.job == nil {
		field := "spec.managedBy"
		if row, known := delegation.KindOf(r.ownerKind()); known {
			field = quote.OwnerField(row)
		}
		s.Message = fmt.Sprintf("MultiKueue rejected it: the %s's %s is not %s", r.kind(), field, delegation.MultiKueue)
		s.Remedy = command.Say("delete the %s that owns Workload %s/%s, and create it again with %s: %s",
			r.kind(), r.workload.Namespace, r.workload.Name, field, delegation.MultiKueue)
		v.Report(s)
		return
	}
	j := r.job
	if hasLeftQueue(j) {
		return
	}
	s.Message = "MultiKueue rejected it: managedBy is not " + string(delegation.MultiKueue)
	if j.ManagedBy.IsBuiltIn() {
		s.Message = "it will never run: managedBy " + quote.OwnerValue(j) + ", and MultiKueue rejected it"
	}
	give := advice.GiveTo(v, j, delegation.MultiKueue)
	if r.workload.Spec.QueueName != "" && advice.CanRecreate(j, delegation.MultiKueue) && j.Controller == nil && !advice.CanChangeOwner(j) {
		// The label of the queue may have been removed since.
		give = command.Say("give it to MultiKueue: %s", advice.RecreateIn(v, j, delegation.MultiKueue, r.workload.Spec.QueueName))
	}
	if advice.CanChangeOwner(j) {
		give += ", and then " + r.recreateCommand().Prose()
	}
	s.Remedy = giveOrLeave(j, give)
	if parsed, err := version.ParseGeneric(server); j.Row().IsJob() && !j.NamesBuiltIn && err == nil && parsed.LessThan(version.MustParseGeneric(view.FirstWithManagedBy)) {
		s.Evidence = append(s.Evidence, fmt.Sprintf("%s: the API server is %s; before 1.32 it drops spec.managedBy unless the feature gate JobManagedBy is on", r.manager.Context, server))
		s.Remedy = command.Say("upgrade %s to Kubernetes 1.32 or later, then %s", r.manager.Context, s.Remedy)
	}
	addFieldMissing(r.manager, j, &s)
	v.Report(s)
}

// hasLeftQueue reports whether a Job that is not for MultiKueue was removed from its queue and resumed, as the
// fix of a rejection says. Only its Workload remains.
func hasLeftQueue(j *inspect.Job) bool {
	return j.Queue() == "" && !j.Suspended && j.ManagedBy != delegation.MultiKueue
}

// addFieldMissing adds to the sighting of an object without an owner that its
// cluster serves the kind without the field. Setting the field has no effect
// then.
func addFieldMissing(f *inspect.Facts, j *inspect.Job, s *view.Sighting) {
	kind := f.KindOf(j)
	if !kind.WithoutField || !j.ManagedBy.IsBuiltIn() || j.NamesBuiltIn {
		return
	}
	s.Evidence = append(s.Evidence, fmt.Sprintf("%s: %s of %s has no %s, by its schema: the API server drops what is written there",
		f.Context, kind.ResourceName(), kind.Resource.GroupVersion(), quote.OwnerField(kind)))
	newer := "a version that has it"
	if kind.Since != "" {
		newer = kind.Since + " or later"
	}
	s.Remedy = command.Say("upgrade the operator of %s and its CRDs on %s to %s, then %s", quote.Plural(j), f.Context, newer, s.Remedy)
}

// giveOrLeave returns the remedy for a Job that MultiKueue does not take. It offers both ways,
// because the user of a wrong queue does not want to give the Job to MultiKueue. A Job whose owner
// looks like a typo of MultiKueue's goes to MultiKueue first.
func giveOrLeave(j *inspect.Job, give command.Prose) command.Prose {
	leave := leaveQueue(j)
	switch {
	case leave == "":
		return give
	case j.ManagedBy.IsBuiltIn():
		return command.Say("%s; or to run it on %s itself, %s", give, j.Context, leave)
	case delegation.NearestOwner(j.ManagedBy, delegation.KnownOwners()) == delegation.MultiKueue:
		return command.Say("%s; or to keep owner %s, %s", give, string(j.ManagedBy), leave)
	}
	return command.Say("to keep owner %s, %s; or %s", string(j.ManagedBy), leave, give)
}

// leaveQueue returns how to remove an object from its queue and resume it. Kueue does not resume it
// then, nor if its label was removed before. It returns "" if there is nothing to do.
func leaveQueue(j *inspect.Job) command.Prose {
	var steps []command.Prose
	if j.Queue() != "" {
		steps = append(steps, command.Say("remove the %s from the queue: %s", j.Kind, advice.KubectlJob(j, "label").With(delegation.QueueNameLabel+"-")))
	}
	for _, indicator := range j.Row().Indicators.Suspend {
		if j.Suspended && slices.Equal(indicator.Values, []string{"true"}) {
			steps = append(steps, command.Say("resume it: %s", advice.SetField(j, indicator.Path, false)))
			break
		}
	}
	return command.Join(steps, ", and then ")
}

// reportToBeRejected reports the Jobs that MultiKueue will reject once their
// queue continues.
func reportToBeRejected(v *view.View) {
	for _, f := range v.Clusters() {
		if !v.Dispatches(f) {
			continue
		}
		for _, j := range v.Jobs(f) {
			if !mayBeRejected(j) {
				continue
			}
			workloads, _ := v.WorkloadsOf(inspect.Pair{Origin: j}, f)
			if is, _ := v.IsDispatched(f, j.Namespace, j.Queue()); !is || len(workloads) == 0 {
				continue
			}
			if w := workloads[len(workloads)-1]; w.IsActive() && rejectedBy(v, f, w) == nil && !w.Is(kueue.Finished) {
				v.Report(toBeRejected(v, f, j, w))
			}
		}
	}
}

// mayBeRejected reports whether an object is in a queue and will be
// considered, but is not managed by MultiKueue.
func mayBeRejected(j *inspect.Job) bool {
	row := j.Row()
	if row.Template || row.IsUnmanaged() || j.IsPart() || j.IsMirror() {
		return false
	}
	return j.Queue() != "" && j.ManagedBy != delegation.MultiKueue && j.IsOpen()
}

func toBeRejected(v *view.View, f *inspect.Facts, j *inspect.Job, w *kueue.Workload) view.Sighting {
	s := view.Sighting{
		Object: view.Of(j), Since: j.CreationTimestamp.Time, Jobs: []*inspect.Job{j},
		Message: fmt.Sprintf("its queue uses MultiKueue, which will reject it: managedBy is not %s", delegation.MultiKueue),
		Evidence: []string{
			fmt.Sprintf("%s: label %s of %s is %s, whose ClusterQueue has a MultiKueue check", f.Context, delegation.QueueNameLabel, view.Of(j).String(), j.Queue()),
			quote.Owner(j),
		},
		Remedy: giveOrLeave(j, advice.GiveTo(v, j, delegation.MultiKueue)),
	}
	if j.ManagedBy.IsBuiltIn() {
		s.Message = "it will never run: its queue uses MultiKueue, but managedBy " + quote.OwnerValue(j)
	}
	if wait, held := view.HoldOf(w); held {
		s.Evidence = append(s.Evidence, quote.WorkloadCondition(f, w, wait.Condition))
	}
	addFieldMissing(f, j, &s)
	return s
}
