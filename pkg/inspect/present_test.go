package inspect_test

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestPresent checks that the latest unfinished Workload of an elastic Job shows its state, in
// whatever order a server lists the Workloads.
func TestPresent(t *testing.T) {
	made := func(name string, minute int, finished bool) *kueue.Workload {
		w := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(time.Date(2026, 11, 22, 4, minute, 0, 0, time.UTC))}}
		if finished {
			w.Status.Conditions = []metav1.Condition{{Type: kueue.Finished, Status: metav1.ConditionTrue}}
		}
		return w
	}
	small, larger, largest := made("z-small", 1, true), made("a-larger", 2, false), made("b-largest", 3, false)
	given := made("c-given-up", 4, true)
	for _, order := range [][]*kueue.Workload{{small, larger, largest, given}, {given, largest, larger, small}, {largest, given, small, larger}} {
		assert.Equal(t, inspect.CurrentWorkload(order).Name, "b-largest")
	}
	assert.Equal(t, inspect.CurrentWorkload([]*kueue.Workload{given, small}).Name, "c-given-up")
	assert.Assert(t, inspect.CurrentWorkload(nil) == nil)
}
