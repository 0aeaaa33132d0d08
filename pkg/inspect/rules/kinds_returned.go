package rules

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

func takenFromMirror() Rule {
	return Rule{
		Code: "JM303", Title: "no longer delegated, but the mirror runs", Severity: inspect.Error,
		Holds: "no mirror runs for an object that is no longer delegated",
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartWorkloads},
		Why: `Somebody took managedBy off the origin, or wrote it anew without the field, after its mirror had been made.
Of a Job that cannot be done, but of other kinds it can: the rule that guards a RayJob's managedBy is skipped where the
old or the new value is absent, the webhook for PyTorchJobs compares the object with itself, and others guard it by a
webhook that may not be installed. The origin's own controller runs it from then on, and nobody looks after the mirror,
so that the work is done twice.`,
		Shows: `The mirror carries MultiKueue's label or that of dispatch, and its Workload's name, or that label, has the
uid of an object that is there, not finished, and without an owner.`,
		Remedy: `Delete the mirror. Or delegate the origin again, where its kind lets you, and delete what its own controller
has made meanwhile (JM302).`,
		Link:   "https://github.com/ray-project/kuberay/blob/master/ray-operator/config/crd/bases/ray.io_rayjobs.yaml",
		Covers: []string{"JM012", "JM053", "JM057", "JM058", "JM062", "JM106"},
		Detect: func(v *View) {
			for _, r := range v.returned() {
				v.Report(r.sighting(v))
			}
		},
	}
}

// owner is who made the mirror.
func (r *returned) owner() delegation.Owner {
	if r.mirror.Marks.OriginUID != "" {
		return delegation.Dispatch
	}
	return delegation.MultiKueue
}

func (r *returned) sighting(v *View) Sighting {
	o, m := r.origin, r.mirror
	s := Sighting{
		Object: Of(o), Jobs: []*inspect.Job{o, m},
		Since:   newest(timeOf(o.SpecWrittenAt), v.On(o.Context, m.Context, m.CreationTimestamp.Time)),
		Message: fmt.Sprintf("it is no longer managed by %s, but its mirror on %s still runs", r.owner(), m.Context),
		Evidence: []string{
			ownerNotSet(o), r.proof, stateOf(m), stateOf(o),
		},
		Remedy: command.Say("to have it run on %s alone: %s; to have it run elsewhere: %s", o.Context, deleteJob(m), giveTo(o, r.owner())),
	}
	if isLiveJob(o) {
		s.Message = fmt.Sprintf("it runs twice: no longer managed by %s, it runs on %s, and its mirror on %s still runs", r.owner(), o.Context, m.Context)
	} else {
		s.Severity = inspect.Warning
	}
	return s
}

// ownerNotSet quotes that an object is not delegated.
func ownerNotSet(j *inspect.Job) string {
	return fmt.Sprintf("%s: %s of %s names no other controller than its own", j.Context, ownerField(j), named(Of(j)))
}

func writtenBlind() Rule {
	return Rule{
		Code: "JM304", Title: "written through an API version without managedBy", Severity: inspect.Error,
		Holds: "every object was written through a version that has managedBy",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartQueues,
		},
		Why: `The API serves several versions of the kind, and an older one does not have the field: ray.io/v1alpha1 of
RayJobs, RayClusters and RayServices. What is created or updated through that version loses managedBy without a word,
also where Kueue's webhook has set it, or where somebody else wrote it before. The kind's own controller then runs the
object on the management cluster.`,
		Shows: `managedFields has an entry with that apiVersion, managedBy is not set, and the object stands in a queue
that dispatches, or has a mirror.`,
		Remedy: `Write the object as ray.io/v1: change apiVersion in its manifest, and the client of whatever else writes
it. Then set managedBy, which can be done as long as it is not set, or create the object again.`,
		Link:   "https://github.com/ray-project/kuberay/tree/master/ray-operator/apis/ray/v1alpha1",
		Covers: []string{"JM012", "JM017", "JM303"},
		Detect: func(v *View) {
			told := map[*inspect.Job]bool{}
			for _, r := range v.returned() {
				as := writtenAs(r.origin)
				if as == "" || told[r.origin] {
					continue
				}
				told[r.origin] = true
				s := blind(r.origin, as)
				s.Evidence = append(s.Evidence, r.proof, stateOf(r.mirror))
				s.Jobs = append(s.Jobs, r.mirror)
				v.Report(s)
			}
			for _, s := range v.Submissions() {
				if as := writtenAs(s.Job()); as != "" && !told[s.Job()] && isLive(s) {
					v.reportBlind(s, as)
				}
			}
		},
	}
}

// writtenAs is the version without managedBy through which an object was written
// that is not delegated; "" if there is none.
func writtenAs(j *inspect.Job) string {
	if !j.ManagedBy.IsBuiltIn() || len(j.WrittenAs) == 0 {
		return ""
	}
	row := j.Row()
	for _, version := range row.Blind {
		gv := schema.GroupVersion{Group: row.Resource.Group, Version: version}.String()
		if slices.Contains(j.WrittenAs, gv) {
			return gv
		}
	}
	return ""
}

func blind(j *inspect.Job, as string) Sighting {
	row := j.Row()
	return Sighting{
		Object: Of(j), Jobs: []*inspect.Job{j}, Since: newest(timeOf(j.SpecWrittenAt), j.CreationTimestamp.Time),
		Message: fmt.Sprintf("it was written as %s, which has no %s: it is not delegated", as, fieldOf(row)),
		Evidence: []string{
			fmt.Sprintf("%s: metadata.managedFields of %s has apiVersion %s", j.Context, named(Of(j)), as),
			ownerNotSet(j), stateOf(j),
		},
		Remedy: command.Say("have whoever writes it use %s, and then %s", row.Resource.GroupVersion(), giveTo(j, delegation.MultiKueue)),
	}
}

// reportBlind reports what was submitted to a queue that dispatches.
func (v *View) reportBlind(submission Submission, as string) {
	j := submission.Job()
	if is, _ := v.isDispatched(submission.Manager, j.Namespace, j.Queue()); !is {
		return
	}
	s := blind(j, as)
	s.Evidence = append(s.Evidence, fmt.Sprintf("%s: label %s of %s is %s, whose ClusterQueue has a MultiKueue check",
		j.Context, delegation.QueueNameLabel, named(Of(j)), j.Queue()))
	if w := submission.Workload; w != nil && !w.IsActive() {
		s.Remedy += ", and then " + (&rejection{manager: submission.Manager, workload: w}).again().Prose()
	}
	v.Report(s)
}
