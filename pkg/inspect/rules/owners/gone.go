package owners

import (
	"fmt"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func mirrorGone() view.Rule {
	return view.Rule{
		Code: "JM105", Undated: true, Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets, inspect.PartNamespaces,
		},
		Detect: func(v *view.View) {
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
					if view.DispatchedMirror(p) == nil {
						reportPlaceEmpty(v, o)
					}
				case o.ManagedBy == delegation.MultiKueue && isRunning && len(p.Current()) == 0:
					reportWorkerEmpty(v, p)
				}
			}
		},
	}
}

// reportWorkerEmpty reports a Job that is not on the cluster to which
// MultiKueue has given it. While the Job is being taken back, or the manager
// cannot reach the cluster, other rules report more.
func reportWorkerEmpty(v *view.View, p inspect.Pair) {
	s := v.Submission(p)
	if s.Workload == nil || s.IsFinished() || s.Chosen() == "" || !s.HasState(kueue.CheckReady) || s.IsEvicted() || !v.Reaches(s, s.Chosen()) {
		return
	}
	c, ok := v.CopyOn(s, s.Chosen())
	// The end of a finished copy is about to be copied. A copy that is not
	// admitted is about to be taken back.
	isTaken := c.Workload != nil &&
		(!c.Workload.Is(kueue.Admitted) || c.Workload.Is(kueue.Finished))
	j := s.Job()
	if !ok || isTaken || !v.IsMissing(c.Worker, j, j.Namespace, j.Name) {
		return
	}
	copied := fmt.Sprintf("%s: there is no Workload %s/%s either", c.Worker.Context, s.Workload.Namespace, s.Workload.Name)
	if c.Workload != nil {
		copied = fmt.Sprintf("%s: Workload %s/%s still exists", c.Worker.Context, s.Workload.Namespace, s.Workload.Name)
	}
	if causeOfGone(v, c.Worker, j) != "" {
		copied = fmt.Sprintf("%s: there is no namespace %s either", c.Worker.Context, j.Namespace)
	}
	since := lastKnownTime(j, s.Check.LastTransitionTime.Time)
	awaited := v.AwaitsReach(s.Manager, s.Workload, liveness.DutyStatus, c.Worker.Context, j.Context, since)
	awaited.IsUndated = true
	v.Report(view.Sighting{
		Object: view.Of(j), Since: since, IsUndated: true, Jobs: []*inspect.Job{j}, Awaits: awaited,
		Message: fmt.Sprintf("MultiKueue says that it runs on %s, but there is no such %s on %s", s.Chosen(), j.Kind, c.Worker.Context),
		Cause:   causeOfGone(v, c.Worker, j),
		Evidence: []string{
			quote.MultiKueueCheck(s), quote.State(j),
			quote.ChosenCluster(j.Context, s.Workload), fmt.Sprintf("%s: there is no %s", c.Worker.Context, view.Of(j).String()),
			copied,
		},
		Remedy: command.Say("%s; or %s", waitForKueue(v, s, c, awaited), advice.DeleteNamed(j)),
	})
}

// causeOfGone returns what the mirrors of one namespace have in common if a worker has lost the
// namespace, otherwise "".
func causeOfGone(v *view.View, worker *inspect.Facts, j *inspect.Job) string {
	if namespace, known := v.Namespace(worker, j.Namespace); worker.Namespaces == nil || !known || namespace != nil {
		return ""
	}
	return fmt.Sprintf("no namespace %s on %s", j.Namespace, worker.Context)
}

// waitForKueue returns what makes a Job run again whose mirror no longer exists.
// If the worker has nothing of it, MultiKueue waits on purpose for
// workerLostTimeout (kueue:
// pkg/controller/admissionchecks/multikueue/workload.go, remainingWaitTime).
func waitForKueue(v *view.View, s view.Submission, c view.Copy, awaited *view.Awaited) command.Prose {
	if causeOfGone(v, c.Worker, s.Job()) != "" {
		namespace := s.Job().Namespace
		return command.Say("create namespace %s on %s: %s, and then wait: MultiKueue restarts the %s after workerLostTimeout (15 minutes by default)",
			namespace, c.Worker.Context, command.Kubectl(c.Worker.Context, "", "create", "namespace", namespace), s.Job().Kind)
	}
	again := s.Check.LastTransitionTime.Add(view.WorkerLostTimeout)
	if c.Workload == nil && v.Now().Before(v.ToOurClock(s.Manager.Context, again)) {
		restart := command.Say("MultiKueue restarts the %s after workerLostTimeout, by default at %s", s.Job().Kind, quote.Time(again))
		if !awaited.IsAtWork() {
			return command.Say("wait: %s, if Kueue runs on %s: %s", restart, s.Manager.Context, kueue.ShowPods(s.Manager.Context))
		}
		return command.Say("wait: %s", restart)
	}
	return command.Say("%s; Kueue then restarts the %s", advice.CheckKueue(v, s.Manager.Context, awaited), s.Job().Kind)
}

// lastKnownTime returns the last time at which an origin's mirror certainly
// existed.
func lastKnownTime(j *inspect.Job, given time.Time) time.Time {
	return view.Latest(given, view.TimeOf(j.StartTime), view.TimeOf(j.StatusWrittenAt))
}

// reportPlaceEmpty reports a Job whose annotation names a mirror that does
// not exist.
func reportPlaceEmpty(v *view.View, j *inspect.Job) {
	x := v.PinnedMirror(j)
	if !x.IsGone() {
		return
	}
	place, at := j.Pinned(), x.Facts.Context
	s := view.Sighting{
		Object: view.Of(j), Jobs: []*inspect.Job{j},
		Since: lastKnownTime(j, view.Latest(j.CreationTimestamp.Time, view.TimeOf(j.SpecWrittenAt))), IsUndated: true,
		Message: fmt.Sprintf("its mirror %s/%s on %s is gone", place.Namespace, place.Name, at),
		Evidence: []string{
			quote.MirrorAnnotation(j), quote.State(j),
			fmt.Sprintf("%s: there is no %s %s/%s", at, j.Kind, place.Namespace, place.Name),
		},
		Remedy: remedyOfGone(j, x),
	}
	if other := x.Other; other != nil {
		s.Since, s.IsUndated = view.Latest(s.Since, v.On(j.Context, at, other.CreationTimestamp.Time)), false
		s.Message += fmt.Sprintf("; another %s has its name", j.Kind)
		s.Evidence[2] = fmt.Sprintf("%s: metadata.uid of %s is %s, created %s", at, view.Of(other).String(), other.UID, quote.Time(other.CreationTimestamp))
		if other.OriginUID() != "" {
			s.Evidence = append(s.Evidence, quote.Mark(other))
		}
	}
	v.Report(s)
}

// remedyOfGone returns the remedy for a missing mirror. As long as the origin
// names its place, dispatch creates a new mirror only there.
func remedyOfGone(j *inspect.Job, x view.PinnedMirror) command.Prose {
	dispatch := advice.DispatchTo(j, x.Facts.Context, j.Pinned().Namespace).With(advice.NewMirrorFlag)
	again := command.Say("start the %s from scratch: %s", j.Kind, dispatch)
	if x.Other != nil {
		again = command.Say("delete the other %s, if no user needs it: %s, and then start this one from scratch: %s",
			j.Kind, advice.DeleteJob(x.Other), dispatch)
	}
	remedy := command.Say("%s; or end the %s: %s", again, j.Kind, advice.Cancel(j))
	if x.Other != nil {
		remedy += command.Say(", create the %s again, and dispatch it with --namespace-to another namespace", j.Kind)
	}
	if j.ManagedBy != delegation.Dispatch {
		return command.Say("check that the controller of %s runs and reaches %s; if the %s was dispatched, %s", j.ManagedBy, x.Facts.Context, j.Kind, remedy)
	}
	return remedy
}

func dispatchedOriginGone() view.Rule {
	return view.Rule{
		Code: "JM106", Undated: true, Severity: inspect.Warning,
		Reads: []inspect.Part{inspect.PartJobs},
		Detect: func(v *view.View) {
			for _, j := range v.Orphans() {
				isLeft := j.Marks.OriginUID != "" && j.IsOpen()
				f := v.ClusterOf(j.Marks.Origin)
				// Another namespace or its kind may not have been read.
				isRead := f != nil && j.Marks.Origin.Namespace == j.Namespace && v.KnowsAll(f, j.Row())
				if !isLeft || !isRead || j.Status == delegation.Unknown || v.JobByUID(f, j.Marks.OriginUID) != nil {
					continue
				}
				v.Report(view.Sighting{
					Object: view.Of(j), Since: j.CreationTimestamp.Time, Jobs: []*inspect.Job{j},
					Message: fmt.Sprintf("its origin %s/%s on %s is gone, and it is not finished", j.Marks.Origin.Namespace, j.Marks.Origin.Name, f.Context),
					Evidence: []string{
						fmt.Sprintf("%s: annotation %s of %s is %s", j.Context, delegation.OriginAnnotation, view.Of(j).String(), j.Marks.Origin),
						quote.Mark(j), quote.State(j),
						fmt.Sprintf("%s: there is no %s %s/%s with that UID", f.Context, j.Kind, j.Marks.Origin.Namespace, j.Marks.Origin.Name),
					},
					Remedy: command.Say("delete the mirror: %s", advice.DeleteJob(j)),
				})
			}
		},
	}
}
