package running

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func limitPassed() view.Rule {
	return view.Rule{
		Code: "JM140", Severity: inspect.Warning,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartSecrets, inspect.PartQueues,
		},
		Detect: func(v *view.View) {
			for _, p := range v.Pairs() {
				reportPassed(v, p.Origin, pastTTL(v, p.Origin))
			}
			eachLiveMirror(v, func(p inspect.Pair, mirror *inspect.Job, _ *inspect.Facts) {
				reportPassed(v, p.Origin, pastDeadline(v, mirror))
			})
			for _, s := range v.Submissions() {
				reportPassed(v, s.Job(), pastLimitOfKueue(v, s))
			}
		},
	}
}

// passed is a limit of a Job that has passed, and the step that a controller must take then.
type passed struct {
	// context is that of the actor's cluster. since is when the step became due, by its clock, or only the earliest
	// possible time if isUndated. awaits returns the step, which takes as long as there are actions.
	context   string
	since     time.Time
	isUndated bool
	awaits    func() *view.Awaited
	// what says which limit has passed, and verb what the actor must do.
	what, verb string
	evidence   []string
}

// reportPassed reports a limit that has passed; nil if none has.
func reportPassed(v *view.View, j *inspect.Job, l *passed) {
	if l == nil || v.Age(l.context, l.since) <= 0 {
		return
	}
	awaits := l.awaits()
	actor := awaits.Actor
	v.Report(view.Sighting{
		Object: view.Of(j), Since: v.On(j.Context, l.context, l.since), IsUndated: l.isUndated, Jobs: []*inspect.Job{j}, Awaits: awaits,
		Cause:    strings.Join([]string{"limit", actor.String(), l.verb, j.Context, j.Kind}, " "),
		Message:  fmt.Sprintf("%s, but %s does not %s", l.what, actor, l.verb),
		Evidence: append(l.evidence, quote.LastAction(awaits)),
		Remedy:   advice.CheckActor(v, actor, awaits),
	})
}

// actsSince returns since when a controller can act on a limit that passed: its times may have been written later, such as
// the end of a Job whose worker was not connected. Without managedFields, it is the time of the limit.
func actsSince(passed time.Time, written ...*metav1.Time) time.Time {
	for _, w := range written {
		passed = view.Latest(passed, view.TimeOf(w))
	}
	return passed
}

// pastTTL returns the TTL of a finished Job. The TTL controller of Kubernetes deletes delegated Jobs, too (kubernetes:
// pkg/controller/ttlafterfinished). Other kinds have their own controllers, some of which ignore delegated objects.
func pastTTL(v *view.View, j *inspect.Job) *passed {
	if !j.Row().IsJob() || j.TTL == nil || j.FinishedTime == nil || j.DeletedAt != nil {
		return nil
	}
	since := actsSince(j.FinishedTime.Add(time.Duration(*j.TTL)*time.Second), j.StatusWrittenAt, j.SpecWrittenAt)
	step := liveness.PendingAction{Actor: liveness.Actor{Role: liveness.RoleTTL, Context: j.Context}, Duty: liveness.DutyRemove, Subject: j.UID}
	return &passed{
		context: j.Context, since: since, awaits: func() *view.Awaited { return v.Awaits(step, j.Context, since) },
		what: fmt.Sprintf("its ttlSecondsAfterFinished (%d) has passed", *j.TTL), verb: "delete it",
		evidence: []string{quote.TTL(j), quote.State(j)},
	}
}

// pastDeadline returns the deadline of a mirror, which the Job controller of its cluster enforces while the mirror is
// not suspended, and counts from its start (kubernetes: pkg/controller/job, pastActiveDeadline).
func pastDeadline(v *view.View, mirror *inspect.Job) *passed {
	if !mirror.Row().IsJob() || mirror.Deadline == nil || mirror.StartTime == nil || mirror.Suspended || mirror.Decision != nil {
		return nil
	}
	since := actsSince(mirror.StartTime.Add(time.Duration(*mirror.Deadline)*time.Second), mirror.SpecWrittenAt)
	step := liveness.PendingAction{Actor: v.OwnerOf(mirror), Duty: liveness.DutyStop, Subject: mirror.UID}
	return &passed{
		context: mirror.Context, since: since, awaits: func() *view.Awaited { return v.Awaits(step, mirror.Context, since) },
		what: fmt.Sprintf("its mirror has reached activeDeadlineSeconds (%d)", *mirror.Deadline), verb: "stop it",
		evidence: []string{
			fmt.Sprintf("%s: spec.activeDeadlineSeconds of %s is %d", mirror.Context, view.Of(mirror).String(), *mirror.Deadline), quote.State(mirror),
		},
	}
}

// pastLimitOfKueue returns the limit of a submission that Kueue enforces, on the manager or on the chosen worker.
func pastLimitOfKueue(v *view.View, s view.Submission) *passed {
	if s.Workload == nil || s.Workload.DeletionTimestamp != nil || s.Job().DeletedAt != nil || s.Workload.Is(kueue.Finished) || !v.ConcernsMultiKueue(s) {
		return nil
	}
	if s.Job().Status.IsFinished() {
		return pastEnd(v, s)
	}
	admissions := []view.Copy{{Worker: s.Manager, Workload: s.Workload}}
	if c, _ := v.CopyOn(s, s.Chosen()); s.Chosen() != "" && c.Workload != nil {
		admissions = append(admissions, c)
	}
	for _, a := range admissions {
		for _, limit := range []func(*view.View, *inspect.Facts, *kueue.Workload) *passed{pastExecutionTime, pastDrain} {
			if !isToRun(a.Workload) {
				continue
			}
			if l := limit(v, a.Worker, a.Workload); l != nil && v.Age(a.Worker.Context, l.since) > 0 {
				return l
			}
		}
	}
	return nil
}

// awaitsKueue returns a step of a cluster's Kueue for a Workload there, due since a time by its clock.
func awaitsKueue(v *view.View, f *inspect.Facts, w *kueue.Workload, duty liveness.Duty, since time.Time) func() *view.Awaited {
	return func() *view.Awaited { return v.AwaitsKueue(f, w, duty, "", f.Context, since) }
}

// isToRun reports whether Kueue lets a Workload run.
func isToRun(w *kueue.Workload) bool {
	return w.Is(kueue.Admitted) && w.IsActive() && !w.Is(kueue.Evicted) && !w.Is(kueue.Finished) && !w.Is(kueue.DeactivationTarget) && w.DeletionTimestamp == nil
}

// pastEnd returns the end of a Job whose Workload Kueue must finish: until then, the Workload holds quota (kueue:
// pkg/controller/jobframework/reconciler.go). JM130 reports Jobs whose mirrors still run.
func pastEnd(v *view.View, s view.Submission) *passed {
	j := s.Job()
	for _, m := range s.Pair.Mirrors {
		if isLiveMirror(m) {
			return nil
		}
	}
	if !j.Row().IsJob() || j.FinishedTime == nil || !s.Workload.Is(kueue.QuotaReserved) {
		return nil
	}
	since := actsSince(j.FinishedTime.Time, j.StatusWrittenAt)
	return &passed{
		context: j.Context, since: since, awaits: awaitsKueue(v, s.Manager, s.Workload, liveness.DutyRelease, since),
		what: fmt.Sprintf("it is %s", j.Status), verb: "finish its Workload, which holds quota",
		evidence: []string{quote.State(j), conditionNamed(s.Manager, s.Workload, kueue.Finished), conditionNamed(s.Manager, s.Workload, kueue.QuotaReserved)},
	}
}

// pastExecutionTime returns the maximum execution time of a Workload. Kueue counts from the admission, and adds the
// time before evictions (kueue: pkg/controller/core/workload_controller.go, reconcileMaxExecutionTime).
func pastExecutionTime(v *view.View, f *inspect.Facts, w *kueue.Workload) *passed {
	if w.Spec.MaxSeconds == nil {
		return nil
	}
	rest, admitted := *w.Spec.MaxSeconds, w.Condition(kueue.Admitted)
	if past := w.Status.PastSeconds; past != nil {
		rest -= *past
	}
	since := admitted.LastTransitionTime.Add(time.Duration(rest) * time.Second)
	return &passed{
		context: f.Context, since: since, awaits: awaitsKueue(v, f, w, liveness.DutyStop, since),
		what: fmt.Sprintf("it has reached its maximum execution time (%ds)", *w.Spec.MaxSeconds), verb: "stop it",
		evidence: []string{
			fmt.Sprintf("%s: spec.maximumExecutionTimeSeconds of %s is %d", f.Context, view.OfWorkload(f, w).String(), *w.Spec.MaxSeconds),
			quote.WorkloadCondition(f, w, admitted),
		},
	}
}

// pastDrain returns the drain of a queue of a Workload. Kueue evicts the Workload then (kueue:
// pkg/controller/core/workload_controller.go, reconcileOnLocalQueueActiveState, reconcileOnClusterQueueActiveState).
func pastDrain(v *view.View, f *inspect.Facts, w *kueue.Workload) *passed {
	if q, _ := v.LocalQueue(f, w.Namespace, w.Spec.QueueName); q != nil && q.Spec.StopPolicy == kueue.HoldAndDrain {
		return drained(v, f, w, view.OfKueue(f, "LocalQueue", q.Namespace, q.Name), q.Status.Conditions, q.ManagedFields)
	}
	if w.Status.Admission == nil {
		return nil
	}
	if q, _ := v.ClusterQueue(f, w.Status.Admission.ClusterQueue); q != nil && q.Spec.StopPolicy == kueue.HoldAndDrain {
		return drained(v, f, w, view.OfKueue(f, "ClusterQueue", "", q.Name), q.Status.Conditions, q.ManagedFields)
	}
	return nil
}

// drained describes a Workload in a queue that drains, with the conditions and managedFields of the queue; nil if
// neither shows since when.
func drained(v *view.View, f *inspect.Facts, w *kueue.Workload, queue view.Object, conditions []metav1.Condition, fields []metav1.ManagedFieldsEntry) *passed {
	admitted, active := w.Condition(kueue.Admitted), meta.FindStatusCondition(conditions, kueue.Active)
	bounds := []time.Time{admitted.LastTransitionTime.Time}
	if view.IsFalse(active) {
		bounds = append(bounds, active.LastTransitionTime.Time)
	}
	since, isUndated := view.Proven(bounds, inspect.SpecWrittenAt(fields))
	if isUndated && !view.IsFalse(active) {
		return nil
	}
	return &passed{
		context: f.Context, since: since, isUndated: isUndated, awaits: awaitsKueue(v, f, w, liveness.DutyStop, since),
		what: "its " + queue.String() + " has stopPolicy HoldAndDrain", verb: "evict its Workload",
		evidence: []string{fmt.Sprintf("%s: spec.stopPolicy of %s is %s", f.Context, queue.String(), kueue.HoldAndDrain), quote.WorkloadCondition(f, w, admitted)},
	}
}
