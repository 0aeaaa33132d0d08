package rules

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// day is a time as evidence quotes it, where it may not be known.
func day(t time.Time) string {
	if t.IsZero() {
		return "an unknown time"
	}
	return stamp(metav1.NewTime(t))
}

// stateOf quotes how a Job is.
func stateOf(j *inspect.Job) string {
	text := fmt.Sprintf("%s: %s is %s, with %d active, %d succeeded and %d failed pods", j.Context, named(Of(j)), j.Status, j.Active, j.Succeeded, j.Failed)
	switch {
	case j.FinishedTime != nil:
		text += ", since " + stamp(*j.FinishedTime)
	case j.StartTime != nil:
		text += ", started " + stamp(*j.StartTime)
	}
	return text
}

// isLiveJob says whether a Job runs pods, or will.
func isLiveJob(j *inspect.Job) bool {
	return j.DeletedAt == nil && !j.Status.IsFinished() && (!j.Suspended || j.Active > 0)
}

// newest is the latest of some times.
func newest(times ...time.Time) time.Time {
	var latest time.Time
	for _, t := range times {
		if t.After(latest) {
			latest = t
		}
	}
	return latest
}

// timeOf is a time that may not be told.
func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}
