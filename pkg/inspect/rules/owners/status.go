package owners

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func statusStale() view.Rule {
	return view.Rule{
		Code: "JM104", Severity: inspect.Warning,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartQueues, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Detect: func(v *view.View) { eachCopied(v, reportStale) },
	}
}

// eachCopied visits the pairs whose origin must have the mirror's status:
// their owner has marked the mirror, reaches it, and has not given the origin
// to another cluster. Kueue does not copy the status of suspended origins by
// design.
func eachCopied(v *view.View, visit func(*view.View, *inspect.Job, inspect.Pair, inspect.Mirror)) {
	eachCurrent(v, func(v *view.View, o *inspect.Job, p inspect.Pair, m inspect.Mirror) {
		if !view.IsMultiKueues(p) || isCopied(v, o, m.Job) {
			visit(v, o, p, m)
		}
	})
}

// eachCurrent visits all open origins with their current mirrors.
func eachCurrent(v *view.View, visit func(*view.View, *inspect.Job, inspect.Pair, inspect.Mirror)) {
	for _, p := range v.Pairs() {
		o := p.Origin
		if !o.IsOpen() {
			continue
		}
		for _, m := range p.Mirrors {
			if !m.Current || m.Relation == inspect.ByName || m.Job.DeletedAt != nil {
				continue
			}
			visit(v, o, p, m)
		}
	}
}

// sameCounts reports whether the status of an origin agrees with its
// mirror's. Kinds that do not count Pods agree if both run, or both ended
// alike. Kinds whose status is never copied always agree.
func sameCounts(origin, mirror *inspect.Job) bool {
	if row := origin.Row(); !row.IsJob() {
		tells := mirror.Status == delegation.Running || mirror.Status.IsFinished()
		return row.NoStatusSync || !tells || origin.Status == mirror.Status
	}
	return origin.Active == mirror.Active && origin.Succeeded == mirror.Succeeded && origin.Failed == mirror.Failed &&
		ptr.Deref(origin.Ready, 0) == ptr.Deref(mirror.Ready, 0) && origin.Status.IsFinished() == mirror.Status.IsFinished()
}

// isCopied reports whether MultiKueue has given a Job to the mirror's cluster
// and is connected to it.
func isCopied(v *view.View, origin, mirror *inspect.Job) bool {
	f, _ := v.Facts(origin.Context)
	w, _ := v.Workload(f, mirror.Namespace, mirror.Prebuilt())
	if w == nil || w.DeletionTimestamp != nil || w.ChosenCluster() == "" || w.Is(kueue.Evicted) {
		return false
	}
	state := v.CheckState(f, w)
	if v.ContextOf(f, w.ChosenCluster()) != mirror.Context || state != nil && state.State != kueue.CheckReady {
		return false
	}
	return state == nil && queueWithoutCheck(v, f, w) != nil || state != nil && view.IsTrue(v.Connection(f, w.ChosenCluster()))
}

// queueWithoutCheck returns the ClusterQueue of an admitted Workload that has lost its MultiKueue
// check, nil if it has one or if that is unknown. Kueue then removes the check from the Workload,
// and copies nothing any more.
func queueWithoutCheck(v *view.View, f *inspect.Facts, w *kueue.Workload) *kueue.ClusterQueue {
	if !w.Is(kueue.Admitted) || w.Status.Admission == nil {
		return nil
	}
	q, ok := v.ClusterQueue(f, w.Status.Admission.ClusterQueue)
	if !ok || q == nil {
		return nil
	}
	if is, known := v.QueueDispatches(f, q); is || !known {
		return nil
	}
	return q
}

// explainCheckLost makes a sighting about a mirror one about the ClusterQueue without a MultiKueue
// check, if the pair has one.
func explainCheckLost(v *view.View, p inspect.Pair, mirror *inspect.Job, s *view.Sighting) {
	f, _ := v.Facts(p.Origin.Context)
	if w, _ := v.Workload(f, mirror.Namespace, mirror.Prebuilt()); view.IsMultiKueues(p) && w != nil && v.CheckState(f, w) == nil {
		if q := queueWithoutCheck(v, f, w); q != nil {
			s.Awaits = nil
			s.Message += fmt.Sprintf("; ClusterQueue %s on %s has no MultiKueue check", q.Name, f.Context)
			s.Evidence = append(s.Evidence, fmt.Sprintf("%s: spec.admissionChecksStrategy of ClusterQueue %s has no AdmissionCheck of MultiKueue, and status.clusterName of %s is %s",
				f.Context, q.Name, view.OfWorkload(f, w).String(), w.ChosenCluster()))
			s.Remedy = advice.AddMultiKueueCheck(v, f, q)
		}
	}
}

func reportStale(v *view.View, origin *inspect.Job, p inspect.Pair, m inspect.Mirror) {
	mirror := m.Job
	bound := view.Latest(mirror.CreationTimestamp.Time, view.TimeOf(mirror.StartTime), view.TimeOf(mirror.Since))
	changed, isUndated := view.Proven([]time.Time{v.On(origin.Context, mirror.Context, bound)}, v.OnOf(origin.Context, mirror.Context, mirror.StatusWrittenAt))
	if sameCounts(origin, mirror) || mirror.Status.IsFinished() || origin.Suspended || view.TimeOf(origin.StatusWrittenAt).After(changed) {
		// A status that was written after the mirror changed is the owner's own version, or newer
		// than our read of the mirror.
		return
	}
	evidence := staleFields(v, p, m)
	if len(evidence) == 0 {
		return
	}
	last := "it was never written"
	if origin.StatusWrittenAt != nil {
		last = "it was last written " + quote.Time(*origin.StatusWrittenAt)
	}
	evidence = append(evidence, fmt.Sprintf("%s: status of %s: %s", origin.Context, view.Of(origin).String(), last))
	awaited := awaitsOwner(v, p, m, liveness.DutyStatus, changed)
	s := view.Sighting{
		Object: view.Of(origin), Since: changed, IsUndated: isUndated, Jobs: []*inspect.Job{origin},
		Cause:    fmt.Sprintf("%s on %s and %s", origin.ManagedBy, origin.Context, mirror.Context),
		Message:  fmt.Sprintf("%s does not copy its status from %s", origin.ManagedBy, mirror.Context),
		Evidence: evidence, Awaits: awaited,
		Remedy: command.Say("%s; until then, read the status of the mirror: %s", copyStatusFix(v, origin, mirror, awaited), advice.KubectlJob(mirror, "get")),
	}
	explainCheckLost(v, p, mirror, &s)
	explainDecrease(origin, mirror, &s)
	v.Report(s)
}

// explainDecrease makes a sighting about a mirror one about a counter that the API server lets only
// grow (kubernetes: pkg/apis/batch/validation, validateJobStatusUpdate). MultiKueue copies the
// counters of a mirror as they are, also of one that was started again. A counter that may decrease is only
// late.
func explainDecrease(origin, mirror *inspect.Job, s *view.Sighting) {
	if origin.ManagedBy != delegation.MultiKueue || !origin.Row().IsJob() {
		return
	}
	for _, c := range []struct {
		field          string
		origin, mirror int32
		mayDecrease    bool
	}{
		{"failed", origin.Failed, mirror.Failed, false},
		{"succeeded", origin.Succeeded, mirror.Succeeded, delegation.MaySucceededDecrease(origin.Indexed, origin.Completions, origin.Parallelism)},
	} {
		if c.mirror >= c.origin || c.mayDecrease {
			continue
		}
		s.Awaits, s.Cause = nil, ""
		s.Message = fmt.Sprintf("MultiKueue cannot copy its status from %s: status.%s would decrease from %d to %d, which the API server of %s rejects", mirror.Context, c.field, c.origin, c.mirror, origin.Context)
		s.Remedy = command.Say("read the status of the mirror instead: %s; or to start from scratch, %s", advice.KubectlJob(mirror, "get"), advice.CreateAgain(origin))
		return
	}
}

// staleFields quotes the fields that have not been copied for longer than a
// copy takes: Pod counters or, if the kind has none, the status of both.
func staleFields(v *view.View, p inspect.Pair, m inspect.Mirror) []string {
	counts := []string{"status.active", "status.ready", "status.succeeded", "status.failed"}
	isJob := p.Origin.Row().IsJob()
	var evidence []string
	for _, d := range v.Differences(p, m) {
		switch isStatus := d.Field == "status" || strings.HasPrefix(d.Field, "status."); {
		case d.Lag || !isStatus:
		case !isJob:
			return []string{quote.State(m.Job), quote.State(p.Origin)}
		case slices.Contains(counts, d.Field):
			evidence = append(evidence, fmt.Sprintf("%s: %s of %s is %s; %s: it is %s",
				p.Origin.Context, d.Field, view.Of(p.Origin).String(), quote.OrNotSet(d.Origin), m.Job.Context, quote.OrNotSet(d.Mirror)))
		}
	}
	return evidence
}

// copyStatusFix returns how to get a status copied again.
func copyStatusFix(v *view.View, origin, mirror *inspect.Job, awaited *view.Awaited) command.Prose {
	switch {
	case origin.ManagedBy == delegation.MultiKueue, origin.Row().IsUnmanaged():
		return advice.CheckKueue(v, origin.Context, awaited)
	case origin.ManagedBy == delegation.Dispatch:
		return command.Say("dispatch it again, which resumes with the same mirror: %s", advice.DispatchTo(origin, mirror.Context, mirror.Namespace))
	default:
		return command.Say("check that the controller of %s runs and reaches %s", origin.ManagedBy, mirror.Context)
	}
}

// awaitsOwner returns the step of a pair's owner to copy from a mirror. since
// is when it became due, by the origin's clock.
func awaitsOwner(v *view.View, p inspect.Pair, m inspect.Mirror, duty liveness.Duty, since time.Time) *view.Awaited {
	origin := p.Origin
	t := liveness.PendingAction{Actor: v.OwnerOf(origin), Duty: duty, Subject: origin.UID}
	if view.IsMultiKueues(p) {
		t.Actor, t.Subject = liveness.Actor{Role: liveness.RoleKueue, Context: origin.Context}, liveness.SubjectOf(m.Job.Namespace, m.Job.Prebuilt())
		t.Workers = []string{m.Job.Context}
	}
	return v.Awaits(t, origin.Context, since)
}

func endNotCopied() view.Rule {
	return view.Rule{
		Code: "JM110", Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartQueues, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Detect: func(v *view.View) { eachCopied(v, reportEndNotCopied) },
	}
}

func reportEndNotCopied(v *view.View, origin *inspect.Job, p inspect.Pair, m inspect.Mirror) {
	mirror := m.Job
	ended := view.TimeOf(mirror.FinishedTime)
	isRunElsewhere := slices.ContainsFunc(p.Mirrors, func(other inspect.Mirror) bool { return other.Current && view.IsLiveJob(other.Job) })
	if sameCounts(origin, mirror) || !mirror.Status.IsFinished() || isRunElsewhere || v.Age(mirror.Context, ended) < inspect.Settling {
		return
	}
	evidence := []string{quote.State(mirror), quote.State(origin)}
	if mirror.TTL != nil {
		evidence = append(evidence, quote.TTL(mirror))
	}
	since := v.On(origin.Context, mirror.Context, ended)
	awaited := awaitsOwner(v, p, m, liveness.DutyEnd, since)
	s := view.Sighting{
		Object: view.Of(origin), Since: since, Jobs: []*inspect.Job{origin}, Awaits: awaited,
		Message:  fmt.Sprintf("its mirror on %s is %s, but the origin still says %s", mirror.Context, mirror.Status, origin.Status),
		Evidence: evidence,
		Remedy:   command.Say("%s; save the final status before the mirror is deleted: %s", copyStatusFix(v, origin, mirror, awaited), advice.KubectlJob(mirror, "get").With("-o", "yaml")),
	}
	explainCheckLost(v, p, mirror, &s)
	v.Report(s)
}
