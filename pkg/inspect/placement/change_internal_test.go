package placement

import (
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/capacity"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestSetParallelism checks that only a submitted Job with several Pods gets a command that reduces
// its parallelism. Kueue itself reduces that of a Job with a minimum.
func TestSetParallelism(t *testing.T) {
	job := &inspect.Job{APIVersion: "batch/v1", Kind: "Job", Context: "hub", Namespace: "ml", Name: "train"}
	set := &inspect.Job{APIVersion: "jobset.x-k8s.io/v1alpha2", Kind: "JobSet", Context: "hub", Namespace: "ml", Name: "train"}
	for name, tt := range map[string]struct {
		origin *inspect.Job
		count  int64
		most   capacity.Amount
		least  *int32
		want   string
	}{
		"Job":           {job, 8, 4000, nil, `kubectl --context hub -n ml patch job train --type merge -p '{"spec":{"parallelism":4}}'`},
		"not submitted": {nil, 8, 4000, nil, ""},
		"JobSet":        {set, 8, 4000, nil, ""},
		"one Pod":       {job, 1, 4000, nil, ""},
		"large Pods":    {job, 8, 900, nil, ""},
		"minimum":       {job, 8, 4000, ptr.To(int32(5)), ""},
	} {
		s := &site{request: &Request{origin: tt.origin}}
		a := &podSetDemand{set: &kueue.PodTemplate{Count: int32(tt.count), MinCount: tt.least}, count: tt.count, total: map[string]capacity.Amount{"cpu": capacity.Amount(1000 * tt.count)}}
		assert.Equal(t, s.setParallelism(a, []shortage{{need: need{resource: "cpu", most: tt.most}}}), tt.want, name)
	}
}

// TestMostPods checks that the scarcest resource decides how many Pods fit, and that earlier podsets take
// their part first.
func TestMostPods(t *testing.T) {
	a := &podSetDemand{set: &kueue.PodTemplate{Count: 6}, count: 6, total: map[string]capacity.Amount{"cpu": 30, "gpu": 18}}
	cpu := shortage{need: need{resource: "cpu", requested: 30, most: 26}}
	gpu := shortage{need: need{resource: "gpu", requested: 18, most: 10}}
	assert.Equal(t, mostPods(a, []shortage{cpu}), int64(5))
	assert.Equal(t, mostPods(a, []shortage{cpu, gpu}), int64(3))
	cpu.requested = 40
	assert.Equal(t, mostPods(a, []shortage{cpu}), int64(3))
}

// TestAgain checks that changes of the Pod template of a submitted Job say which Job must be created again.
func TestAgain(t *testing.T) {
	job := &inspect.Job{APIVersion: "jobset.x-k8s.io/v1alpha2", Kind: "JobSet", Context: "hub", Namespace: "ml", Name: "train"}
	ownLimit := &outsideLimits{container: "c", resource: "cpu", bound: resource.MustParse("2")}
	limitRange := &outsideLimits{container: "c", resource: "cpu", bound: resource.MustParse("2"), limitRange: "lr"}
	for _, tt := range []struct {
		origin *inspect.Job
		bound  *outsideLimits
		want   string
	}{
		{nil, ownLimit, "request at most 2 cpu in container c, or raise its limit"},
		{job, ownLimit, "request at most 2 cpu in container c, or raise its limit, then delete JobSet ml/train, and create it again"},
		{nil, limitRange, "request at most 2 cpu in container c, for w"},
		{job, limitRange, "request at most 2 cpu in container c, for w, then delete JobSet ml/train, and create it again"},
	} {
		s := &site{request: &Request{origin: tt.origin}, Placement: inspect.NewPlacement("w")}
		s.refuseByLimits(tt.bound)
		assert.Equal(t, s.Changes[0].Message, tt.want)
	}
}
