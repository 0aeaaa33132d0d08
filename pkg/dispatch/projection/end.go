package projection

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// Fail makes the status of an origin whose mirror is not to run any more: Failed,
// with that reason and message, and no pods. ok is false where the API server
// would refuse that, because the origin is finished or its success was decided.
func Fail(origin *batchv1.Job, reason, message string, now time.Time) (status batchv1.JobStatus, ok bool) {
	stored := origin.Status.Conditions
	if finished(stored) || isTrue(stored, batchv1.JobSuccessCriteriaMet) {
		return *origin.Status.DeepCopy(), false
	}
	status = Stop(origin)
	at := metav1.NewTime(now.Truncate(time.Second))
	for _, of := range []batchv1.JobConditionType{batchv1.JobFailureTarget, batchv1.JobFailed} {
		if isTrue(stored, of) {
			// The failure was decided before, for a reason of its own.
			continue
		}
		status.Conditions = put(status.Conditions, batchv1.JobCondition{
			Type: of, Status: corev1.ConditionTrue, Reason: reason, Message: message,
			LastProbeTime: at, LastTransitionTime: at,
		}, batchv1.JobFailed)
	}
	status.Ready, status.Terminating = ptr.To[int32](0), ptr.To[int32](0)
	// It belongs to Complete alone (rule 6).
	status.CompletionTime = nil
	if status.StartTime == nil {
		// A finished Job needs one (rule 12), with exceptions that not all servers know.
		status.StartTime = &at
	}
	return status, true
}

// Stop makes the status of an unfinished origin whose mirror was removed: as it
// was, with no pods.
func Stop(origin *batchv1.Job) batchv1.JobStatus {
	status := *origin.Status.DeepCopy()
	status.Active = 0
	status.Ready = limited(status.Ready, 0)
	status.Terminating = limited(status.Terminating, 0)
	if status.UncountedTerminatedPods != nil {
		status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	return status
}
