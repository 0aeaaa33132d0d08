package rules

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

func mirrorNotTakenUp() Rule {
	return Rule{
		Code: "JM121", Title: "no controller on the worker picks up the mirror", Severity: inspect.Error,
		Holds: "a controller on the worker has picked up every mirror",
		Reads: []inspect.Part{inspect.PartJobs, inspect.PartPods},
		Why: `A mirror is not delegated: the built-in controller of its kind has to run it, on the worker. There it
stands still. For Jobs that is kube-controller-manager, which may be down, may have lost its lease, or may be refused by
the API server; for other kinds it is their operator, which may not be installed on the worker at all.`,
		Shows: `The mirror is resumed, and its status was never written, or still says that it is suspended, or counts
pods as active that have all ended. Where the same controller has acted on other objects since, it is only behind.`,
		Remedy: `See whether that controller runs on the worker, and what it logs. Everything else there waits for it
too.`,
		Link: "https://kubernetes.io/docs/concepts/architecture/#kube-controller-manager",
		Detect: func(v *View) {
			v.eachLiveMirror(func(p inspect.Pair, mirror *inspect.Job, f *inspect.Facts) {
				if what, since := ignored(v, f, mirror); what != "" && v.hadTime(f.Context, since) {
					reportNotTakenUp(v, p.Origin, mirror, what, since)
				}
			})
		},
	}
}

// ignored says what of a mirror waits for its controller, and since when; "" if
// nothing does.
func ignored(v *View, f *inspect.Facts, mirror *inspect.Job) (what string, since time.Time) {
	turn := newest(mirror.CreationTimestamp.Time, timeOf(mirror.SpecWrittenAt))
	switch {
	case mirror.Status == delegation.Unclaimed:
		return "its status was never written", turn
	case isUntouched(v, f, mirror):
		return "its status was never written and nothing was made of it", turn
	case !mirror.Row().IsJob() || mirror.Suspended:
		return "", time.Time{}
	case mirror.Status == delegation.Suspended:
		return "it was resumed, and its status still says that it is suspended", turn
	case mirror.Active > 0:
		pods, known := v.Pods(f, mirror)
		for _, p := range pods {
			if p.Phase != corev1.PodSucceeded && p.Phase != corev1.PodFailed {
				return "", time.Time{}
			}
			since = newest(since, p.CreationTimestamp.Time, p.Changed.Time)
		}
		if known && len(pods) > 0 && len(pods) >= int(mirror.Active) && since.After(timeOf(mirror.StatusWrittenAt)) {
			return fmt.Sprintf("all of its pods have ended, and its status counts %d of them as active", mirror.Active), since
		}
	}
	return "", time.Time{}
}

// isUntouched says whether nothing was made of an object whose controller may be silent;
// not where nobody looked for what it would make.
func isUntouched(v *View, f *inspect.Facts, mirror *inspect.Job) bool {
	made := mirror.Row().Reading.Silent
	if made == "" || mirror.Status != delegation.Unknown {
		return false
	}
	part, _ := delegation.KindNamed(made)
	if !f.LookedFor(part) || f.Gaps[inspect.PartOf(part)] != nil || len(v.partsOf(f, mirror)) > 0 {
		return false
	}
	pods, known := v.Pods(f, mirror)
	return known && len(pods) == 0
}

func reportNotTakenUp(v *View, origin, mirror *inspect.Job, what string, since time.Time) {
	a := v.awaits(inspect.Turn{Actor: v.inventory.OwnerOf(mirror), Duty: inspect.DutyTakeUp, Subject: mirror.UID}, mirror.Context, since)
	s := Sighting{
		Object: Of(origin), Since: v.On(origin.Context, mirror.Context, since), Jobs: []*inspect.Job{origin},
		Cause:   "at " + a.Actor.String(),
		Message: fmt.Sprintf("no controller on %s picks up its mirror: %s; no sign of %s", mirror.Context, what, a.Actor),
		Evidence: []string{
			fmt.Sprintf("%s: of the mirror, %s: %s; that has been so since %s", mirror.Context, named(Of(mirror)), what, day(since)),
			a.trace(),
		},
		Remedy: command.Say("see that the controller of %s runs on %s", plural(mirror), mirror.Context),
	}
	if mirror.Row().IsJob() {
		s.Remedy = seeActor(inspect.Actor{Role: inspect.RoleJobController, Context: mirror.Context}, a)
	}
	if a.isAtWork() {
		s.Severity, s.Cause = inspect.Info, s.Cause+", behind"
		s.Message = fmt.Sprintf("its mirror on %s waits for %s, which works, but has not reached it: %s", mirror.Context, a.Actor, what)
		s.Remedy = command.Say("wait; if it stays, %s", s.Remedy)
	}
	v.Report(s)
}
