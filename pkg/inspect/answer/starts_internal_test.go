package answer

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// admittedAfter is a Workload with a number of GPUs in a queue that waited
// for a time, and was admitted in the order of n.
func admittedAfter(n int, queue, gpus string, wait time.Duration) *kueue.Workload {
	admitted := time.Unix(1_000_000, 0).Add(time.Duration(n) * time.Hour)
	w := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{UID: types.UID(fmt.Sprint(n)), CreationTimestamp: metav1.NewTime(admitted.Add(-wait))}}
	w.Spec.QueueName = queue
	w.Status.Conditions = []metav1.Condition{{Type: kueue.Admitted, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(admitted)}}
	w.Status.Admission = &kueue.Admission{PodSetAssignments: []kueue.PodSetAssignment{{Name: "main", ResourceUsage: corev1.ResourceList{gpu: resource.MustParse(gpus)}}}}
	return w
}

// TestWaitsLike checks that only Jobs of the same queue and size count,
// latest first, without the time lost to evictions.
func TestWaitsLike(t *testing.T) {
	own := admittedAfter(100, "gpu", "8", 0)
	own.Status.Conditions = nil
	all := []*kueue.Workload{own}
	for i := range 30 {
		all = append(all, admittedAfter(i, "gpu", "8", time.Duration(i)*time.Minute))
	}
	all = append(all, admittedAfter(90, "cpu", "8", time.Hour), admittedAfter(91, "gpu", "4", time.Hour))
	waiting := admittedAfter(92, "gpu", "8", time.Hour)
	waiting.Status.Conditions[0].Status = metav1.ConditionFalse
	forgotten := admittedAfter(93, "gpu", "8", time.Hour)
	forgotten.Status.Conditions = append(forgotten.Status.Conditions, metav1.Condition{Type: kueue.Evicted, Status: metav1.ConditionFalse})
	all = append(all, waiting, forgotten)
	waits := waitsLike(own, all)
	assert.Equal(t, len(waits), mostSamples)
	assert.Equal(t, waits[0], int64(29*60))
	assert.Equal(t, waits[19], int64(10*60))

	evicted := admittedAfter(94, "gpu", "8", time.Hour)
	evicted.Status.PastSeconds = new(int32(600))
	assert.DeepEqual(t, waitsLike(own, []*kueue.Workload{own, evicted}), []int64{3000})
	own.Status.Admission = nil
	assert.Assert(t, waitsLike(own, all) == nil)
}

// TestAddSamples checks that fewer than five Jobs give no statistics, nor do any for a Job that has
// waited longer than 9 of 10, and that otherwise the median and the 90th percentile are given.
func TestAddSamples(t *testing.T) {
	few := &inspect.Starts{}
	addSamples(few, []int64{1, 2, 3, 4}, 0)
	assert.DeepEqual(t, few, &inspect.Starts{})
	s := &inspect.Starts{}
	addSamples(s, []int64{50, 10, 30, 20, 40}, 51)
	assert.DeepEqual(t, s, &inspect.Starts{})
	addSamples(s, []int64{50, 10, 30, 20, 40}, 50)
	assert.Equal(t, s.Samples, 5)
	assert.Equal(t, *s.WaitMedianSeconds, int64(30))
	assert.Equal(t, *s.WaitP90Seconds, int64(50))
}
