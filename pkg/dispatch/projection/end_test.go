package projection

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

func TestFail(t *testing.T) {
	now := at(20).Add(300 * time.Millisecond)
	because := func(of batchv1.JobConditionType) batchv1.JobCondition {
		return batchv1.JobCondition{
			Type: of, Status: corev1.ConditionTrue, Reason: "Canceled", Message: "by its user",
			LastProbeTime: *at(20), LastTransitionTime: *at(20),
		}
	}
	zero := ptr.To[int32](0)
	for _, test := range []struct {
		name         string
		origin, want batchv1.JobStatus
		refused      bool
	}{
		{
			name: "it never started",
			want: batchv1.JobStatus{StartTime: at(20), Ready: zero, Terminating: zero, Conditions: conditions{because(fails), because(failed)}},
		},
		{
			name: "it runs",
			origin: batchv1.JobStatus{
				StartTime: at(1), Active: 2, Ready: ptr.To[int32](2), Terminating: ptr.To[int32](1), Succeeded: 1, Failed: 1,
				Conditions:              conditions{isNot(suspended, 1)},
				UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{Failed: []types.UID{"a"}},
			},
			want: batchv1.JobStatus{
				StartTime: at(1), Ready: zero, Terminating: zero, Succeeded: 1, Failed: 1,
				Conditions:              conditions{isNot(suspended, 1), because(fails), because(failed)},
				UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{},
			},
		},
		{
			name:   "its failure was decided before",
			origin: batchv1.JobStatus{StartTime: at(1), Conditions: conditions{is(fails, 8)}},
			want:   batchv1.JobStatus{StartTime: at(1), Ready: zero, Terminating: zero, Conditions: conditions{is(fails, 8), because(failed)}},
		},
		{name: "its success was decided", origin: batchv1.JobStatus{Conditions: conditions{is(succeeds, 8)}}, refused: true},
		{name: "it is complete", origin: batchv1.JobStatus{Conditions: conditions{is(complete, 8)}}, refused: true},
		{name: "it has failed", origin: batchv1.JobStatus{Conditions: conditions{is(failed, 8)}}, refused: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, ok := Fail(job(test.origin), "Canceled", "by its user", now)
			assert.Equal(t, ok, !test.refused)
			if test.refused {
				assert.DeepEqual(t, status, test.origin)
				return
			}
			assert.DeepEqual(t, status, test.want)
		})
	}
}

func TestStopLeavesNoPods(t *testing.T) {
	stopped := Stop(job(batchv1.JobStatus{
		StartTime: at(1), Active: 2, Ready: ptr.To[int32](2), Succeeded: 1, CompletedIndexes: "0",
		Conditions: conditions{is(suspended, 1)}, UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{Failed: []types.UID{"a"}},
	}))
	assert.DeepEqual(t, stopped, batchv1.JobStatus{
		StartTime: at(1), Ready: ptr.To[int32](0), Succeeded: 1, CompletedIndexes: "0",
		Conditions: conditions{is(suspended, 1)}, UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{},
	})
}
