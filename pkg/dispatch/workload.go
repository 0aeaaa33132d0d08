package dispatch

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// workload are the operations on a status that differ between Jobs and all other kinds. The API
// server validates each status of a Job. Of other kinds, it knows only the schema, and the
// meaning of a status is up to the kind's controller.
type workload interface {
	// stoppedStatus returns the status, as a merge patch, of an unfinished origin whose mirror
	// was deleted.
	stoppedStatus(origin *unstructured.Unstructured) (any, error)
	// failedStatus returns the status, as a merge patch, of an unfinished origin that is ended
	// from outside. It returns nil if the kind cannot express failure, or if the status already
	// does.
	failedStatus(origin *unstructured.Unstructured, reason, message string, now time.Time) (any, error)
	// newCopier returns a copier for one origin, on an API server with a minor version.
	newCopier(originMinor int) copier
}

// copier derives an origin's statuses from those of its mirror. It remembers the results of
// earlier writes.
type copier interface {
	// statusFor returns the status to write. With force, it no longer waits for Pods that a
	// finished mirror still counts.
	statusFor(origin, mirror *unstructured.Unstructured, force bool) (copyResult, error)
	// onRefused is called when the API server has refused the last status. It reports whether
	// statusFor would now return a different one.
	onRefused() bool
	// onStored is called with the stored origin after a successful write. It returns a sentence
	// about lost fields, or "".
	onStored(mirror, stored *unstructured.Unstructured) string
}

// copyResult is a status to write to an origin.
type copyResult struct {
	// status is a merge patch; nil if nothing changes. ends is whether it ends the origin.
	status any
	ends   bool
	// more is whether another write has to follow. held is whether the mirror's final status is
	// held back, because the mirror still counts Pods (see projection.Result).
	more, held bool
	// diverged are the differences that cannot be copied, one sentence each.
	diverged []string
}

// workloadOf returns the workload of a kind.
func workloadOf(k delegation.Kind) workload {
	if k.IsJob() {
		return jobWorkload{}
	}
	return anyWorkload{k}
}
