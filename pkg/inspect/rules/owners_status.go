package rules

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func statusStale() Rule {
	return Rule{
		Code: "JM104", Title: "the mirror's status is not copied", Severity: inspect.Warning,
		Holds: "the status of every mirror is copied to its origin",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `The status of a delegated Job is a copy that its owner makes of what the mirror tells. The owner's
controller does not write it: it may not run, have lost its rights on jobs/status or the connection to the mirror's
cluster, or the API server refuses what it writes. The Job itself runs on; only nobody hears of it.`,
		Shows: `The counts of active, ready, succeeded and failed pods differ between the origin and its mirror, or, of kinds
that do not count them, the mirror runs and the origin does not say so; and the mirror has told its own for longer than
a copy takes.`,
		Remedy: `See whether the owner's controller runs and what it logs about this Job; what was dispatched is copied for
as long as the command dispatch runs, so run it again. Until then look at the mirror to know how far the Job is.`,
		Link:   docsJobs,
		Detect: func(v *View) { v.eachCopied(reportStale) },
	}
}

// eachCopied visits the pairs whose status has to be a copy: their owner has
// marked the mirror as its own, reaches it, and has not given the origin to
// somebody else. What waits in a suspended origin is not copied by design.
func (v *View) eachCopied(visit func(*View, *inspect.Job, inspect.Pair, inspect.Mirror)) {
	for _, p := range v.Pairs() {
		o := p.Origin
		if !o.IsOpen() {
			continue
		}
		for _, m := range p.Mirrors {
			if !m.Current || m.Relation == inspect.ByName || m.Job.DeletedAt != nil || sameCounts(o, m.Job) {
				continue
			}
			if !isMultiKueues(p) || v.isCopied(o, m.Job) {
				visit(v, o, p, m)
			}
		}
	}
}

// sameCounts is whether an origin tells what its mirror tells. Of kinds that do not
// count pods, that is whether it runs, or how it ended; those whose status nobody
// copies tell nothing.
func sameCounts(origin, mirror *inspect.Job) bool {
	if row := origin.Row(); !row.IsJob() {
		tells := mirror.Status == delegation.Running || mirror.Status.IsFinished()
		return row.Unsynced || !tells || origin.Status == mirror.Status
	}
	return origin.Active == mirror.Active && origin.Succeeded == mirror.Succeeded && origin.Failed == mirror.Failed &&
		ptr.Deref(origin.Ready, 0) == ptr.Deref(mirror.Ready, 0) && origin.Status.IsFinished() == mirror.Status.IsFinished()
}

// isCopied is whether MultiKueue has given a Job to where its mirror is, and has
// a connection to there.
func (v *View) isCopied(origin, mirror *inspect.Job) bool {
	f, _ := v.Facts(origin.Context)
	w, _ := v.Workload(f, mirror.Namespace, mirror.Prebuilt())
	if w == nil || w.DeletionTimestamp != nil || w.ChosenCluster() == "" || w.Is(kueue.Evicted) {
		return false
	}
	state := v.checkState(f, w)
	if state == nil || state.State != kueue.CheckReady || v.ContextOf(f, w.ChosenCluster()) != mirror.Context {
		return false
	}
	return isTrue(v.activeOf(f, w.ChosenCluster()))
}

func reportStale(v *View, origin *inspect.Job, p inspect.Pair, m inspect.Mirror) {
	mirror := m.Job
	changed := newest(mirror.CreationTimestamp.Time, timeOf(mirror.StartTime), timeOf(mirror.StatusWrittenAt))
	changed = v.On(origin.Context, mirror.Context, changed)
	if mirror.Status.IsFinished() || origin.Suspended || timeOf(origin.StatusWrittenAt).After(changed) {
		// What was written later than the mirror changed is what its owner makes of it,
		// or newer than our reading of the mirror.
		return
	}
	evidence := staleFields(v, p, m)
	if len(evidence) == 0 {
		return
	}
	last := "it was never written"
	if origin.StatusWrittenAt != nil {
		last = "it was last written " + stamp(*origin.StatusWrittenAt)
	}
	evidence = append(evidence, fmt.Sprintf("%s: status of %s: %s", origin.Context, named(Of(origin)), last))
	awaited := v.awaitsOwner(p, m, inspect.DutyStatus, changed)
	v.Report(Sighting{
		Object: Of(origin), Since: changed, Jobs: []*inspect.Job{origin},
		Cause:    fmt.Sprintf("%s on %s and %s", origin.ManagedBy, origin.Context, mirror.Context),
		Message:  fmt.Sprintf("%s does not copy its status from %s", origin.ManagedBy, mirror.Context),
		Evidence: evidence, Awaits: awaited,
		Remedy: command.Say("%s; until then the mirror tells more: %s", haveCopied(origin, mirror, awaited), kubectlFor(mirror, "get")),
	})
}

// staleFields quotes what was not copied for longer than a copy takes: counters of
// pods, or how either is, where the kind has none.
func staleFields(v *View, p inspect.Pair, m inspect.Mirror) []string {
	counts := []string{"status.active", "status.ready", "status.succeeded", "status.failed"}
	isJob := p.Origin.Row().IsJob()
	var evidence []string
	for _, d := range v.Differences(p, m) {
		switch isStatus := d.Field == "status" || strings.HasPrefix(d.Field, "status."); {
		case d.Lag || !isStatus:
		case !isJob:
			return []string{stateOf(m.Job), stateOf(p.Origin)}
		case slices.Contains(counts, d.Field):
			evidence = append(evidence, fmt.Sprintf("%s: %s of %s is %s; %s: it is %s",
				p.Origin.Context, d.Field, named(Of(p.Origin)), orNothing(d.Origin), m.Job.Context, orNothing(d.Mirror)))
		}
	}
	return evidence
}

// haveCopied is what to do to have a status copied again.
func haveCopied(origin, mirror *inspect.Job, awaited *Awaited) command.Prose {
	switch {
	case origin.ManagedBy == delegation.MultiKueue, origin.Row().IsUnmanaged():
		return seeKueue(origin.Context, awaited)
	case origin.ManagedBy == delegation.Dispatch:
		return command.Say("dispatch it again, which goes on with the same mirror: %s", dispatchTo(origin, mirror.Context, mirror.Namespace))
	default:
		return command.Say("see whether the controller of %s runs, and reaches %s", origin.ManagedBy, mirror.Context)
	}
}

// awaitsOwner is the turn of a pair's owner to copy from a mirror, which came at a
// time by the origin's clock.
func (v *View) awaitsOwner(p inspect.Pair, m inspect.Mirror, duty inspect.Duty, since time.Time) *Awaited {
	origin := p.Origin
	t := inspect.Turn{Actor: v.inventory.OwnerOf(origin), Duty: duty, Subject: origin.UID}
	if isMultiKueues(p) {
		t.Actor, t.Subject = inspect.Actor{Role: inspect.RoleKueue, Context: origin.Context}, inspect.SubjectOf(m.Job.Namespace, m.Job.Prebuilt())
		t.Worker = m.Job.Context
	}
	return v.awaits(t, origin.Context, since)
}

func endUnheard() Rule {
	return Rule{
		Code: "JM110", Title: "the mirror finished, but the origin does not show it", Severity: inspect.Error,
		Holds: "the end of every mirror has reached its origin",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `The mirror has come to its end, and its owner has to copy that to the origin; only then does the Job count
as finished. The owner's controller may not run, have lost its rights or the connection, or the API server refuses
what it writes, such as a status that contradicts an earlier one. If the mirror is deleted before that, how the Job
ended is lost.`,
		Shows: `The mirror has the condition Complete or Failed, and the origin has neither, for longer than a copy takes.`,
		Remedy: `See whether the owner's controller runs and what it logs about this Job; what was dispatched is copied by
the command dispatch, so run it again. Do not delete the mirror before the origin has its status.`,
		Link:   docsJobs,
		Detect: func(v *View) { v.eachCopied(reportUnheard) },
	}
}

func reportUnheard(v *View, origin *inspect.Job, p inspect.Pair, m inspect.Mirror) {
	mirror := m.Job
	ended := timeOf(mirror.FinishedTime)
	isRunElsewhere := slices.ContainsFunc(p.Mirrors, func(other inspect.Mirror) bool { return other.Current && isLiveJob(other.Job) })
	if !mirror.Status.IsFinished() || isRunElsewhere || v.Age(mirror.Context, ended) < inspect.Settling {
		return
	}
	evidence := []string{stateOf(mirror), stateOf(origin)}
	if mirror.TTL != nil {
		evidence = append(evidence, ttlOf(mirror))
	}
	since := v.On(origin.Context, mirror.Context, ended)
	awaited := v.awaitsOwner(p, m, inspect.DutyEnd, since)
	v.Report(Sighting{
		Object: Of(origin), Since: since, Jobs: []*inspect.Job{origin}, Awaits: awaited,
		Message:  fmt.Sprintf("its mirror on %s is %s, but it still says %s", mirror.Context, mirror.Status, origin.Status),
		Evidence: evidence,
		Remedy:   command.Say("%s; save how it ended before the mirror goes: %s", haveCopied(origin, mirror, awaited), kubectlFor(mirror, "get").With("-o", "yaml")),
	})
}
