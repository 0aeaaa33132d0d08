package projection

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// Fail returns the status of an origin whose mirror will not run any more: Failed, with the
// reason and the message, and without Pods. ok is false if the API server would refuse it,
// because the origin is finished or its success is decided.
func Fail(origin *batchv1.Job, reason, message string, now time.Time) (status batchv1.JobStatus, ok bool) {
	stored := origin.Status.Conditions
	if finished(stored) || isTrue(stored, batchv1.JobSuccessCriteriaMet) {
		return *origin.Status.DeepCopy(), false
	}
	status = Stop(origin)
	at := metav1.NewTime(now.Truncate(time.Second))
	for _, of := range []batchv1.JobConditionType{batchv1.JobFailureTarget, batchv1.JobFailed} {
		if isTrue(stored, of) {
			// The failure was already decided for another reason.
			continue
		}
		status.Conditions = put(status.Conditions, batchv1.JobCondition{
			Type: of, Status: corev1.ConditionTrue, Reason: reason, Message: message,
			LastProbeTime: at, LastTransitionTime: at,
		}, batchv1.JobFailed)
	}
	status.Ready, status.Terminating = ptr.To[int32](0), ptr.To[int32](0)
	// Only Complete has a completionTime (rule 6).
	status.CompletionTime = nil
	if status.StartTime == nil {
		// A finished Job needs a startTime (rule 12), with exceptions that not all servers know.
		status.StartTime = &at
	}
	return status, true
}

// Stop returns the status of an unfinished origin whose mirror was deleted: unchanged, but
// without Pods.
func Stop(origin *batchv1.Job) batchv1.JobStatus {
	status := *origin.Status.DeepCopy()
	status.Active = 0
	status.Ready = clamp(status.Ready, 0)
	status.Terminating = clamp(status.Terminating, 0)
	if status.UncountedTerminatedPods != nil {
		status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	return status
}
