package projection

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// outcome is how a Job ends. Each outcome has an interim condition, which decides it, and a
// terminal one, which ends the Job. The server refuses conditions of different outcomes
// (kubernetes: validateJobStatus), and the removal of any.
type outcome string

const (
	undecided outcome = "undecided"
	success   outcome = "success"
	failure   outcome = "failure"
)

func (o outcome) interim() batchv1.JobConditionType {
	if o == success {
		return batchv1.JobSuccessCriteriaMet
	}
	return batchv1.JobFailureTarget
}

func (o outcome) terminal() batchv1.JobConditionType {
	if o == success {
		return batchv1.JobComplete
	}
	return batchv1.JobFailed
}

func (o outcome) other() outcome {
	if o == success {
		return failure
	}
	return success
}

// isShownBy reports whether any of the conditions belongs to the outcome.
func (o outcome) isShownBy(conditions []batchv1.JobCondition) bool {
	return isTrue(conditions, o.terminal()) || isTrue(conditions, o.interim())
}

// outcomeOf returns the outcome that the conditions show, and whether they contradict each other.
// A terminal condition outweighs an interim one. If that does not decide, the Job has failed.
func outcomeOf(conditions []batchv1.JobCondition) (shown outcome, contradictory bool) {
	succeeds, fails := success.isShownBy(conditions), failure.isShownBy(conditions)
	switch {
	case !succeeds && !fails:
		return undecided, false
	case !succeeds || !fails:
		if succeeds {
			return success, false
		}
		return failure, false
	}
	complete, failed := isTrue(conditions, batchv1.JobComplete), isTrue(conditions, batchv1.JobFailed)
	if complete != failed {
		if complete {
			return success, true
		}
		return failure, true
	}
	if complete && !isTrue(conditions, batchv1.JobFailureTarget) {
		return success, true
	}
	return failure, true
}

// finished reports whether the Job has a terminal condition.
func finished(conditions []batchv1.JobCondition) bool {
	return isTrue(conditions, batchv1.JobComplete) || isTrue(conditions, batchv1.JobFailed)
}

// frozen reports whether a status has conditions that the server refuses in every write, and that
// cannot be removed. Only a server before 1.30 can have stored them.
func frozen(conditions []batchv1.JobCondition) bool {
	return isTrue(conditions, batchv1.JobSuccessCriteriaMet) && isTrue(conditions, batchv1.JobFailureTarget)
}

// finalDifferences returns the differences between a mirror and an origin that accepts no more
// writes.
func finalDifferences(origin, mirror *batchv1.Job) []string {
	if !finished(origin.Status.Conditions) {
		return []string{"the origin is SuccessCriteriaMet and FailureTarget at once: its API server no longer accepts a status"}
	}
	stored, _ := outcomeOf(origin.Status.Conditions)
	shown, _ := outcomeOf(mirror.Status.Conditions)
	a, b := &origin.Status, &mirror.Status
	switch {
	case !finished(mirror.Status.Conditions):
		return []string{fmt.Sprintf("the origin is %s, and its mirror is not finished", stored.terminal())}
	case shown != stored:
		return []string{fmt.Sprintf("the origin is %s, and its mirror is %s", stored.terminal(), shown.terminal())}
	case a.Succeeded != b.Succeeded || a.Failed != b.Failed:
		return []string{fmt.Sprintf("the origin is %s with %d succeeded and %d failed Pods, and its mirror with %d and %d",
			stored.terminal(), a.Succeeded, a.Failed, b.Succeeded, b.Failed)}
	case a.CompletionTime != nil && inSeconds(b.CompletionTime) != nil && !a.CompletionTime.Equal(inSeconds(b.CompletionTime)):
		return []string{differentEnd(inSeconds(b.CompletionTime), a.CompletionTime)}
	}
	return nil
}

// decide sets the outcome, and whether the end can be written. An end before the Pods are gone,
// as from a worker before 1.31, is held back (rules 11, 13, 14). While Pods are uncounted, the
// counters are not final either.
func (d *draft) decide() {
	shown, contradictory := outcomeOf(d.status.Conditions)
	if contradictory {
		d.diverges(fmt.Sprintf("the mirror says both that it succeeds and that it fails: taken for a %s", shown))
	}
	d.outcome, _ = outcomeOf(d.origin.Status.Conditions)
	if d.outcome == undecided {
		d.outcome = shown
	}
	if shown != undecided && shown != d.outcome {
		d.diverges(fmt.Sprintf("the mirror says %s, but the origin is already %s, which cannot change", shown.terminal(), d.outcome.interim()))
	}
	if d.outcome == undecided {
		return
	}
	d.ended = isTrue(d.status.Conditions, d.outcome.terminal())
	drained := d.mirror.Status.Active <= 0 && value(d.mirror.Status.Terminating) <= 0 && uncounted(&d.mirror.Status) == nil
	d.ending = d.ended && (drained || d.options.ForceDrained)
	d.result.Held = d.ended && !d.ending
}

// conclude adjusts the conditions to the outcome. It removes those of the other outcome (4, 5,
// 21, 22), adds the interim condition, and keeps the terminal one only if the end can be written.
func (d *draft) conclude() {
	if d.outcome == undecided {
		return
	}
	other := d.outcome.other()
	decision := d.decision()
	d.status.Conditions = without(d.status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Status == corev1.ConditionTrue &&
			(c.Type == other.interim() || c.Type == other.terminal() || c.Type == d.outcome.terminal() && !d.ending)
	})
	d.status.Conditions = put(d.status.Conditions, decision, d.outcome.terminal())
	if d.outcome == success && d.decisionUnknown() {
		d.status.Conditions = without(d.status.Conditions, func(c batchv1.JobCondition) bool {
			return c.Type == batchv1.JobSuccessCriteriaMet
		})
	}
}

// decision returns the interim condition of the outcome: the mirror's or, because it cannot be
// removed (26, 27), the origin's. Otherwise it derives one from the terminal condition, which
// requires it (9, 10, 23). Workers before 1.31 set no interim condition.
func (d *draft) decision() batchv1.JobCondition {
	for _, conditions := range [][]batchv1.JobCondition{d.status.Conditions, d.origin.Status.Conditions} {
		if isTrue(conditions, d.outcome.interim()) {
			return *find(conditions, d.outcome.interim())
		}
	}
	decision := *find(d.status.Conditions, d.outcome.terminal())
	decision.Type = d.outcome.interim()
	if decision.Reason == "" && d.outcome == success {
		decision.Reason = batchv1.JobReasonCompletionsReached
	}
	return decision
}

// decisionUnknown reports whether the origin's server accepts SuccessCriteriaMet only for Jobs
// with a successPolicy, as before 1.31 (24, 25), and has not stored it yet.
func (d *draft) decisionUnknown() bool {
	return d.options.minorBelow(31) && (!indexed(d.origin) || d.origin.Spec.SuccessPolicy == nil) &&
		!isTrue(d.origin.Status.Conditions, batchv1.JobSuccessCriteriaMet)
}
