package running

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

func mirrorIgnored() view.Rule {
	return view.Rule{
		Code: "JM121", Severity: inspect.Error,
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartPods},
		Detect: func(v *view.View) {
			eachLiveMirror(v, func(p inspect.Pair, mirror *inspect.Job, f *inspect.Facts) {
				if what, since := ignoredField(v, f, mirror); what != "" && hadTimeToReact(v, f.Context, since) {
					reportMirrorIgnored(v, p.Origin, mirror, what, since)
				}
			})
		},
	}
}

// ignoredField describes what a controller has not done for a mirror, and since
// when it is due. what is "" if the mirror waits for nothing.
func ignoredField(v *view.View, f *inspect.Facts, mirror *inspect.Job) (what string, since time.Time) {
	due := view.Latest(mirror.CreationTimestamp.Time, view.TimeOf(mirror.SpecWrittenAt))
	switch {
	case mirror.Status == delegation.Unclaimed:
		return "its status was never written", due
	case isUntouched(v, f, mirror):
		return "its status was never written, and it has no Pods or other objects", due
	case !mirror.Row().IsJob() || mirror.Suspended:
		return "", time.Time{}
	case mirror.Status == delegation.Suspended:
		return "it was resumed, but its status still says Suspended", due
	case mirror.Active > 0:
		pods, known := v.Pods(f, mirror)
		for _, p := range pods {
			if p.Phase != corev1.PodSucceeded && p.Phase != corev1.PodFailed {
				return "", time.Time{}
			}
			since = view.Latest(since, p.CreationTimestamp.Time, p.Changed.Time)
		}
		if known && len(pods) > 0 && len(pods) >= int(mirror.Active) && since.After(view.TimeOf(mirror.StatusWrittenAt)) {
			return fmt.Sprintf("all its Pods have ended, but its status counts %d as active", mirror.Active), since
		}
	}
	return "", time.Time{}
}

// isUntouched reports whether nothing was created for an object whose
// controller may write no status. It is false if the objects that the
// controller would create were not read.
func isUntouched(v *view.View, f *inspect.Facts, mirror *inspect.Job) bool {
	childKind := mirror.Row().Indicators.ChildKind
	if childKind == "" || mirror.Status != delegation.Unknown {
		return false
	}
	part, _ := delegation.KindNamed(childKind)
	if !f.IsRequested(part) || f.Gaps[inspect.PartOf(part)] != nil || len(v.PartsOf(f, mirror)) > 0 {
		return false
	}
	pods, known := v.Pods(f, mirror)
	return known && len(pods) == 0
}

func reportMirrorIgnored(v *view.View, origin, mirror *inspect.Job, what string, since time.Time) {
	a := v.Awaits(liveness.PendingAction{Actor: v.OwnerOf(mirror), Duty: liveness.DutyPickUp, Subject: mirror.UID}, mirror.Context, since)
	s := view.Sighting{
		Object: view.Of(origin), Since: v.On(origin.Context, mirror.Context, since), Jobs: []*inspect.Job{origin},
		Cause:   "at " + a.Actor.String(),
		Message: fmt.Sprintf("no controller on %s picks up its mirror: %s; no sign of %s", mirror.Context, what, a.Actor),
		Evidence: []string{
			fmt.Sprintf("%s: mirror %s: %s; a status update was due at %s", mirror.Context, view.Of(mirror).String(), what, quote.MaybeTime(since)),
			quote.LastAction(a),
		},
		Remedy: command.Say("check that the controller of %s runs on %s", quote.Plural(mirror), mirror.Context),
	}
	if mirror.Row().IsJob() {
		s.Remedy = advice.CheckActor(v, liveness.Actor{Role: liveness.RoleJobController, Context: mirror.Context}, a)
	}
	if a.IsAtWork() {
		s.Severity, s.Cause = inspect.Info, s.Cause+", behind"
		s.Message = fmt.Sprintf("its mirror on %s waits for %s, which works, but has not reached it: %s", mirror.Context, a.Actor, what)
		s.Remedy = command.Say("wait; if it remains, %s", s.Remedy)
	}
	v.Report(s)
}
