package dispatch

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// statusOf is the one word for the state of a Job of ours.
func statusOf(job *batchv1.Job) delegation.Status {
	s := delegation.State{
		Deleting: job.DeletionTimestamp != nil,
		Suspend:  job.Spec.Suspend != nil && *job.Spec.Suspend,
		Active:   job.Status.Active, Succeeded: job.Status.Succeeded, Failed: job.Status.Failed, Ready: job.Status.Ready,
		// That we have it is known, whether its status says so yet or not.
		StatusWritten: true,
	}
	for _, c := range job.Status.Conditions {
		s.Conditions = append(s.Conditions, delegation.Condition{
			Type: string(c.Type), Reason: c.Reason, Message: c.Message,
			True: c.Status == corev1.ConditionTrue, Since: c.LastTransitionTime.Time,
		})
	}
	return delegation.Job().StatusOf(delegation.Dispatch, s, true)
}

// trueCondition finds a condition that is True.
func trueCondition(s *batchv1.JobStatus, t batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range s.Conditions {
		if c := &s.Conditions[i]; c.Type == t && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}

// finished returns the condition that ended a Job, nil if it has not ended.
func finished(s *batchv1.JobStatus) *batchv1.JobCondition {
	if c := trueCondition(s, batchv1.JobComplete); c != nil {
		return c
	}
	return trueCondition(s, batchv1.JobFailed)
}
