package rules

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// day is a time as evidence quotes it, where it may not be known.
func day(t time.Time) string {
	if t.IsZero() {
		return "an unknown time"
	}
	return stamp(t)
}

// stateOf quotes how an object is, with its pods where its kind counts them.
func stateOf(j *inspect.Job) string {
	text := fmt.Sprintf("%s: %s is %s", j.Context, named(Of(j)), j.Status)
	if j.Row().IsJob() {
		text += fmt.Sprintf(", with %d active, %d succeeded and %d failed pods", j.Active, j.Succeeded, j.Failed)
	}
	switch {
	case j.FinishedTime != nil:
		text += ", since " + stamp(*j.FinishedTime)
	case j.StartTime != nil:
		text += ", started " + stamp(*j.StartTime)
	}
	return text
}

// isLiveJob says whether an object runs pods, or will. One whose state nobody knows
// is not called so.
func isLiveJob(j *inspect.Job) bool {
	isHeld := j.Suspended && j.Active == 0 && j.Status != delegation.Running
	return j.IsOpen() && j.Status != delegation.Unknown && !isHeld
}

// hasStarted says whether an object has run, by its status.
func hasStarted(j *inspect.Job) bool {
	return j.StartTime != nil || j.Active+j.Succeeded+j.Failed > 0 || j.Status == delegation.Running || j.Status.IsFinished()
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
