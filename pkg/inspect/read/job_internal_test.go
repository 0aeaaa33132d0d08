package read

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

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
	r := readJob(jobRow(), job)
	got := r.settle(false)
	assert.DeepEqual(t, got, inspect.Job{
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

// TestFailedIndexes checks that the failure of an Indexed Job names the indexes.
func TestFailedIndexes(t *testing.T) {
	job := &batchv1.Job{Status: batchv1.JobStatus{
		FailedIndexes: new("1,3"),
		Conditions:    []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: "FailedIndexes", Message: "Job has failed indexes"}},
	}}
	r := readJob(jobRow(), job)
	assert.Equal(t, r.job.Failure, "FailedIndexes: Job has failed indexes: 1,3")
	assert.Assert(t, r.job.PerIndex == nil)
	job.Spec.BackoffLimitPerIndex, job.Spec.MaxFailedIndexes = new(int32(1)), new(int32(3))
	assert.DeepEqual(t, readJob(jobRow(), job).job.PerIndex, &inspect.PerIndex{Limit: 1, MaxFailed: new(int32(3)), Failed: "1,3"})
	assert.Equal(t, shortIndexes(strings.Repeat("100-200,", 9)+"300"), strings.Repeat("100-200,", 5)+"…")
}

// TestDecisionOfAnEndedJob checks that only an unusual success of a Job that has ended is kept.
func TestDecisionOfAnEndedJob(t *testing.T) {
	at := metav1.NewTime(epoch)
	for reason, isKept := range map[string]bool{batchv1.JobReasonSuccessPolicy: true, batchv1.JobReasonCompletionsReached: false} {
		job := &batchv1.Job{}
		for _, of := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
			job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: of, Status: corev1.ConditionTrue, Reason: reason, LastTransitionTime: at})
		}
		assert.Equal(t, readJob(jobRow(), job).job.Decision != nil, isKept, reason)
		job.Status.Conditions = job.Status.Conditions[:1]
		assert.Assert(t, readJob(jobRow(), job).job.Decision != nil, reason)
	}
}

// TestIsEmpty sets each field of a status in turn, so that isEmpty overlooks none.
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
	r := readJob(jobRow(), job)
	assert.Assert(t, r.needsClaim())
	assert.Equal(t, r.settle(false).Status, delegation.Unclaimed)
	assert.Equal(t, r.settle(true).Status, delegation.Pending)

	// A written status decides, without a request, even if it is empty.
	job.ManagedFields = []metav1.ManagedFieldsEntry{{Subresource: "status", Time: at(0)}}
	r = readJob(jobRow(), job)
	assert.Assert(t, !r.needsClaim())
	assert.Equal(t, r.settle(false).Status, delegation.Pending)
}

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(d time.Duration) *metav1.Time { return &metav1.Time{Time: epoch.Add(d)} }

func jobRow() *delegation.Kind {
	row := delegation.Job()
	return &row
}

// TestLabelSets checks that an object keeps the wanted labels and no others, and shares them.
func TestLabelSets(t *testing.T) {
	sets := newLabelSets([]string{"team", "tier"})
	for _, tt := range []struct{ labels, want map[string]string }{
		{nil, nil},
		{map[string]string{"other": "x"}, nil},
		{map[string]string{"team": "a", "other": "x"}, map[string]string{"team": "a"}},
		{map[string]string{"tier": "a"}, map[string]string{"tier": "a"}},
		{map[string]string{"team": "", "tier": ""}, map[string]string{"team": "", "tier": ""}},
		{map[string]string{"team": ""}, map[string]string{"team": ""}},
		{map[string]string{"team": "a", "tier": "b"}, map[string]string{"team": "a", "tier": "b"}},
	} {
		got := sets.of(tt.labels)
		assert.DeepEqual(t, got, tt.want)
		again := sets.of(tt.labels)
		assert.Equal(t, reflect.ValueOf(again).Pointer(), reflect.ValueOf(got).Pointer(), "%v is not shared", tt.labels)
	}
}

// TestRequestsOf checks that the resources of a Pod are known for a Job of MultiKueue without a queue, from
// a list, too.
func TestRequestsOf(t *testing.T) {
	const job = `{"metadata": {"namespace": "ml", "name": "a"}, "spec": {"managedBy": "kueue.x-k8s.io/multikueue", "template": {"spec": %s}}}`
	for template, want := range map[string][]string{
		`{"containers": [{"name": "a"}]}`: {},
		`{"containers": [{"name": "a", "resources": {"requests": {"memory": "1Gi"}, "limits": {"cpu": "1"}}}],
			"initContainers": [{"name": "b", "resources": {"requests": {"a.io/x": "1"}}}], "overhead": {"a.io/y": "1"},
			"resources": {"requests": {"a.io/z": "1"}}}`: {"a.io/x", "a.io/y", "a.io/z", "cpu", "memory"},
		`{"containers": [{"name": "a"}], "resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}]}`: nil,
	} {
		var o batchv1.Job
		assert.NilError(t, json.Unmarshal(fmt.Appendf(nil, job, template), &o))
		list := batchv1.JobList{}
		assert.NilError(t, decodeJobs(encode(t, &batchv1.JobList{Items: []batchv1.Job{o}}), &list))
		assert.DeepEqual(t, readJob(jobRow(), &list.Items[0]).job.Requests, want)
		o.Labels = map[string]string{delegation.QueueNameLabel: "gpu"}
		assert.Assert(t, readJob(jobRow(), &o).job.Requests == nil)
	}
}
