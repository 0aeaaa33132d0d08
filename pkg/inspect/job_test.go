package inspect

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(d time.Duration) *metav1.Time { return &metav1.Time{Time: epoch.Add(d)} }

func TestReadJob(t *testing.T) {
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "pi", UID: "u1", CreationTimestamp: *at(0),
			ManagedFields: []metav1.ManagedFieldsEntry{
				{Manager: "kubectl", Time: at(time.Hour)},
				{Manager: "first", Subresource: "status", Time: at(time.Minute)},
				{Manager: "last", Subresource: "status", Time: at(3 * time.Minute)},
				{Manager: "other", Subresource: "status", Time: at(2 * time.Minute)},
				{Manager: "timeless", Subresource: "status"},
			},
		},
		Spec: batchv1.JobSpec{ManagedBy: new("example.com/x"), Completions: new(int32(3)), Suspend: new(true)},
		Status: batchv1.JobStatus{
			Succeeded: 1, Failed: 2, StartTime: at(time.Second),
			Conditions: []batchv1.JobCondition{
				{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue, LastTransitionTime: *at(time.Minute)},
				{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, LastTransitionTime: *at(2 * time.Minute)},
			},
		},
	}
	r := readJob(job)
	got := r.settle(false)
	assert.DeepEqual(t, got, Job{
		APIVersion: "batch/v1", Kind: "Job", Namespace: "ns", Name: "pi", UID: "u1",
		ManagedBy: "example.com/x", Status: delegation.Failed,
		Completions: new(int32(3)), Succeeded: 1, Failed: 2, Suspended: true,
		StartTime: at(time.Second), FinishedTime: at(2 * time.Minute), CreationTimestamp: *at(0),
		StatusWrittenAt: at(3 * time.Minute), Since: at(2 * time.Minute), SpecWrittenAt: at(time.Hour), StatusWriters: []string{"first", "last", "other", "timeless"},
	})
	d, ok := got.Duration(epoch.Add(time.Hour))
	assert.Assert(t, ok)
	assert.Equal(t, d, 2*time.Minute-time.Second, "a failed Job's duration does not grow")
}

func TestDuration(t *testing.T) {
	now := epoch.Add(time.Hour)
	_, ok := (&Job{}).Duration(now)
	assert.Assert(t, !ok, "it has not started")
	d, _ := (&Job{StartTime: at(0)}).Duration(now)
	assert.Equal(t, d, time.Hour)
	d, _ = (&Job{StartTime: at(0), CompletionTime: at(time.Minute), FinishedTime: at(2 * time.Minute)}).Duration(now)
	assert.Equal(t, d, time.Minute)
}

// TestIsEmpty sets each field of a status in turn: none may be overlooked.
func TestIsEmpty(t *testing.T) {
	assert.Assert(t, isEmpty(&batchv1.JobStatus{}))
	for name, s := range map[string]batchv1.JobStatus{
		"conditions":              {Conditions: []batchv1.JobCondition{{}}},
		"startTime":               {StartTime: at(0)},
		"completionTime":          {CompletionTime: at(0)},
		"active":                  {Active: 1},
		"succeeded":               {Succeeded: 1},
		"failed":                  {Failed: 1},
		"ready":                   {Ready: new(int32)},
		"terminating":             {Terminating: new(int32)},
		"completedIndexes":        {CompletedIndexes: "0"},
		"failedIndexes":           {FailedIndexes: new("")},
		"uncountedTerminatedPods": {UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{}},
	} {
		assert.Assert(t, !isEmpty(&s), name)
	}
}

func TestNeedsClaim(t *testing.T) {
	job := &batchv1.Job{Spec: batchv1.JobSpec{ManagedBy: new(string(delegation.MultiKueue))}}
	r := readJob(job)
	assert.Assert(t, r.needsClaim())
	assert.Equal(t, r.settle(false).Status, delegation.Unclaimed)
	assert.Equal(t, r.settle(true).Status, delegation.Pending)

	// A status that somebody wrote decides it without asking, even an empty one.
	job.ManagedFields = []metav1.ManagedFieldsEntry{{Subresource: "status", Time: at(0)}}
	r = readJob(job)
	assert.Assert(t, !r.needsClaim())
	assert.Equal(t, r.settle(false).Status, delegation.Pending)
}

func TestDeepCopySharesNothing(t *testing.T) {
	job := Job{
		Completions: new(int32(1)), StartTime: at(0), Mirrors: []Ref{{Name: "a"}}, Findings: []string{"JM001"},
		Dispatcher: &Dispatcher{Holder: "a", Since: at(0), Renewed: at(0)},
	}
	c := job.deepCopy()
	assert.DeepEqual(t, *c, job)
	*c.Completions, c.Mirrors[0].Name, c.Findings[0] = 2, "b", "JM002"
	c.StartTime.Time = epoch.Add(time.Hour)
	c.Dispatcher.Holder, c.Dispatcher.Since.Time, c.Dispatcher.Renewed.Time = "b", c.StartTime.Time, c.StartTime.Time
	assert.DeepEqual(t, job.Dispatcher, &Dispatcher{Holder: "a", Since: at(0), Renewed: at(0)})
	assert.Equal(t, *job.Completions, int32(1))
	assert.Equal(t, job.Mirrors[0].Name, "a")
	assert.Equal(t, job.Findings[0], "JM001")
	assert.Assert(t, job.StartTime.Time.Equal(epoch))
	assert.Assert(t, (&Job{}).deepCopy().Mirrors == nil, "null stays null")
	assert.Assert(t, (&Job{}).deepCopy().Dispatcher == nil, "null stays null")
}

func TestEqual(t *testing.T) {
	a := Job{Name: "a", StatusWrittenAt: at(0)}
	b := a
	b.StatusWrittenAt = at(time.Minute)
	assert.Assert(t, equal(&a, &b), "a write that changes nothing is no news")
	b.Active = 1
	assert.Assert(t, !equal(&a, &b))
}
