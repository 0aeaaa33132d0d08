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

func twoMirrors() Rule {
	return Rule{
		Code: "JM107", Title: "runs on several clusters at once", Severity: inspect.Error,
		Holds: "every Job runs on one cluster only",
		Reads: []inspect.Part{inspect.PartJobs},
		Why: `An origin has one mirror. Here its owner made another one without deleting the first: it could not reach
the first one's cluster, or lost sight of it, or two of its controllers run. The work is done twice, and the origin
tells now of the one, now of the other.`,
		Shows: `Two or more Jobs that are not finished carry the mark of the same incarnation of one origin.`,
		Remedy: `Find out which of them the origin's status is copied from, by its startTime for example, and delete the
others.`,
		Link: kepManagedBy,
		Detect: func(v *View) {
			for _, p := range v.Pairs() {
				var live []*inspect.Job
				var last time.Time
				for _, m := range p.Mirrors {
					if m.Current && m.Relation != inspect.ByName && isLiveJob(m.Job) {
						live = append(live, m.Job)
						last = newest(last, v.On(p.Origin.Context, m.Job.Context, m.Job.CreationTimestamp.Time))
					}
				}
				if len(live) > 1 && p.Origin.DeletedAt == nil {
					v.Report(runsTwice(p.Origin, live, last))
				}
			}
		},
	}
}

func runsTwice(origin *inspect.Job, live []*inspect.Job, since time.Time) Sighting {
	s := Sighting{
		Object: Of(origin), Since: since, Jobs: []*inspect.Job{origin},
		Evidence: []string{stateOf(origin)},
	}
	isKept := func(j *inspect.Job) bool {
		return origin.StartTime != nil && j.StartTime != nil && origin.StartTime.Equal(j.StartTime)
	}
	// The one that the origin names is its mirror, whenever others have begun.
	isNamed := func(j *inspect.Job) bool { return origin.Pinned().UID == j.UID }
	if slices.ContainsFunc(live, isNamed) {
		isKept = isNamed
		s.Evidence = append(s.Evidence, pinOf(origin))
	}
	var places []string
	var all, others []command.Command
	for _, j := range live {
		places = append(places, j.Context)
		s.Evidence = append(s.Evidence, stateOf(j), markOf(j))
		all = append(all, deleteJob(j))
		if !isKept(j) {
			others = append(others, deleteJob(j))
		}
	}
	s.Message = "it runs on " + strings.Join(places, " and ") + " at once"
	s.Remedy = "delete all but one of the mirrors: " + command.JoinCommands(others, "; ")
	if len(others) == 0 || len(others) == len(live) {
		// Nothing tells which of them is the right one.
		s.Remedy = "delete all but one of the mirrors: " + command.JoinCommands(all, ", or ")
	}
	return s
}

func olderMirror() Rule {
	return Rule{
		Code: "JM108", Title: "the mirror of an older Job of the same name still exists", Severity: inspect.Error,
		Holds: "no mirror of an older Job blocks a Job",
		Reads: []inspect.Part{inspect.PartJobs},
		Why: `The origin was deleted and created again under the same name, and nobody deleted the mirror of the old one.
It runs what nobody asks for any more, and keeps the place that the new mirror may need.`,
		Shows: `A Job has the annotation jobmanagedby.github.io/origin, and its label jobmanagedby.github.io/origin-uid is
not the uid of the Job that stands at that place now.`,
		Remedy: `Delete the old mirror.`,
		Link:   kepManagedBy,
		Detect: func(v *View) {
			for _, p := range v.Pairs() {
				for _, m := range p.Mirrors {
					j := m.Job
					if m.Current || m.Relation != inspect.ByDispatch || j.DeletedAt != nil || p.Origin.DeletedAt != nil {
						continue
					}
					s := Sighting{
						Object: Of(j), Jobs: []*inspect.Job{j, p.Origin},
						Since:   newest(v.On(j.Context, p.Origin.Context, p.Origin.CreationTimestamp.Time), timeOf(j.FinishedTime)),
						Message: fmt.Sprintf("it belongs to an older %s of the same name as %s/%s on %s", j.Kind, p.Origin.Namespace, p.Origin.Name, p.Origin.Context),
						Evidence: []string{
							markOf(j), stateOf(j),
							fmt.Sprintf("%s: metadata.uid of %s is %s, created %s", p.Origin.Context, named(Of(p.Origin)), p.Origin.UID, stamp(p.Origin.CreationTimestamp)),
						},
						Remedy: deleteJob(j).Prose(),
					}
					if j.Status.IsFinished() {
						s.Severity = inspect.Info
					}
					v.Report(s)
				}
			}
		},
	}
}

// builtIn is what the built-in controller calls itself in managedFields.
const builtIn = "kube-controller-manager"

func podsOfOrigin() Rule {
	return Rule{
		Code: "JM109", Title: "the built-in controller runs it as well", Severity: inspect.Error,
		Holds: "the built-in controller leaves delegated Jobs alone",
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartPods},
		Why: `The built-in Job controller leaves a Job with managedBy alone; here it does not. The feature gate
JobManagedBy is off in kube-controller-manager but not in the API server, or an older kube-controller-manager leads
since a downgrade or while an upgrade goes on. Both it and the Job's owner write the status, and the pods run twice.`,
		Shows: `kube-controller-manager is among the managers that have written the status of a delegated Job; or a Job of
MultiKueue's, or one that was dispatched, controls pods on its own cluster.`,
		Remedy: `Turn the feature gate on in every kube-controller-manager (it is by default from Kubernetes 1.32 on, and
cannot be turned off from 1.35 on). Then delete the Job with its pods and create it again.`,
		Link: kepManagedBy,
		Detect: func(v *View) {
			for _, p := range v.Pairs() {
				// Of other kinds, JM301 and JM302 tell.
				if p.Origin.Row().IsJob() {
					reportTwoWriters(v, p.Origin)
				}
			}
		},
	}
}

// reportTwoWriters reports a delegated Job that the built-in controller has
// touched. Owners other than those two may well run its pods where it is.
func reportTwoWriters(v *View, j *inspect.Job) {
	f, _ := v.Facts(j.Context)
	var evidence, names []string
	since := j.CreationTimestamp.Time
	if slices.Contains(j.StatusWriters, builtIn) {
		evidence = append(evidence, fmt.Sprintf("%s: metadata.managedFields of %s has %s as a writer of status", j.Context, named(Of(j)), builtIn))
	}
	if j.ManagedBy == delegation.MultiKueue || j.ManagedBy == delegation.Dispatch {
		pods, _ := v.Pods(f, j)
		for _, pod := range pods {
			names = append(names, pod.Name)
			since = newest(since, pod.CreationTimestamp.Time)
		}
	}
	if len(names) > 0 {
		slices.Sort(names)
		evidence = append(evidence, fmt.Sprintf("%s: %s controls %d pods there: %s", j.Context, named(Of(j)), len(names), strings.Join(names[:min(few, len(names))], ", ")))
	}
	if len(evidence) == 0 || j.DeletedAt != nil {
		return
	}
	evidence = append(evidence, ownerOf(j))
	v.Report(Sighting{
		Object: Of(j), Since: since, Jobs: []*inspect.Job{j}, Evidence: evidence,
		Message: fmt.Sprintf("it is managed by %s, but the built-in controller of %s runs it too", j.ManagedBy, j.Context),
		Remedy:  command.Say("turn the feature gate JobManagedBy on in kube-controller-manager of %s; then %s, and create it again", j.Context, deleteJob(j)),
	})
}
