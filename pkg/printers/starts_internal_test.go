package printers

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestStarts: a bound names its conditions, and samples have their number.
func TestStarts(t *testing.T) {
	assert.Equal(t, startsText(nil), "")
	s := &inspect.Starts{By: &metav1.Time{Time: time.Date(2026, 11, 25, 14, 32, 0, 0, time.UTC)}, Context: "worker-1"}
	bound := "by 2026-11-25 14:32:00Z at the latest: the Jobs on worker-1 then reach their time limits, unless their Pods stop late or a Job with higher priority arrives"
	assert.Equal(t, startsText(s), bound)
	s.Samples, s.WaitMedianSeconds, s.WaitP90Seconds = 20, new(int64(1080)), new(int64(6000))
	samples := "of the last 20 Jobs of this size in this queue, half waited up to 18m and 9 of 10 up to 100m"
	assert.Equal(t, startsText(s), bound+"; "+samples)
	s.By = nil
	assert.Equal(t, startsText(s), samples)
}
