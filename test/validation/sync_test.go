package validation

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// sync is what the Job controller does after a change of a Job.
func (c *controller) sync() {
	c.status = *c.mirror.job.Status.DeepCopy()
	s := &c.status
	if c.finished() {
		c.drain()
		return
	}
	if s.UncountedTerminatedPods == nil {
		s.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	suspended := *c.spec().Suspend
	if s.StartTime == nil && !suspended {
		s.StartTime = ptr.To(metav1.NewTime(c.now))
	}
	c.prune()
	c.account()
	if reason := c.verdict(); reason != "" {
		c.end(reason)
		return
	}
	switch {
	case suspended:
		c.suspend()
	case c.has(batchv1.JobSuspended):
		c.set(batchv1.JobSuspended, corev1.ConditionFalse, "JobResumed", "Job resumed")
		s.StartTime = ptr.To(metav1.NewTime(c.now))
	}
	if !suspended {
		c.create()
	}
	c.write()
}

// drain continues to count for a Job that was ended too early, if the worker does.
func (c *controller) drain() {
	s := &c.status
	late := ptr.Deref(s.Terminating, 0) > 0 || len(s.UncountedTerminatedPods.Failed)+len(s.UncountedTerminatedPods.Succeeded) > 0
	if late && !c.worker.freezes {
		c.account()
		c.write()
	}
}

func (c *controller) suspend() {
	for _, p := range c.running() {
		p.leaving = true
	}
	if c.has(batchv1.JobSuspended) {
		return
	}
	c.set(batchv1.JobSuspended, corev1.ConditionTrue, "JobSuspended", "Job suspended")
	if c.worker.clears {
		c.status.StartTime = nil
	}
}

// prune removes the indexes that a Job does not have any more since it was scaled.
func (c *controller) prune() {
	if !c.indexed() {
		return
	}
	for i := range c.done {
		if i >= int(*c.spec().Completions) {
			delete(c.done, i)
		}
	}
	for i := range c.lost {
		if i >= int(*c.spec().Completions) {
			delete(c.lost, i)
		}
	}
	for _, p := range c.pods {
		p.leaving = p.leaving || p.index >= int(*c.spec().Completions)
	}
}

// account counts the ended Pods, in the two steps of the real controller: it stores their UIDs
// before the counters.
func (c *controller) account() {
	uncounted := c.status.UncountedTerminatedPods
	c.status.Succeeded += int32(len(uncounted.Succeeded))
	c.status.Failed += int32(len(uncounted.Failed))
	*uncounted = batchv1.UncountedTerminatedPods{}
	for _, p := range c.pods {
		if !p.ended {
			continue
		}
		switch {
		case !p.failed && c.indexed():
			if !c.lost[p.index] && p.index < int(*c.spec().Completions) {
				c.done[p.index] = true
			}
		case !p.failed:
			uncounted.Succeeded = append(uncounted.Succeeded, p.uid)
		case p.fatal && c.ignores():
		default:
			uncounted.Failed = append(uncounted.Failed, p.uid)
			c.tries[p.index]++
			if limit := c.spec().BackoffLimitPerIndex; limit != nil && !p.leaving && c.tries[p.index] > *limit && !c.done[p.index] {
				c.lost[p.index] = true
			}
		}
		if p.fatal && c.fatal() {
			c.overdue = true
		}
	}
	c.pods = slices.DeleteFunc(c.pods, func(p *pod) bool { return p.ended })
}

func (c *controller) action() batchv1.PodFailurePolicyAction {
	if policy := c.spec().PodFailurePolicy; policy != nil {
		return policy.Rules[0].Action
	}
	return ""
}

func (c *controller) ignores() bool { return c.action() == batchv1.PodFailurePolicyActionIgnore }
func (c *controller) fatal() bool   { return c.action() == batchv1.PodFailurePolicyActionFailJob }

// verdict returns the reason for which the Job ends, "" while it does not.
func (c *controller) verdict() string {
	s, spec := &c.status, c.spec()
	succeeded := s.Succeeded + int32(len(s.UncountedTerminatedPods.Succeeded))
	failed := s.Failed + int32(len(s.UncountedTerminatedPods.Failed))
	if c.indexed() {
		succeeded = int32(len(c.done))
	}
	switch {
	case c.has(batchv1.JobSuccessCriteriaMet):
		return batchv1.JobReasonSuccessPolicy
	case c.has(batchv1.JobFailureTarget), c.overdue:
		return batchv1.JobReasonDeadlineExceeded
	case spec.BackoffLimitPerIndex == nil && failed > *spec.BackoffLimit:
		return batchv1.JobReasonBackoffLimitExceeded
	case spec.MaxFailedIndexes != nil && len(c.lost) > int(*spec.MaxFailedIndexes):
		return batchv1.JobReasonMaxFailedIndexesExceeded
	case len(c.lost) > 0 && len(c.lost)+len(c.done) >= int(*spec.Completions):
		return batchv1.JobReasonFailedIndexes
	case spec.SuccessPolicy != nil && succeeded >= *spec.SuccessPolicy.Rules[0].SucceededCount:
		return batchv1.JobReasonSuccessPolicy
	case len(c.running()) > 0:
		return ""
	case spec.Completions == nil && succeeded > 0, spec.Completions != nil && succeeded >= *spec.Completions:
		return batchv1.JobReasonCompletionsReached
	}
	return ""
}

// end stops the running Pods and ends the Job: at once, like workers before 1.31, or announced, and
// when no Pod is left.
func (c *controller) end(reason string) {
	decision, end := batchv1.JobFailureTarget, batchv1.JobFailed
	if !c.has(batchv1.JobFailureTarget) && (reason == batchv1.JobReasonSuccessPolicy || reason == batchv1.JobReasonCompletionsReached) {
		decision, end = batchv1.JobSuccessCriteriaMet, batchv1.JobComplete
	}
	for _, p := range c.running() {
		p.leaving = true
	}
	message := "The Job ends"
	if c.worker.decides() && !c.has(decision) {
		c.set(decision, corev1.ConditionTrue, reason, message)
		c.write()
		return
	}
	uncounted := c.status.UncountedTerminatedPods
	left := len(uncounted.Succeeded)+len(uncounted.Failed) > 0
	if c.worker.decides() {
		left = left || len(c.pods) > 0
	}
	if left && !c.worker.careless {
		c.write()
		return
	}
	c.set(end, corev1.ConditionTrue, reason, message)
	if end == batchv1.JobComplete {
		c.status.CompletionTime = ptr.To(metav1.NewTime(c.now))
	}
	c.write()
}
