package projection

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// at returns a time, in seconds after the first event.
func at(seconds int) *metav1.Time {
	return ptr.To(metav1.NewTime(time.Date(2026, 8, 14, 9, 0, seconds, 0, time.UTC)))
}

// is returns a condition that is True since a time.
func is(of batchv1.JobConditionType, since int) batchv1.JobCondition {
	return batchv1.JobCondition{Type: of, Status: corev1.ConditionTrue, LastTransitionTime: *at(since)}
}

// isNot returns a condition that is False since a time.
func isNot(of batchv1.JobConditionType, since int) batchv1.JobCondition {
	c := is(of, since)
	c.Status = corev1.ConditionFalse
	return c
}

// conditions is a list of conditions.
type conditions = []batchv1.JobCondition

// job returns a Job with a status.
func job(status batchv1.JobStatus, spec ...func(*batchv1.JobSpec)) *batchv1.Job {
	j := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "train", CreationTimestamp: *at(0)},
		Spec:       batchv1.JobSpec{Completions: ptr.To[int32](4), Parallelism: ptr.To[int32](2)},
		Status:     status,
	}
	for _, change := range spec {
		change(&j.Spec)
	}
	return j
}

func withIndexes(s *batchv1.JobSpec) { s.CompletionMode = ptr.To(batchv1.IndexedCompletion) }

func withBackoffPerIndex(s *batchv1.JobSpec) {
	withIndexes(s)
	s.BackoffLimitPerIndex = ptr.To[int32](1)
}

func withSuccessPolicy(s *batchv1.JobSpec) {
	withIndexes(s)
	s.SuccessPolicy = &batchv1.SuccessPolicy{}
}

func elasticOf(n int32) func(*batchv1.JobSpec) {
	return func(s *batchv1.JobSpec) {
		withIndexes(s)
		s.Completions, s.Parallelism = &n, &n
	}
}

func whileSuspended(s *batchv1.JobSpec) { s.Suspend = ptr.To(true) }
