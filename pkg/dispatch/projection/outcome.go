package projection

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// outcome is how a Job ends. Each has an interim condition, which decides it, and
// a terminal one, which ends the Job; the server takes no two of different
// outcomes (kubernetes: validateJobStatus), and lets none be taken back.
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

// saidBy is whether any of the conditions speaks of that outcome.
func (o outcome) saidBy(conditions []batchv1.JobCondition) bool {
	return isTrue(conditions, o.terminal()) || isTrue(conditions, o.interim())
}

// outcomeOf is what conditions say, and whether they say the opposite, too. An
// end weighs more than a decision, and in doubt a Job has failed.
func outcomeOf(conditions []batchv1.JobCondition) (said outcome, contradictory bool) {
	succeeds, fails := success.saidBy(conditions), failure.saidBy(conditions)
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

// finished is whether the Job's end is stored.
func finished(conditions []batchv1.JobCondition) bool {
	return isTrue(conditions, batchv1.JobComplete) || isTrue(conditions, batchv1.JobFailed)
}

// frozen is whether a status carries what the server refuses in every write and
// lets no one take back: only a server before 1.30 can have stored it.
func frozen(conditions []batchv1.JobCondition) bool {
	return isTrue(conditions, batchv1.JobSuccessCriteriaMet) && isTrue(conditions, batchv1.JobFailureTarget)
}

// sealed tells how a mirror differs from an origin that is not written to any more.
func sealed(origin, mirror *batchv1.Job) []string {
	if !finished(origin.Status.Conditions) {
		return []string{"the origin is SuccessCriteriaMet and FailureTarget at once: its API server takes no status any more"}
	}
	stored, _ := outcomeOf(origin.Status.Conditions)
	said, _ := outcomeOf(mirror.Status.Conditions)
	a, b := &origin.Status, &mirror.Status
	switch {
	case !finished(mirror.Status.Conditions):
		return []string{fmt.Sprintf("the origin is %s, and its mirror is not finished", stored.terminal())}
	case said != stored:
		return []string{fmt.Sprintf("the origin is %s, and its mirror is %s", stored.terminal(), said.terminal())}
	case a.Succeeded != b.Succeeded || a.Failed != b.Failed:
		return []string{fmt.Sprintf("the origin is %s with %d succeeded and %d failed pods, and its mirror with %d and %d",
			stored.terminal(), a.Succeeded, a.Failed, b.Succeeded, b.Failed)}
	case a.CompletionTime != nil && whole(b.CompletionTime) != nil && !a.CompletionTime.Equal(whole(b.CompletionTime)):
		return []string{otherEnd(whole(b.CompletionTime), a.CompletionTime)}
	}
	return nil
}

// decide settles the outcome, and whether it may be told: an end that comes before
// the pods are gone, as from a worker before 1.31, is held back (rules 11, 13, 14).
// Its counters are not final either while pods are uncounted.
func (d *draft) decide() {
	said, contradictory := outcomeOf(d.status.Conditions)
	if contradictory {
		d.diverges(fmt.Sprintf("the mirror says both that it succeeds and that it fails: taken for a %s", said))
	}
	d.outcome, _ = outcomeOf(d.origin.Status.Conditions)
	if d.outcome == undecided {
		d.outcome = said
	}
	if said != undecided && said != d.outcome {
		d.diverges(fmt.Sprintf("the mirror says %s, but the origin is %s already, which is not taken back", said.terminal(), d.outcome.interim()))
	}
	if d.outcome == undecided {
		return
	}
	d.ended = isTrue(d.status.Conditions, d.outcome.terminal())
	drained := d.mirror.Status.Active <= 0 && value(d.mirror.Status.Terminating) <= 0 && uncounted(&d.mirror.Status) == nil
	d.ending = d.ended && (drained || d.options.ForceDrained)
	d.result.Held = d.ended && !d.ending
}

// conclude makes the conditions fit the outcome: none of the other one (4, 5, 21,
// 22), the decision before the end, and the end when its time has come.
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

// decision is the interim condition of the outcome: the mirror's, or else the
// origin's, which does not lose it (26, 27), or else one made of the end, which
// may not come without (9, 10, 23), and does from workers before 1.31.
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

// decisionUnknown is whether the origin's server takes SuccessCriteriaMet for a Job
// with a successPolicy alone, as before 1.31 (24, 25), and has not stored it yet.
func (d *draft) decisionUnknown() bool {
	return d.options.minorBelow(31) && (!indexed(d.origin) || d.origin.Spec.SuccessPolicy == nil) &&
		!isTrue(d.origin.Status.Conditions, batchv1.JobSuccessCriteriaMet)
}
