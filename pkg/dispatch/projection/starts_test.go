package projection

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// starts returns situations for startTime and completionTime.
func starts() []situation {
	running := func(start *metav1.Time, c ...batchv1.JobCondition) batchv1.JobStatus {
		return batchv1.JobStatus{StartTime: start, Active: 1, Conditions: c}
	}
	again := running(at(5), isNot(suspended, 5))
	asSuspended := running(at(1), batchv1.JobCondition{
		Type: suspended, Status: corev1.ConditionTrue, Reason: "JobSuspended", Message: "Job suspended", LastTransitionTime: *at(5),
	})
	return []situation{
		{name: "it was suspended and resumed unseen: first it is suspended", origin: running(at(1)), mirror: again, want: asSuspended, more: true},
		{name: "it was suspended and resumed unseen: then it is resumed", origin: asSuspended, mirror: again, want: again},
		{
			name:   "suspended and resumed unseen, then finished: the end follows in the second write",
			origin: running(at(1)),
			mirror: batchv1.JobStatus{
				StartTime: at(5), CompletionTime: at(9), Succeeded: 4, Conditions: conditions{isNot(suspended, 5), is(succeeds, 8), is(complete, 9)},
			},
			want: batchv1.JobStatus{
				StartTime: at(1), Succeeded: 4, Conditions: append(asSuspended.Conditions, is(succeeds, 8)),
			},
			more: true,
		},
		{
			name: "it was suspended and resumed unseen, on an origin before 1.32", options: Options{OriginMinor: 31},
			origin: running(at(1)), mirror: again, want: running(at(1), isNot(suspended, 5)), diverged: "the mirror started at 2026-08-14T09:00:05Z",
		},
		{
			name: "it was suspended and resumed unseen, on an origin that has refused to follow", options: Options{PinTimes: true},
			origin: asSuspended, mirror: again, want: running(at(1), isNot(suspended, 5)), diverged: "the mirror started at 2026-08-14T09:00:05Z",
		},
		{
			name: "the mirror was recreated, and was never suspended", origin: running(at(1)), mirror: running(at(5)),
			want: running(at(1)), diverged: "the mirror started at 2026-08-14T09:00:05Z",
		},
		{
			name: "the mirror alone is suspended, on a worker that clears startTime", origin: running(at(1)),
			mirror: running(nil, is(suspended, 3)), want: running(at(1), is(suspended, 3)),
		},
		{
			name: "the mirror is suspended for the second time, the first was not seen", origin: running(at(1)),
			mirror: running(at(5), is(suspended, 7)), want: running(at(1), is(suspended, 7)),
		},
		{
			name: "both are suspended, and startTime is cleared", spec: whileSuspended, origin: running(at(1)),
			mirror: running(nil, is(suspended, 3)), want: running(nil, is(suspended, 3)),
		},
		{
			name: "the origin is suspended, and the mirror runs still", spec: whileSuspended, origin: running(at(1)),
			mirror: running(at(5)), want: running(at(5)),
		},
		{
			name:   "the mirror is finished and has no startTime",
			mirror: batchv1.JobStatus{Conditions: conditions{is(fails, 8), is(failed, 9)}},
			want:   batchv1.JobStatus{StartTime: at(8), Conditions: conditions{is(fails, 8), is(failed, 9)}},
		},
		{
			name:   "the mirror has lost its startTime and is finished",
			origin: running(at(1)), spec: whileSuspended,
			mirror: batchv1.JobStatus{Conditions: conditions{is(fails, 8), is(failed, 9)}},
			want:   batchv1.JobStatus{StartTime: at(1), Conditions: conditions{is(fails, 8), is(failed, 9)}},
		},
		{
			name:   "a suspended Job of no Pods ends without having started",
			spec:   func(s *batchv1.JobSpec) { s.Suspend, s.Completions = ptr.To(true), ptr.To[int32](0) },
			mirror: batchv1.JobStatus{CompletionTime: at(9), Conditions: conditions{is(succeeds, 9), is(complete, 9)}},
			want:   batchv1.JobStatus{CompletionTime: at(9), Conditions: conditions{is(succeeds, 9), is(complete, 9)}},
		},
		{
			name:   "startTime was kept, and is after the end",
			origin: batchv1.JobStatus{StartTime: at(5)}, diverged: "the mirror was complete at 2026-08-14T09:00:03Z",
			mirror: batchv1.JobStatus{StartTime: at(5), CompletionTime: at(3), Conditions: conditions{is(succeeds, 9), is(complete, 9)}},
			want:   batchv1.JobStatus{StartTime: at(5), CompletionTime: at(5), Conditions: conditions{is(succeeds, 9), is(complete, 9)}},
		},
		{
			name: "there is a completionTime, and the mirror is not complete", mirror: batchv1.JobStatus{StartTime: at(1), CompletionTime: at(3)},
			want: batchv1.JobStatus{StartTime: at(1)},
		},
		{
			name: "the mirror is complete, and does not say since when", mirror: batchv1.JobStatus{StartTime: at(1), Conditions: conditions{is(succeeds, 8), is(complete, 9)}},
			want: batchv1.JobStatus{StartTime: at(1), CompletionTime: at(9), Conditions: conditions{is(succeeds, 8), is(complete, 9)}},
		},
		{
			name: "times have fractions", mirror: running(ptr.To(metav1.NewTime(at(1).Add(300_000_000)))),
			origin: running(at(1)), want: running(at(1)),
		},
		{name: "a zero startTime", mirror: running(&metav1.Time{}), want: running(nil)},
	}
}
