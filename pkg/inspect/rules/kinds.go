package rules

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// kinds are the traps of kinds other than Job: how each of them guards managedBy,
// and whether its controller heeds it (JM301 and on).
func kinds() []Rule {
	return []Rule{fieldIgnored(), begunBefore(), takenFromMirror(), writtenBlind(), ownerRefused(), ownerWithoutDomain(), templateForNobody()}
}

func fieldIgnored() Rule {
	return Rule{
		Code: "JM301", Title: "its own controller ignores managedBy and runs it as well", Severity: inspect.Error,
		Holds: "no other controller runs a delegated object that ignores managedBy",
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartPods},
		Why: `The kind has managedBy, and its controller on the origin's cluster does not heed it: Kubeflow Trainer does from
v2.3.0 on, while TrainJobs have the field since v2.0.0. What is delegated then runs twice, on its own cluster and on
that of its mirror, and both write the origin's status.`,
		Shows: `A TrainJob that MultiKueue manages controls a JobSet on its own cluster, or pods are there that belong to
it. A JobSet that is suspended runs as soon as the TrainJob is resumed.`,
		Remedy: `Upgrade Kubeflow Trainer on the management cluster to v2.3.0 or later, and then delete what it has made
there; what is on the worker goes on. Until then submit TrainJobs to no queue that dispatches.`,
		Link:   "https://github.com/kubeflow/trainer/issues/3632",
		Covers: []string{"JM104", "JM110"},
		Detect: func(v *View) {
			v.eachOwnRun(func(r ownRun) {
				row := r.job.Row()
				if row.Ignored == "" {
					return
				}
				s := r.sighting()
				s.Message = fmt.Sprintf("%s ignores %s; the controller on %s %s", row.Ignored, fieldOf(row), r.job.Context, r.what())
				s.Remedy = command.Say("upgrade it on %s to %s or later, and then delete what it has made there: %s", r.job.Context, row.Since, r.delete())
				v.Report(s)
			})
		},
	}
}

func begunBefore() Rule {
	return Rule{
		Code: "JM302", Title: "its own controller runs it as well", Severity: inspect.Error,
		Holds: "the controllers of all kinds leave delegated objects alone",
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartPods},
		Why: `The kind's own controller leaves alone what is delegated, but does not undo what it did before. Of many kinds
managedBy can be set on an object that is there already, for a webhook, and not the API server, guards it, or nothing
does: a RayJob's can be taken off and set anew, and a PyTorchJob's can be changed at any time. Who delegates what
already runs has it run twice. It looks the same where the controller is older than the field, and so does not know it.`,
		Shows: `An object that MultiKueue or dispatch manages controls others on its own cluster, such as a RayJob its
RayCluster or a JobSet its Jobs, or pods are there that belong to it.`,
		Remedy: `Delete what the object's own controller has made on its cluster; it is not made again. Or take managedBy
off, and delete the mirror. Where it is made again, upgrade that controller. Set managedBy when an object is created.`,
		Link:   "https://github.com/ray-project/kuberay/blob/master/ray-operator/apis/ray/v1/rayjob_types.go",
		Covers: []string{"JM104", "JM110"},
		Detect: func(v *View) {
			v.eachOwnRun(func(r ownRun) {
				row := r.job.Row()
				if row.Ignored != "" {
					return
				}
				s := r.sighting()
				s.Message = fmt.Sprintf("it is managed by %s, but its own controller on %s %s", r.job.ManagedBy, r.job.Context, r.what())
				s.Remedy = "delete what it has made there: " + r.delete()
				if row.Since != "" {
					s.Remedy += command.Say("; if that comes back, its controller on %s is older than %s, so upgrade it", r.job.Context, row.Since)
				}
				v.Report(s)
			})
		},
	}
}

// ownRun is a delegated object that its own controller has begun to run.
type ownRun struct {
	inspect.Pair
	job *inspect.Job
	// parts are what it controls on its own cluster, and pods those that belong to
	// it there.
	parts []*inspect.Job
	pods  []*inspect.Pod
}

// eachOwnRun visits the delegated objects, other than Jobs, of which something is on
// their own cluster. Owners other than MultiKueue and dispatch may well run them
// there.
func (v *View) eachOwnRun(visit func(ownRun)) {
	for _, p := range v.Pairs() {
		j := p.Origin
		isElsewhere := j.ManagedBy == delegation.MultiKueue || j.ManagedBy == delegation.Dispatch
		if !isElsewhere || !j.IsOpen() || j.Row().IsJob() {
			continue
		}
		f, ok := v.Facts(j.Context)
		if !ok {
			continue
		}
		r := ownRun{Pair: p, job: j, pods: v.ownPods(f, j)}
		for _, part := range v.partsOf(f, j) {
			if part.DeletedAt == nil {
				r.parts = append(r.parts, part)
			}
		}
		if len(r.parts)+len(r.pods) > 0 {
			visit(r)
		}
	}
}

// what says what the object's own controller does.
func (r *ownRun) what() string {
	switch {
	case len(r.parts) == 0:
		return fmt.Sprintf("runs %s of it", inspect.Count(len(r.pods), "pod"))
	case len(r.parts) > 1:
		return fmt.Sprintf("has made %s and %d more of it", named(Of(r.parts[0])), len(r.parts)-1)
	}
	return fmt.Sprintf("has made %s of it", named(Of(r.parts[0])))
}

func (r *ownRun) sighting() Sighting {
	j := r.job
	s := Sighting{Object: Of(j), Since: j.CreationTimestamp.Time, Jobs: []*inspect.Job{j}, Evidence: []string{ownerOf(j)}}
	runs := len(r.pods) > 0
	var last time.Time
	for i, part := range r.parts {
		runs = runs || isLiveJob(part)
		last = newest(last, part.CreationTimestamp.Time)
		if i < few {
			s.Evidence = append(s.Evidence, fmt.Sprintf("%s: %s controls %s, which is %s, created %s",
				j.Context, named(Of(j)), named(Of(part)), part.Status, stamp(part.CreationTimestamp)))
		}
	}
	if len(r.pods) > 0 {
		for _, pod := range r.pods {
			last = newest(last, pod.CreationTimestamp.Time)
		}
		names := r.podNames()
		s.Evidence = append(s.Evidence, fmt.Sprintf("%s: %s of %s: %s", j.Context, inspect.Count(len(names), "pod"), named(Of(j)), strings.Join(names[:min(few, len(names))], ", ")))
	}
	for _, m := range r.Mirrors {
		if m.Current {
			s.Evidence = append(s.Evidence, stateOf(m.Job))
		}
	}
	s.Since = newest(s.Since, last)
	if !runs {
		s.Severity = inspect.Warning
	}
	return s
}

func (r *ownRun) podNames() []string {
	var names []string
	for _, pod := range r.pods {
		names = append(names, pod.Name)
	}
	slices.Sort(names)
	return names
}

// delete are the commands that delete what the object's own controller has made.
func (r *ownRun) delete() command.Prose {
	var commands []command.Command
	for _, part := range r.parts {
		commands = append(commands, deleteJob(part))
	}
	if len(commands) == 0 {
		commands = append(commands, command.Kubectl(r.job.Context, r.job.Namespace, "delete", "pods").With(r.podNames()...))
	}
	return command.JoinCommands(commands, "; ")
}
