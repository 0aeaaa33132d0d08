package projection

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// ends returns situations for conditions and the end.
func ends() []situation {
	end := batchv1.JobStatus{
		StartTime: at(1), CompletionTime: at(9), Succeeded: 4,
		Conditions: conditions{is(succeeds, 8), is(complete, 9)},
	}
	lost := batchv1.JobStatus{StartTime: at(1), Failed: 3, Conditions: conditions{is(fails, 8), is(failed, 9)}}
	unfinished := batchv1.JobStatus{StartTime: at(1), Active: 2}
	return []situation{
		{name: "an unseen mirror is projected in one write", mirror: end, want: end},
		{name: "nothing has changed", origin: end, mirror: end, want: end},
		{
			name:   "a worker before 1.31 does not decide before it completes",
			mirror: batchv1.JobStatus{StartTime: at(1), CompletionTime: at(9), Conditions: conditions{is(complete, 9)}},
			want: batchv1.JobStatus{StartTime: at(1), CompletionTime: at(9), Conditions: conditions{
				{Type: succeeds, Status: corev1.ConditionTrue, Reason: batchv1.JobReasonCompletionsReached, LastTransitionTime: *at(9)},
				is(complete, 9),
			}},
		},
		{
			name: "a worker before 1.31 does not decide before it fails",
			mirror: batchv1.JobStatus{StartTime: at(1), Conditions: conditions{
				{Type: failed, Status: corev1.ConditionTrue, Reason: "DeadlineExceeded", Message: "late", LastTransitionTime: *at(9)},
			}},
			want: batchv1.JobStatus{StartTime: at(1), Conditions: conditions{
				{Type: fails, Status: corev1.ConditionTrue, Reason: "DeadlineExceeded", Message: "late", LastTransitionTime: *at(9)},
				{Type: failed, Status: corev1.ConditionTrue, Reason: "DeadlineExceeded", Message: "late", LastTransitionTime: *at(9)},
			}},
		},
		{
			name: "an origin before 1.31 does not know the decision", options: Options{OriginMinor: 30}, mirror: end,
			want: batchv1.JobStatus{StartTime: at(1), CompletionTime: at(9), Succeeded: 4, Conditions: conditions{is(complete, 9)}},
		},
		{
			name: "an origin before 1.31 knows it of a Job with a successPolicy", options: Options{OriginMinor: 30},
			spec: withSuccessPolicy, mirror: end, want: end,
		},
		{
			name: "a worker before 1.31 ends a Job while its Pods go",
			mirror: batchv1.JobStatus{
				StartTime: at(1), CompletionTime: at(9), Succeeded: 4, Terminating: ptr.To[int32](1),
				Conditions: conditions{is(succeeds, 8), is(complete, 9)},
			},
			want: batchv1.JobStatus{
				StartTime: at(1), Succeeded: 4, Terminating: ptr.To[int32](1), Conditions: conditions{is(succeeds, 8)},
			},
			held: true,
		},
		{
			name: "a worker before 1.31 ends a Job before its Pods are counted",
			mirror: batchv1.JobStatus{
				StartTime: at(1), Conditions: conditions{is(fails, 8), is(failed, 9)},
				UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{Failed: []types.UID{"a"}},
			},
			want: batchv1.JobStatus{
				StartTime: at(1), Conditions: conditions{is(fails, 8)},
				UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{},
			},
			held: true,
		},
		{
			name: "a worker before 1.31 keeps the condition", options: Options{ForceDrained: true},
			mirror: batchv1.JobStatus{
				StartTime: at(1), CompletionTime: at(9), Active: 1, Ready: ptr.To[int32](1), Terminating: ptr.To[int32](1),
				Conditions: conditions{is(succeeds, 8), is(complete, 9)},
			},
			want: batchv1.JobStatus{
				StartTime: at(1), CompletionTime: at(9), Ready: ptr.To[int32](0), Terminating: ptr.To[int32](0),
				Conditions: conditions{is(succeeds, 8), is(complete, 9)},
			},
		},
		{
			name:   "the mirror was recreated after success was decided",
			origin: batchv1.JobStatus{StartTime: at(1), Conditions: conditions{is(succeeds, 8)}},
			mirror: unfinished,
			want:   batchv1.JobStatus{StartTime: at(1), Active: 2, Conditions: conditions{is(succeeds, 8)}},
		},
		{
			name:   "the mirror was recreated after success was decided, and fails",
			origin: batchv1.JobStatus{StartTime: at(1), Conditions: conditions{is(succeeds, 8)}}, mirror: lost,
			want:     batchv1.JobStatus{StartTime: at(1), Failed: 3, Conditions: conditions{is(succeeds, 8)}},
			diverged: "says Failed, but the origin is already SuccessCriteriaMet",
		},
		{
			name:   "the mirror was recreated after failure was decided, and succeeds",
			origin: batchv1.JobStatus{StartTime: at(1), Conditions: conditions{is(fails, 8)}}, mirror: end,
			want:     batchv1.JobStatus{StartTime: at(1), Succeeded: 4, Conditions: conditions{is(fails, 8)}},
			diverged: "says Complete, but the origin is already FailureTarget",
		},
		{
			name: "the mirror is both complete and failed", mirror: batchv1.JobStatus{StartTime: at(1), Conditions: conditions{is(succeeds, 7), is(fails, 8)}},
			want:     batchv1.JobStatus{StartTime: at(1), Conditions: conditions{is(fails, 8)}},
			diverged: "taken for a failure",
		},
		{
			name:   "the mirror says both, and that it is complete",
			mirror: batchv1.JobStatus{StartTime: at(1), CompletionTime: at(9), Conditions: conditions{is(fails, 7), is(succeeds, 8), is(complete, 9)}},
			want:   batchv1.JobStatus{StartTime: at(1), CompletionTime: at(9), Conditions: conditions{is(succeeds, 8), is(complete, 9)}}, diverged: "taken for a success",
		},
		{name: "a finished origin stays finished", origin: end, mirror: unfinished, want: end, diverged: "its mirror is not finished"},
		{name: "the origin was canceled, and the mirror completes", origin: lost, mirror: end, want: lost, diverged: "is Failed, and its mirror is Complete"},
		{
			name: "the origin is complete without a decision, from before there were any", mirror: end,
			origin: batchv1.JobStatus{StartTime: at(1), CompletionTime: at(9), Succeeded: 4, Conditions: conditions{is(complete, 9)}},
			want:   batchv1.JobStatus{StartTime: at(1), CompletionTime: at(9), Succeeded: 4, Conditions: conditions{is(complete, 9)}},
		},
		{
			name: "the origin was decided both ways, and takes nothing any more", mirror: end, diverged: "no longer accepts a status",
			origin: batchv1.JobStatus{Conditions: conditions{is(succeeds, 1), is(fails, 1)}},
			want:   batchv1.JobStatus{Conditions: conditions{is(succeeds, 1), is(fails, 1)}},
		},
		{
			name:   "conditions came twice",
			mirror: batchv1.JobStatus{StartTime: at(1), Conditions: conditions{isNot(fails, 2), is("Other", 3), is(fails, 4), is("Other", 5)}},
			want:   batchv1.JobStatus{StartTime: at(1), Conditions: conditions{is(fails, 4), is("Other", 3)}},
		},
		{
			name: "a condition has no time, which the TTL counts from",
			mirror: batchv1.JobStatus{StartTime: at(1), Conditions: conditions{
				is(fails, 8), {Type: failed, Status: corev1.ConditionTrue},
			}},
			want: batchv1.JobStatus{StartTime: at(1), Conditions: conditions{is(fails, 8), is(failed, 8)}},
		},
	}
}
