package rules

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func managedByMissing() Rule {
	return Rule{
		Code: "JM012", Title: "submitted to MultiKueue without managedBy", Severity: inspect.Error,
		Holds: "every Job in a MultiKueue queue has managedBy",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartQueues, inspect.PartChecks, inspect.PartVersion,
		},
		Why: `MultiKueue only takes objects whose managedBy is kueue.x-k8s.io/multikueue, for else a second controller
would run them on the management cluster. Kueue's webhook sets it when the object is made, if the queue is then known to
lead to MultiKueue. It was not set where the webhook was away, where the queue or its check came later than the object,
where the label of the queue was added later, or where the API server dropped the field: before Kubernetes 1.32 it does
so with a Job's unless the feature gate JobManagedBy is on, and with other kinds' wherever their definitions are older
than the field. A mirror carries no managedBy, so that on workers such versions do no harm. Of a Job, and of most other kinds, the field cannot be set
afterwards.`,
		Shows: `MultiKueue's admission check of the Workload is Rejected with "The owner is not managed by Kueue", the
Workload is deactivated with reason DeactivatedDueToAdmissionCheck, and the object stays suspended. As long as its queue
holds it, nothing of that is to be seen, but for the managedBy that is missing.`,
		Remedy: `Delete the object and create it again once Kueue's webhook answers and the queue is active; or write
managedBy into the manifest, as recreate does for an object that is there. What is meant for another owner than MultiKueue,
or for this cluster, has to leave the queue: take the label kueue.x-k8s.io/queue-name off, and resume it.`,
		Link: "https://github.com/kubernetes-sigs/kueue/pull/2401",
		Detect: func(v *View) {
			for _, r := range rejections(v, "The owner is not managed by Kueue: Expecting spec.") {
				reportManagedByMissing(v, r)
			}
			reportToBeRejected(v)
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
		s.Message = fmt.Sprintf("MultiKueue rejected it: the %s's %s is not %s", r.kind(), field, delegation.MultiKueue)
		s.Remedy = command.Say("delete the %s that Workload %s/%s was made for, and create it again with %s: %s",
			r.kind(), r.workload.Namespace, r.workload.Name, field, delegation.MultiKueue)
		v.Report(s)
		return
	}
	j := r.job
	s.Message = "MultiKueue rejected it: managedBy is not " + string(delegation.MultiKueue)
	if j.ManagedBy.IsBuiltIn() {
		s.Message = "it will never run: managedBy is not set, and MultiKueue rejected it"
	}
	give := giveTo(j, delegation.MultiKueue)
	if mayChange(j) {
		give += ", and then " + r.again().Prose()
	}
	s.Remedy = giveOrLeave(j, give)
	if parsed, err := version.ParseGeneric(server); j.Row().IsJob() && err == nil && parsed.LessThan(version.MustParseGeneric(firstWithField)) {
		s.Evidence = append(s.Evidence, fmt.Sprintf("%s: the API server is %s; before 1.32 it drops spec.managedBy unless the feature gate JobManagedBy is on", r.manager.Context, server))
		s.Remedy = command.Say("upgrade %s to Kubernetes 1.32 or later, then %s", r.manager.Context, s.Remedy)
	}
	tellFieldless(r.manager, j, &s)
	v.Report(s)
}

// tellFieldless says of an object without an owner where its cluster serves the kind
// without the field, so that no writing of it helps.
func tellFieldless(f *inspect.Facts, j *inspect.Job, s *Sighting) {
	kind := f.KindOf(j)
	if !kind.WithoutField || !j.ManagedBy.IsBuiltIn() {
		return
	}
	s.Evidence = append(s.Evidence, fmt.Sprintf("%s: %s of %s has no %s, by its schema: the API server drops what is written there",
		f.Context, kind.ResourceName(), kind.Resource.GroupVersion(), fieldOf(kind)))
	newer := "a version that has it"
	if kind.Since != "" {
		newer = kind.Since + " or later"
	}
	s.Remedy = command.Say("have what runs %s on %s upgraded, with its definitions, to %s, then %s", plural(j), f.Context, newer, s.Remedy)
}

// giveOrLeave is what to do about a Job that MultiKueue does not take: to give it to
// MultiKueue is not what everybody wants who is in the wrong queue.
func giveOrLeave(j *inspect.Job, give command.Prose) command.Prose {
	leave := leaveQueue(j)
	if j.ManagedBy.IsBuiltIn() {
		return command.Say("%s; or, to run it on %s itself, %s", give, j.Context, leave)
	}
	return command.Say("for its owner %s, %s; or give it to MultiKueue: %s", string(j.ManagedBy), leave, give)
}

// leaveQueue takes an object out of its queue, and resumes it, which Kueue does not do then.
func leaveQueue(j *inspect.Job) command.Prose {
	leave := command.Say("take it out of the queue: %s", kubectlFor(j, "label").With(delegation.QueueNameLabel+"-"))
	for _, sign := range j.Row().Reading.Held {
		if j.Suspended && slices.Equal(sign.In, []string{"true"}) {
			return command.Say("%s, and then resume it: %s", leave, set(j, sign.Path, false))
		}
	}
	return leave
}

// reportToBeRejected reports what MultiKueue will reject once its queue goes on.
func reportToBeRejected(v *View) {
	for _, f := range v.Clusters() {
		if !v.Dispatches(f) {
			continue
		}
		for _, j := range v.Jobs(f) {
			if !mayBeRejected(j) {
				continue
			}
			workloads, _ := v.WorkloadsOf(inspect.Pair{Origin: j}, f)
			if is, _ := v.isDispatched(f, j.Namespace, j.Queue()); !is || len(workloads) == 0 {
				continue
			}
			if w := workloads[len(workloads)-1]; w.IsActive() && rejectedBy(v, f, w) == nil && !w.Is(kueue.Finished) {
				v.Report(toBeRejected(f, j, w))
			}
		}
	}
}

// mayBeRejected says whether an object is in a queue, and will be looked at, without
// being MultiKueue's.
func mayBeRejected(j *inspect.Job) bool {
	row := j.Row()
	if row.Template || row.IsUnmanaged() || j.IsPart() || j.IsMirror() {
		return false
	}
	return j.Queue() != "" && j.ManagedBy != delegation.MultiKueue && j.IsOpen()
}

func toBeRejected(f *inspect.Facts, j *inspect.Job, w *kueue.Workload) Sighting {
	s := Sighting{
		Object: Of(j), Since: j.CreationTimestamp.Time, Jobs: []*inspect.Job{j},
		Message: fmt.Sprintf("its queue leads to MultiKueue, which will reject it: managedBy is not %s", delegation.MultiKueue),
		Evidence: []string{
			fmt.Sprintf("%s: label %s of %s is %s, whose ClusterQueue has a check of MultiKueue's", f.Context, delegation.QueueNameLabel, named(Of(j)), j.Queue()),
			ownerOf(j),
		},
		Remedy: giveOrLeave(j, giveTo(j, delegation.MultiKueue)),
	}
	if j.ManagedBy.IsBuiltIn() {
		s.Message = "it will never run: its queue leads to MultiKueue, but managedBy is not set"
	}
	if wait, held := holdOf(w); held {
		s.Evidence = append(s.Evidence, conditionOf(f, w, wait.Condition))
	}
	tellFieldless(f, j, &s)
	return s
}
