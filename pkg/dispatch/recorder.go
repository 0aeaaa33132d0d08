package dispatch

import (
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// APIVersion is the version of Event as a document.
const APIVersion = "jobmanagedby.github.io/v1alpha1"

// Recorder numbers events, gives them their time, and passes them on, one after
// the other.
type Recorder struct {
	clock clock.PassiveClock
	to    func(*Event)

	mu       sync.Mutex
	sequence int64
}

// NewRecorder makes a recorder that passes events on to to, which is never called
// twice at once.
func NewRecorder(c clock.PassiveClock, to func(*Event)) *Recorder {
	return &Recorder{clock: c, to: to}
}

// Record completes an event and passes it on.
func (r *Recorder) Record(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sequence++
	e.TypeMeta = metav1.TypeMeta{APIVersion: APIVersion, Kind: EventKind}
	e.Sequence = r.sequence
	e.Time = metav1.NewMicroTime(r.clock.Now().UTC())
	r.to(&e)
}

// setState puts the state of an origin into an event about it.
func (e *Event) setState(origin *batchv1.Job) {
	s := &origin.Status
	e.Status = statusOf(origin)
	e.Completions = origin.Spec.Completions
	e.Succeeded, e.Failed, e.Active, e.Ready = s.Succeeded, s.Failed, s.Active, s.Ready
}

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
