package projection

import (
	"testing"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// numbers returns situations for counters.
func numbers() []situation {
	return []situation{
		{
			name:   "more Pods are ready than active (kubernetes issue 139428)",
			mirror: batchv1.JobStatus{Active: 1, Ready: ptr.To[int32](2)}, want: batchv1.JobStatus{Active: 1, Ready: ptr.To[int32](1)},
		},
		{
			name:   "counters are below zero",
			mirror: batchv1.JobStatus{Active: -1, Succeeded: -1, Failed: -1, Ready: ptr.To[int32](-1), Terminating: ptr.To[int32](-1)},
			want:   batchv1.JobStatus{Ready: ptr.To[int32](0), Terminating: ptr.To[int32](0)},
		},
		{
			name:   "the mirror was recreated, and fewer have failed",
			origin: batchv1.JobStatus{Failed: 3}, mirror: batchv1.JobStatus{Failed: 1}, want: batchv1.JobStatus{Failed: 3},
			diverged: "the mirror counts 1 failed Pods, but the origin already 3",
		},
		{
			name:   "the mirror was recreated, and fewer have succeeded",
			origin: batchv1.JobStatus{Succeeded: 3}, mirror: batchv1.JobStatus{Succeeded: 1}, want: batchv1.JobStatus{Succeeded: 3},
			diverged: "the mirror counts 1 succeeded Pods, but the origin already 3",
		},
		{
			name: "an elastic Job was scaled down", spec: elasticOf(2),
			origin: batchv1.JobStatus{Succeeded: 3, CompletedIndexes: "0-2"},
			mirror: batchv1.JobStatus{Succeeded: 2, CompletedIndexes: "0,1"},
			want:   batchv1.JobStatus{Succeeded: 2, CompletedIndexes: "0,1"},
		},
		{
			name: "the worker's Pods are still to be counted",
			mirror: batchv1.JobStatus{UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{
				Succeeded: []types.UID{"a", "a"}, Failed: []types.UID{""},
			}},
			want: batchv1.JobStatus{UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{}},
		},
		{
			name:   "an old worker does not count the ready and the terminating",
			origin: batchv1.JobStatus{Active: 1, Ready: ptr.To[int32](1), Terminating: ptr.To[int32](0)},
			mirror: batchv1.JobStatus{Active: 1}, want: batchv1.JobStatus{Active: 1},
		},
	}
}

// lists returns situations for completedIndexes and failedIndexes.
func lists() []situation {
	return []situation{
		{
			name: "the origin is not Indexed", mirror: batchv1.JobStatus{Succeeded: 2, CompletedIndexes: "0,1"},
			want: batchv1.JobStatus{Succeeded: 2}, diverged: `completedIndexes "0,1", for which the origin's spec has no use`,
		},
		{
			name: "the origin has no backoffLimitPerIndex", spec: withIndexes,
			mirror: batchv1.JobStatus{FailedIndexes: ptr.To("")}, want: batchv1.JobStatus{},
		},
		{
			name: "the origin was scaled down first", spec: elasticOf(3),
			origin: batchv1.JobStatus{Succeeded: 4, CompletedIndexes: "0,2-4"},
			mirror: batchv1.JobStatus{Succeeded: 4, CompletedIndexes: "0,2-4"},
			want:   batchv1.JobStatus{Succeeded: 2, CompletedIndexes: "0,2"}, diverged: "go beyond the origin's completions",
		},
		{
			name: "the mirror alone was scaled up", spec: withIndexes,
			origin: batchv1.JobStatus{Succeeded: 3, CompletedIndexes: "0-2"},
			mirror: batchv1.JobStatus{Succeeded: 6, CompletedIndexes: "0-5"},
			want:   batchv1.JobStatus{Succeeded: 4, CompletedIndexes: "0-3"}, diverged: "go beyond the origin's completions",
		},
		{
			name: "a list is written in another way than ours", spec: withBackoffPerIndex,
			mirror: batchv1.JobStatus{Succeeded: 3, CompletedIndexes: "0,1,2", FailedIndexes: ptr.To("3")},
			want:   batchv1.JobStatus{Succeeded: 3, CompletedIndexes: "0,1,2", FailedIndexes: ptr.To("3")},
		},
		{
			name: "a list cannot be read", spec: withIndexes, origin: batchv1.JobStatus{Succeeded: 1, CompletedIndexes: "0"},
			mirror: batchv1.JobStatus{Succeeded: 2, CompletedIndexes: "1,0"},
			want:   batchv1.JobStatus{Succeeded: 2, CompletedIndexes: "0"}, diverged: "completedIndexes cannot be read",
		},
		{
			name: "an index is completed and failed", spec: withBackoffPerIndex,
			mirror: batchv1.JobStatus{Succeeded: 2, CompletedIndexes: "0,1", FailedIndexes: ptr.To("1-3")},
			want:   batchv1.JobStatus{Succeeded: 2, CompletedIndexes: "0,1", FailedIndexes: ptr.To("2,3")}, diverged: "taken for completed",
		},
	}
}

func TestNothingToCountIsNoChange(t *testing.T) {
	none, empty := batchv1.JobStatus{}, batchv1.JobStatus{UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{}, Conditions: conditions{}}
	assert.Assert(t, !Project(job(none), job(empty), Options{}).Changed)
	assert.Assert(t, !Project(job(empty), job(none), Options{}).Changed)
	some := batchv1.JobStatus{UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{Failed: []types.UID{"a"}}}
	assert.Assert(t, Project(job(some), job(none), Options{}).Changed)
}
