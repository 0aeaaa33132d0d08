package rules

import (
	"fmt"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func mirrorGone() Rule {
	return Rule{
		Code: "JM105", Undated: true, Title: "the mirror is gone, but the status says otherwise", Severity: inspect.Error,
		Holds: "the mirror of every started Job exists",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `The mirror was deleted on its cluster: by a person, by a TTL, or with its namespace; somebody may have made
another Job of the same name since. The origin keeps the last status that was copied, and most often says that it runs.
The owner has not noticed, because its controller does not run or has no connection, or does not look after a mirror
once it is made. dispatch runs nothing a second time by itself.`,
		Shows: `The origin runs, by its status, and the cluster that its owner has given it to,
by the Workload's status.clusterName, was read and has no such Job. Or the origin is not finished, and the cluster that
its annotation jobmanagedby.github.io/mirror names was read, and has no Job of that name, or one that has neither the
uid that the annotation names nor the origin's as jobmanagedby.github.io/origin-uid.`,
		Remedy: `What was dispatched: dispatch --new-mirror runs it again from the start, and cancel ends it. If somebody
else's Job stands in the mirror's place, that one has to go first, or the origin has to be ended and created again. Else
see that the owner's controller runs: MultiKueue then has the Job run again, but not before workerLostTimeout, 15
minutes unless configured otherwise, has gone by since it gave it to the worker. What no controller looks after has to
be created again.`,
		Link: docsJobs,
		Detect: func(v *View) {
			for _, p := range v.Pairs() {
				o := p.Origin
				if !o.IsOpen() {
					continue
				}
				isRunning := o.Status == delegation.Running && !o.Suspended
				if o.Row().IsJob() {
					isRunning = o.StartTime != nil && o.Active > 0 && !o.Suspended
				}
				switch {
				case !o.Pinned().IsZero():
					if dispatchedMirror(p) == nil {
						reportPlaceEmpty(v, o)
					}
				case o.ManagedBy == delegation.MultiKueue && isRunning && len(p.Current()) == 0:
					reportWorkerEmpty(v, p)
				}
			}
		},
	}
}

// reportWorkerEmpty reports a Job that is not on the cluster to which MultiKueue
// has given it. While it is taken back, or the manager does not reach the
// cluster, other rules have more to say.
func reportWorkerEmpty(v *View, p inspect.Pair) {
	s := v.submission(p)
	if s.Workload == nil || s.IsFinished() || s.Chosen() == "" || !hasState(s, kueue.CheckReady) || isEvicted(s) || !worksOn(v, s, s.Chosen()) {
		return
	}
	c, ok := v.CopyOn(s, s.Chosen())
	// What has finished there is about to be told, and what is not admitted taken.
	isTaken := c.Workload != nil &&
		(!c.Workload.Is(kueue.Admitted) || c.Workload.Is(kueue.Finished))
	j := s.Job()
	if !ok || isTaken || !v.isMissing(c.Worker, j, j.Namespace, j.Name) {
		return
	}
	copied := fmt.Sprintf("%s: there is no Workload %s/%s either", c.Worker.Context, s.Workload.Namespace, s.Workload.Name)
	if c.Workload != nil {
		copied = fmt.Sprintf("%s: Workload %s/%s is still there", c.Worker.Context, s.Workload.Namespace, s.Workload.Name)
	}
	since := lastWord(j, s.Check.LastTransitionTime.Time)
	awaited := v.awaitsReach(s.Manager, s.Workload, inspect.DutyStatus, c.Worker.Context, j.Context, since)
	v.Report(Sighting{
		Object: Of(j), Since: since, Jobs: []*inspect.Job{j}, Awaits: awaited,
		Message: fmt.Sprintf("MultiKueue says that it runs on %s, but there is no such %s on %s", s.Chosen(), j.Kind, c.Worker.Context),
		Evidence: []string{
			checkOf(s), stateOf(j),
			chosenOf(j.Context, s.Workload), fmt.Sprintf("%s: there is no %s", c.Worker.Context, named(Of(j))),
			copied,
		},
		Remedy: command.Say("%s; or delete it: %s", v.runsAgain(s, c, awaited), deleteJob(j)),
	})
}

// runsAgain says what has a Job run again whose mirror is gone. Where nothing of it is on the
// worker, MultiKueue waits on purpose for as long as a worker may be lost (kueue:
// pkg/controller/admissionchecks/multikueue/workload.go, remainingWaitTime).
func (v *View) runsAgain(s Submission, c Copy, awaited *Awaited) command.Prose {
	again := s.Check.LastTransitionTime.Add(workerLost)
	if c.Workload == nil && v.Now().Before(v.inventory.Ours(s.Manager.Context, again)) {
		return command.Say("wait: MultiKueue has the %s run again after workerLostTimeout, by default at %s", s.Job().Kind, stamp(again))
	}
	return command.Say("%s; it should have the %s run again", seeKueue(s.Manager.Context, awaited), s.Job().Kind)
}

// lastWord is the last time at which an origin's mirror was certainly there.
func lastWord(j *inspect.Job, given time.Time) time.Time {
	return newest(given, timeOf(j.StartTime), timeOf(j.StatusWrittenAt))
}

// reportPlaceEmpty reports a Job that is not where its own annotation says.
func reportPlaceEmpty(v *View, j *inspect.Job) {
	x := v.spotOf(j)
	if !x.isGone() {
		return
	}
	place, at := j.Pinned(), x.facts.Context
	s := Sighting{
		Object: Of(j), Jobs: []*inspect.Job{j},
		Since:   lastWord(j, newest(j.CreationTimestamp.Time, timeOf(j.SpecWrittenAt))),
		Message: fmt.Sprintf("its mirror %s/%s on %s is gone", place.Namespace, place.Name, at),
		Evidence: []string{
			pinOf(j), stateOf(j),
			fmt.Sprintf("%s: there is no %s %s/%s", at, j.Kind, place.Namespace, place.Name),
		},
		Remedy: remedyOfGone(j, x),
	}
	if other := x.other; other != nil {
		s.Since = newest(s.Since, v.On(j.Context, at, other.CreationTimestamp.Time))
		s.Message += fmt.Sprintf("; another %s has its name", j.Kind)
		s.Evidence[2] = fmt.Sprintf("%s: metadata.uid of %s is %s, created %s", at, named(Of(other)), other.UID, stamp(other.CreationTimestamp))
		if other.OriginUID() != "" {
			s.Evidence = append(s.Evidence, markOf(other))
		}
	}
	v.Report(s)
}

// remedyOfGone is what to do about a mirror that is gone. As long as the origin
// names its place, dispatch makes another there and nowhere else.
func remedyOfGone(j *inspect.Job, x spot) command.Prose {
	dispatch := dispatchTo(j, x.facts.Context, j.Pinned().Namespace).With(newMirror)
	again := command.Say("run it again from the start: %s", dispatch)
	if x.other != nil {
		again = command.Say("if the other %s is not needed any more, %s, and then run this one again from the start: %s",
			j.Kind, deleteJob(x.other), dispatch)
	}
	remedy := command.Say("%s; or end it: %s", again, cancel(j))
	if x.other != nil {
		remedy += ", create it again, and dispatch it with --namespace-to another namespace"
	}
	if j.ManagedBy != delegation.Dispatch {
		return command.Say("see whether the controller of %s runs, and reaches %s; if it was dispatched, %s", j.ManagedBy, x.facts.Context, remedy)
	}
	return remedy
}

func dispatchedOriginGone() Rule {
	return Rule{
		Code: "JM106", Undated: true, Title: "the origin is gone, but the mirror runs", Severity: inspect.Warning,
		Holds: "no mirror runs without its origin",
		Reads: []inspect.Part{inspect.PartJobs},
		Why: `Deleting an origin deletes nothing on another cluster: no owner reference reaches across. Its owner has to
delete the mirror, and did not: nobody ran it at the time, or it has lost its rights or the connection. The mirror
uses up resources for nobody.`,
		Shows: `A Job has the label jobmanagedby.github.io/origin-uid and is not finished; the cluster that its
annotation jobmanagedby.github.io/origin names was read, and has no Job with that uid.`,
		Remedy: `Delete the mirror, unless its results are still wanted.`,
		Link:   kepManagedBy,
		Detect: func(v *View) {
			for _, j := range v.Orphans() {
				isLeft := j.Marks.OriginUID != "" && j.IsOpen()
				f := v.clusterOf(j.Marks.Origin)
				// Another namespace may not have been read, nor its kind.
				isRead := f != nil && j.Marks.Origin.Namespace == j.Namespace && v.KnowsAll(f, j.Row())
				if !isLeft || !isRead || j.Status == delegation.Unknown || v.jobOfUID(f, j.Marks.OriginUID) != nil {
					continue
				}
				v.Report(Sighting{
					Object: Of(j), Since: j.CreationTimestamp.Time, Jobs: []*inspect.Job{j},
					Message: fmt.Sprintf("its origin %s/%s on %s is gone, and it is not finished", j.Marks.Origin.Namespace, j.Marks.Origin.Name, f.Context),
					Evidence: []string{
						fmt.Sprintf("%s: annotation %s of %s is %s", j.Context, delegation.OriginAnnotation, named(Of(j)), j.Marks.Origin),
						markOf(j), stateOf(j),
						fmt.Sprintf("%s: there is no %s %s/%s of that uid", f.Context, j.Kind, j.Marks.Origin.Namespace, j.Marks.Origin.Name),
					},
					Remedy: deleteJob(j).Prose(),
				})
			}
		},
	}
}
