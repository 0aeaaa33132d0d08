// Package projection derives the status of an origin from that of its mirror, so that the API
// server accepts it whatever happened to both (kubernetes: pkg/apis/batch/validation,
// pkg/registry/batch/job/strategy.go). It is pure, and imports only the types of Jobs.
//
// The server's rules concern the new status, or forbid that a value goes back. So states of the
// mirror may be skipped, and one write can make every status acceptable. Only a changed startTime
// needs two.
package projection

import (
	batchv1 "k8s.io/api/batch/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
)

// Options are facts besides the two Jobs.
type Options struct {
	// OriginMinor is the minor version of the origin's API server, such as 36; 0 if it is
	// unknown, which counts as current.
	OriginMinor int
	// ForceDrained writes the end of a Job although its mirror still counts Pods. Workers that
	// are too old for this rule may count them for ever.
	ForceDrained bool
	// PinTimes keeps the origin's startTime and completionTime, if it has them, for a server that
	// has refused to change them. Keep it set for that server: without it, the next projection of
	// the same pair tries again.
	PinTimes bool
}

// Result is the status to write to the origin.
type Result struct {
	Status batchv1.JobStatus
	// Changed is whether Status differs from the origin's.
	Changed bool
	// More is whether another projection has to follow after this one is stored, because the
	// change needs two writes.
	More bool
	// Held is whether the mirror is finished but still counts Pods. The end is held back until
	// they are gone.
	Held bool
	// Diverged are the differences that cannot be written to the origin, one sentence each.
	Diverged []string
}

// Project returns the status of an origin for the status of its mirror. It changes neither. A
// finished origin keeps its status: nothing can be written to it.
//
// The origin must have its stored status and spec, because the server validates against them. The
// write has to replace the whole status and to name the origin's resourceVersion.
func Project(origin, mirror *batchv1.Job, o Options) Result {
	if finished(origin.Status.Conditions) || frozen(origin.Status.Conditions) {
		return Result{Status: *origin.Status.DeepCopy(), Diverged: finalDifferences(origin, mirror)}
	}
	d := newDraft(origin, mirror, o)
	d.decide()
	d.count()
	d.indexes()
	d.start()
	d.conclude()
	d.complete()
	d.result.Status = d.status
	d.result.Changed = !equal(&origin.Status, &d.status)
	return d.result
}

// draft is the state of a projection.
type draft struct {
	origin, mirror *batchv1.Job
	options        Options
	// status starts as the mirror's and becomes the origin's.
	status batchv1.JobStatus
	// outcome is how the Job ends, as far as it is known.
	outcome outcome
	// ended is whether the mirror is finished with that outcome. ending is whether this write
	// finishes the origin.
	ended, ending bool
	result        Result
}

func newDraft(origin, mirror *batchv1.Job, o Options) *draft {
	d := &draft{origin: origin, mirror: mirror, options: o, status: *mirror.Status.DeepCopy()}
	d.status.Conditions = d.distinct(d.status.Conditions)
	d.status.StartTime = inSeconds(d.status.StartTime)
	d.status.CompletionTime = inSeconds(d.status.CompletionTime)
	if d.status.UncountedTerminatedPods != nil {
		// These are UIDs of the worker's Pods, which mean nothing in the origin's cluster.
		d.status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	return d
}

// diverges records a difference that cannot be written.
func (d *draft) diverges(sentence string) {
	d.result.Diverged = append(d.result.Diverged, sentence)
}

// equal compares two statuses. A missing uncountedTerminatedPods equals an empty one.
func equal(a, b *batchv1.JobStatus) bool {
	x, y := *a, *b
	x.UncountedTerminatedPods = uncounted(a)
	y.UncountedTerminatedPods = uncounted(b)
	return apiequality.Semantic.DeepEqual(x, y)
}

// uncounted returns the Pods that a status has not counted yet; nil if there are none.
func uncounted(s *batchv1.JobStatus) *batchv1.UncountedTerminatedPods {
	if u := s.UncountedTerminatedPods; u != nil && len(u.Succeeded)+len(u.Failed) > 0 {
		return u
	}
	return nil
}

// minorBelow reports whether the origin's API server is known to be older.
func (o Options) minorBelow(minor int) bool {
	return o.OriginMinor != 0 && o.OriginMinor < minor
}
