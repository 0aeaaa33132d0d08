// Package projection makes the status that an origin gets of the status that its
// mirror has, so that the API server takes it whatever the two have been through
// (kubernetes: pkg/apis/batch/validation, pkg/registry/batch/job/strategy.go). It
// is pure, and imports nothing but the Job's own types.
package projection

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

// Options say what is known beside the two Jobs.
type Options struct {
	// OriginMinor is the minor version of the origin's API server, such as 36; 0
	// where it is unknown, which means a current one.
	OriginMinor int
	// ForceDrained writes the end of a Job although its mirror still counts pods
	// that it should not: a worker too old to have the rule never stops to.
	ForceDrained bool
	// PinTimes leaves startTime and completionTime as the origin has them, if it
	// has: for a server that has refused to change them.
	PinTimes bool
}

// Result is what to write to the origin.
type Result struct {
	Status batchv1.JobStatus
	// Changed is whether Status differs from what the origin has.
	Changed bool
	// More is whether another projection is needed after this one was stored,
	// because the change takes two writes.
	More bool
	// Held is whether the mirror is finished, but says so too early: the end is
	// held back until its pods are gone.
	Held bool
	// Diverged tells what the mirror says and the origin cannot be told any more,
	// one sentence each.
	Diverged []string
}

// Project makes the status of an origin from that of its mirror. Neither is
// changed.
func Project(origin, mirror *batchv1.Job, o Options) Result {
	return Result{}
}

// Fail makes the status of an origin whose mirror is not to run any more: Failed,
// with that reason and message, and no pods. ok is false where the API server
// would refuse that, because the origin is finished or its success was decided.
func Fail(origin *batchv1.Job, reason, message string, now time.Time) (status batchv1.JobStatus, ok bool) {
	return batchv1.JobStatus{}, false
}

// Stop makes the status of an unfinished origin whose mirror was removed: as it
// was, with no pods.
func Stop(origin *batchv1.Job) batchv1.JobStatus {
	return batchv1.JobStatus{}
}
