package dispatch

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
)

// hasResult reports whether a mirror has finished, and its end is that of the origin. A failure that was
// decided during the deletion of the mirror is not: the Job controller counts terminating Pods as failed
// (kubernetes v1.37.1: pkg/controller/job/job_controller.go, isPodFailed), and a foreground deletion keeps
// the Job until its Pods are gone. API servers accept no other end afterwards.
func hasResult(k delegation.Kind, mirror *unstructured.Unstructured) bool {
	how, deleted := object.EndOf(k, mirror), mirror.GetDeletionTimestamp()
	if how == nil || deleted == nil || !how.Failed {
		return how != nil
	}
	decided := decidedAt(object.StateOf(k, mirror), how)
	if decided.Equal(deleted.Time) {
		// The times have a precision of seconds. The TTL controller deletes in the foreground, too, but
		// only a finished Job (kubernetes: pkg/controller/ttlafterfinished).
		return hasTTL(k, mirror)
	}
	// Without a time, there is no sign that the deletion came first.
	return decided.Before(deleted.Time)
}

// decidedAt returns when the failure of an object was decided; zero if that is not recorded. The condition
// FailureTarget of a Job precedes its end.
func decidedAt(s delegation.State, how *object.End) time.Time {
	i := slices.IndexFunc(s.Conditions, func(c delegation.Condition) bool { return c.Type == string(batchv1.JobFailureTarget) && c.True })
	if i >= 0 {
		return s.Conditions[i].Since
	}
	return how.At
}
